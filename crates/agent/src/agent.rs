//! The state machine a program drives.

use std::time::Instant;

use dataplane::{Clock, DataPlane, Event};
use rand::SeedableRng;
use rand::rngs::StdRng;
use southbound::{Command, Node, Notice};

use crate::context::{Context, Shared};
use crate::timers::Timers;
use crate::{Config, Counters};

/// One media node's control plane.
///
/// Hand it every [`Command`] of the controller and every [`Event`] of the data plane, and call
/// [`handle_timeout`](Agent::handle_timeout) when [`poll_timeout`](Agent::poll_timeout) says so. Each call writes what follows to
/// the data plane and appends what the controller should know to `out`.
pub struct Agent {
    shared: Shared,
    announced: bool,
}

impl Agent {
    /// An agent without transports. `clock` relates `now` to wall-clock time in sender reports; `seed` is all the randomness of what
    /// the agent chooses itself (the ciphers' own comes from the operating system).
    pub fn new(config: Config, clock: Clock, seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        let shared = Shared {
            config,
            clock,
            rng,
            timers: Timers::default(),
            counters: Counters::default(),
        };
        Agent {
            shared,
            announced: false,
        }
    }

    /// Carries out one command.
    pub fn command(&mut self, now: Instant, command: Command, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(out);
        let _ = (
            Context {
                now,
                plane,
                out,
                shared: &mut self.shared,
            },
            command,
        );
    }

    /// Takes in one event of the data plane.
    pub fn event(&mut self, now: Instant, event: Event, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(out);
        let _ = (
            Context {
                now,
                plane,
                out,
                shared: &mut self.shared,
            },
            event,
        );
    }

    /// When [`handle_timeout`](Agent::handle_timeout) is to be called next. May change with every other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.announced {
            self.shared.timers.next()
        } else {
            Some(self.shared.clock.origin)
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(out);
        while let Some(_timer) = self.shared.timers.pop(now) {
            let _ = Context {
                now,
                plane: &mut *plane,
                out: &mut *out,
                shared: &mut self.shared,
            };
        }
    }

    /// What was refused, repeated or given up so far.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Where the node is reached and how it proves itself.
    pub fn node(&self) -> Node {
        let Config {
            addresses, certificate, ..
        } = &self.shared.config;
        Node {
            addresses: addresses.clone(),
            fingerprint: certificate.fingerprint(),
        }
    }

    fn announce(&mut self, out: &mut Vec<Notice>) {
        if !self.announced {
            self.announced = true;
            out.push(Notice::Node(self.node()));
        }
    }
}
