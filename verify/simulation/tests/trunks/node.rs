//! One node: an agent over shards of the userspace data plane, in virtual time.

use std::time::Instant;

use agent::{Agent, Certificate, Config};
use backend_udp::InlinePlane;
use dataplane::{Clock, Counter, DataPlane, Egress, Path};
use southbound::{Command, Notice};
use wire::NtpTime;

use crate::orders::node_address;

/// Shards of one data plane: the leg of a datagram is often another shard's.
const SHARDS: usize = 2;

pub(crate) struct Node {
    pub(crate) agent: Agent,
    pub(crate) plane: InlinePlane,
    pub(crate) notices: Vec<Notice>,
    arrived: usize,
}

impl Node {
    pub(crate) fn new(index: usize, now: Instant) -> Self {
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let certificate = Certificate::generate().expect("there is randomness");
        let mut config = Config::new(vec![node_address(index)], certificate);
        config.clear_rtp = true;
        Node {
            agent: Agent::new(config, clock, 1 + index as u64),
            plane: InlinePlane::new(SHARDS, clock),
            notices: Vec::new(),
            arrived: 0,
        }
    }

    pub(crate) fn command(&mut self, now: Instant, command: Command) {
        self.agent.command(now, command, &mut self.plane, &mut self.notices);
        self.settle(now);
    }

    /// Takes in a datagram, at one shard after the other.
    pub(crate) fn packet(&mut self, now: Instant, path: Path, bytes: &[u8]) {
        self.arrived += 1;
        self.plane.packet(now, self.arrived, path, bytes);
        self.settle(now);
    }

    /// Everything that is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.plane.advance(now);
        self.agent.handle_timeout(now, &mut self.plane, &mut self.notices);
        self.settle(now);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.agent.poll_timeout().into_iter().chain(self.plane.due()).min()
    }

    pub(crate) fn take_sent(&mut self) -> Vec<Egress> {
        self.plane.take_sent()
    }

    pub(crate) fn count(&mut self, counter: Counter) -> u64 {
        self.plane.counters()[counter]
    }

    fn settle(&mut self, now: Instant) {
        while let Some(event) = self.plane.poll() {
            self.agent.event(now, event, &mut self.plane, &mut self.notices);
        }
    }
}
