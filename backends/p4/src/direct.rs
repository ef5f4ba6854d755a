//! The driver beside its switch in one process, without a connection: for tests of both together.
//!
//! [`Direct::exchange`] does at once what the connection's thread does over time, so nothing is
//! pending after it.

use std::sync::Arc;
use std::time::Instant;

use p4runtime::v1;
use tonic::Status;

use crate::cells::Cell;
use crate::connection::status::refusal;
use crate::core::Core;
use crate::link::LEASE;
use crate::program::Program;
use crate::shared::{Holder, Shared};
use crate::{P4Config, P4Error, P4Relays, P4Rooms};

/// The P4Runtime server of a switch, as calls. The caller is the primary controller.
pub trait Switch {
    /// Installs a program, which ends all entries.
    fn install(&mut self, config: v1::ForwardingPipelineConfig);

    /// Applies updates, each by itself, and returns their outcomes in order.
    fn write(&mut self, updates: Vec<v1::Update>) -> Vec<Result<(), Status>>;

    /// Reads entities.
    fn read(&mut self, entities: Vec<v1::Entity>) -> Vec<v1::Entity>;

    /// Sends a packet of the controller through the switch.
    fn packet_out(&mut self, packet: v1::PacketOut);

    /// The next packet of the switch for its controller.
    fn next_packet_in(&mut self) -> Option<v1::PacketIn>;
}

/// A driver whose inputs are calls.
pub struct Direct {
    shared: Arc<Shared>,
    program: Program,
}

impl Direct {
    /// A driver that has not reached its switch, as [`start`](crate::start) makes one.
    ///
    /// Errors: [`P4Error`].
    pub fn new(config: P4Config, now: Instant) -> Result<(Self, P4Relays, P4Rooms), P4Error> {
        let (shared, program) = crate::prepare(config, now, Arc::new(|| {}))?;
        let holder = Arc::new(Holder(shared.clone()));
        Ok((Direct { shared, program }, P4Relays(holder.clone()), P4Rooms(holder)))
    }

    fn at<T>(&self, now: Instant, act: impl FnOnce(&mut Core) -> T) -> T {
        act(self.shared.core().at(now))
    }

    /// The switch is reached, and has no program.
    pub fn connect(&self, now: Instant, switch: &mut impl Switch) {
        switch.install(self.program.config());
        self.at(now, |core| {
            core.installed();
            core.up();
        });
        self.exchange(now, switch);
    }

    /// Writes what is to be written, and handles what the switch has sent. Returns whether there
    /// was anything.
    pub fn exchange(&self, now: Instant, switch: &mut impl Switch) -> bool {
        let mut has_done = false;
        self.at(now, Core::tick);
        loop {
            let mut is_idle = true;
            while let Some(packet) = switch.next_packet_in() {
                is_idle = false;
                let packet = self.shared.schema.packet_in(packet);
                self.at(now, |core| core.packet_in(packet));
            }
            let batch = self.at(now, Core::next_batch);
            if !batch.is_empty() {
                is_idle = false;
                let updates = batch.iter().map(|write| self.shared.schema.update(write)).collect();
                let outcomes = switch.write(updates).into_iter();
                let outcomes: Vec<_> = outcomes
                    .map(|outcome| outcome.map_err(|status| refusal(status.code() as i32)))
                    .collect();
                self.at(now, |core| core.answered(&outcomes));
            }
            while let Some(packet) = self.at(now, Core::next_packet_out) {
                switch.packet_out(self.shared.schema.send(packet.port, packet.frame));
            }
            // The switch answers at once.
            self.at(now, Core::link_answered);
            if self.at(now, Core::renews) {
                switch.packet_out(self.shared.schema.lease(LEASE.as_micros() as u32));
            }
            if is_idle {
                return has_done;
            }
            has_done = true;
        }
    }

    /// Reads the counters of the switch.
    pub fn count(&self, now: Instant, switch: &mut impl Switch) {
        let cells: Vec<Cell> = self.at(now, Core::cells);
        let schema = &self.shared.schema;
        let found = switch.read(cells.iter().map(|cell| schema.counter(*cell)).collect());
        let counted = found.iter().filter_map(|entity| schema.counted(entity)).collect();
        self.at(now, |core| core.read(counted));
    }
}
