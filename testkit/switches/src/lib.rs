//! P4 switches for tests, with one face: the simulator in this process, and BMv2 as a program.
//!
//! A test writes entries over P4Runtime at [`Switch::address`], and sends packets by
//! [`Switch::packet`]. [`Controller`] is a small P4Runtime client for tests without the driver.
//! BMv2 is there if `simple_switch_grpc` is on the path and the test runs as root: see [`bmv2`].

#![forbid(unsafe_code)]

mod controller;
pub mod messages;
mod real;
mod simulated;

use std::net::SocketAddr;

pub use controller::{Controller, Refused};
pub use real::{Bmv2, bmv2};
pub use simulated::Simulated;
pub use switch_sim::Output;

/// The port that is the controller.
pub const CPU_PORT: u16 = 510;

/// The number of the device.
pub const DEVICE: u64 = 1;

/// A switch under test.
pub trait Switch {
    /// The address of P4Runtime.
    fn address(&self) -> SocketAddr;

    /// Sends a packet to a port. Returns the packets that the switch then sends, without those to
    /// the controller. The order of copies is not certain, even on one port.
    fn packet(&mut self, port: u16, bytes: &[u8]) -> Vec<Output>;

    /// The same, when so many packets are expected: a switch outside of this process is waited for
    /// as long as it needs, also under load.
    fn packet_for(&mut self, port: u16, bytes: &[u8], expected: usize) -> Vec<Output>;

    /// Sends a packet to a port and waits for nothing: [`sent`](Self::sent) has what follows.
    fn send(&mut self, port: u16, bytes: &[u8]);

    /// The packets that were sent meanwhile: by a `PacketOut`, or after [`send`](Self::send).
    fn sent(&mut self) -> Vec<Output>;
}
