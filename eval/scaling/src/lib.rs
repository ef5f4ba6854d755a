//! How the cost of forwarding grows with receivers, rooms and tables.
//!
//! A [`Device`](device::Device) is one shard of the userspace data plane with its control handle,
//! in the caller's thread: sealed packets in, sealed runs out, sent into nothing. [`axes`] makes
//! one thing larger at a time and has a [`Meter`](meter::Meter) count the work: instructions in
//! user space, which neither neighbours nor a cold cache change. A `node` is the real agent over
//! the same device, with receivers that report. [`slope`] says how it grows, [`report`] and
//! [`chart`] show it.
//!
//! Reading order: `axes`, `device`, `publisher`, `ballast`, `meter`; then `node`.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a measurement starts the clock")]

pub mod axes;
pub mod chart;
pub mod device;
pub mod meter;
pub mod report;
pub mod slope;

mod ballast;
mod commands;
mod entries;
mod node;
mod plane;
mod publisher;
