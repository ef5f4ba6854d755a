//! The interface of a device under test, and the devices.

mod behind_kernel;
mod free;
mod inline;
mod interpreter;
mod kernel;
mod model;
mod moves;
mod relay_paths;
mod relay_switch;
mod rings;
mod sockets;
mod switch;

use std::time::Instant;

use dataplane::{Counters, Event, Inject, Path, Update, WriteError};
use wire::NtpTime;

use crate::coverage::Plane;

pub use behind_kernel::BehindKernel;
pub use inline::InlineDevice;
pub use interpreter::Interpreter;
pub use kernel::KernelDevice;
pub use model::ModelDevice;
pub use moves::Handover;
pub use relay_switch::RelaySwitch;
pub use rings::Rings;
pub use sockets::{Family, SocketDevice};
pub use switch::{Ports, SwitchDevice};

/// A datagram that went out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Between which addresses.
    pub path: Path,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

/// A data plane under test.
///
/// Paths are those of [`path_of`](crate::step::path_of). The effects of a call are complete when
/// the next method is called: a device with threads waits for them, within a bound.
pub trait Device {
    /// The name in reports.
    fn name(&self) -> String;

    /// The data plane that it is.
    fn plane(&self) -> Plane;

    /// Applies an entry.
    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError>;

    /// Takes an injection of the agent.
    fn inject(&mut self, now: Instant, what: Inject<'_>);

    /// Takes a datagram from the network, in its wire form.
    fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]);

    /// Takes datagrams that arrive together. A device with threads may work on them at the same
    /// time.
    fn burst(&mut self, now: Instant, datagrams: &[Datagram]) {
        for datagram in datagrams {
            self.packet(now, datagram.path, &datagram.bytes);
        }
    }

    /// Everything sent since the last call; in order on each path.
    fn sent(&mut self) -> Vec<Datagram>;

    /// The next event.
    fn poll(&mut self) -> Option<Event>;

    /// All counters so far.
    fn counters(&mut self) -> Counters;

    /// Whether its packets to a leg with keys are encrypted. The model's are not.
    fn egress_protection(&self) -> bool {
        true
    }

    /// Whether each peer has an address of its own, not only a port.
    fn has_own_addresses(&self) -> bool {
        true
    }

    /// Whether it forwards RTCP.
    fn forwards_rtcp(&self) -> bool {
        false
    }

    /// Whether a worker may have run so late that it sent the lowest layers alone, as it should.
    fn was_late(&mut self) -> bool {
        false
    }

    /// Whether it uses the given times. A device with a real clock cannot be held to times.
    fn keeps_virtual_time(&self) -> bool {
        true
    }
}

/// The wall-clock time that every device under test starts at.
pub const STARTED_AT: NtpTime = NtpTime(3_900_000_000 << 32);
