//! Compares relays for SIP calls: the cost of relaying, and the loss of quality.
//!
//! The generator plays the SIP proxy, which controls the relay over rtpengine's `ng` protocol, and
//! both phones of every call, which send G.711 every 20 ms. Each packet carries a stamp, from which
//! loss and delay are computed at the other phone. The relay is in a network namespace of its own,
//! connected by a veth pair. One thread does all of it, because the generator shares the machine
//! with the relay.
//!
//! Start with [`scene`], one measurement. Its parts are [`phones`], which send and receive,
//! [`proxy`], which controls the relay, [`quality`], the quality for a listener, and [`meter`], the
//! load of the machine. [`compare`] compares relays. [`xdp`] has a lower bound for the cost of a
//! relay.
//!
//! Source: "Offloading Media Traffic to Programmable Data Plane Switches", IEEE ICC 2020, section
//! V.

#![forbid(unsafe_code)]

pub mod compare;
pub mod meter;
pub mod outcome;
pub mod phones;
mod polling;
pub mod proxy;
pub mod quality;
pub mod scene;
pub mod xdp;
