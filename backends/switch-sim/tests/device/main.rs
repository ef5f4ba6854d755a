//! The device with a small program that has each construct: its packets and its refusals.

mod packets;
mod refusals;
mod support;
