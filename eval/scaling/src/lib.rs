//! How the cost of forwarding grows with receivers, rooms and tables.
//!
//! A [`Device`](device::Device) is one shard of the userspace data plane with its control handle,
//! in the caller's thread. Encrypted packets go in, and encrypted runs that come out are dropped.
//! [`axes`] increases one size at a time and counts the work with a [`Meter`](meter::Meter):
//! instructions in user space, which neither other load nor a cold cache changes. A `node` is the
//! real agent over the same device, with receivers that report. [`slope`] computes the growth;
//! [`report`] and [`chart`] show it.
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
