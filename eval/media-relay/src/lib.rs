//! Relays for SIP calls beside each other: what relaying costs, and what calls lose by it.
//!
//! The generator plays the SIP proxy, which tells the relay about calls over rtpengine's `ng`
//! protocol, and both phones of every call, which send G.711 every 20 ms. Each packet carries a
//! stamp, by which loss and delay are counted at the other phone. The relay is in a network
//! namespace of its own, behind a veth pair. One thread does all of it, because the generator
//! shares the machine with what it measures.
//!
//! Start with [`scene`], one measurement; below it [`phones`] is what sends and receives, [`proxy`]
//! what speaks to the relay, [`quality`] what a listener makes of it, [`meter`] what the machine
//! did. [`compare`] puts relays beside each other. [`xdp`] has the least that a relay could cost.
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
