//! The agent's data plane: the real control handle, and a shard in the same thread.

use std::sync::Arc;
use std::time::Instant;

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{Run, Shard, Transmit};
use dataplane::{Capabilities, Clock, Counters, DataPlane, Event, Inject, Path, Update, WriteError};

/// The most commands that wait while the agent works; then the shard takes them, so that its ring
/// does not fill.
const COMMANDS_MAX: usize = 2_048;

/// The device as the agent uses it. Its shard works only when it is called.
pub(crate) struct Plane {
    control: Control,
    shard: Shard,
    commands: usize,
}

/// Keeps sent packets.
#[derive(Default)]
struct Sent(Vec<(Path, Vec<u8>)>);

impl Transmit for Sent {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        for run in runs {
            self.0
                .extend(run.datagrams().map(|datagram| (run.path, datagram.to_vec())));
        }
        0
    }
}

impl Plane {
    pub(crate) fn new(clock: Clock) -> Self {
        let (control, mut shards) = Control::new(clock, &[Arc::new(Wakeup::silent())], Arc::new(Wakeup::silent()));
        Plane {
            control,
            shard: shards.pop().expect("there is one for each alarm"),
            commands: 0,
        }
    }

    /// A datagram arrives.
    pub(crate) fn receive(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        self.shard.receive(now, path, datagram);
    }

    /// Lets the shard do all pending work; returns its packets.
    pub(crate) fn work(&mut self, now: Instant) -> Vec<(Path, Vec<u8>)> {
        let mut sent = Sent::default();
        self.take_commands(now);
        loop {
            self.shard.work(now);
            self.shard.flush(&mut sent);
            self.shard.settle(now);
            if !self.shard.has_work() {
                return sent.0;
            }
        }
    }

    fn take_commands(&mut self, now: Instant) {
        while self.shard.take_commands(now) > 0 {}
        self.commands = 0;
    }

    fn ordered(&mut self, now: Instant) {
        self.commands += 1;
        if self.commands >= COMMANDS_MAX {
            self.take_commands(now);
        }
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.control.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.control.write(update)?;
        self.ordered(now);
        Ok(())
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.control.inject(what);
        self.ordered(now);
    }

    fn poll(&mut self) -> Option<Event> {
        self.control.poll()
    }

    fn counters(&mut self) -> Counters {
        self.control.counters()
    }
}
