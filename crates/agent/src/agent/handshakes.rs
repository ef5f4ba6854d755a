//! Handshakes that a program computes for the agent.

use std::time::Instant;

use dataplane::DataPlane;
use southbound::Notice;

use super::{Agent, follow};
use crate::context::Context;
use crate::dtls::HandshakeFailure;
use crate::handshake::{Handshake, Handshaken};
use crate::owner::Owner;

impl Agent {
    /// The next part of a handshake that waits to be computed. Others wait their turn here, so take
    /// no more than are computed at once.
    pub fn poll_handshake(&mut self) -> Option<Handshake> {
        while let Some(owner) = self.shared.handshakes.pop() {
            // An owner that is gone stays in the list until its turn.
            let handshake = match owner {
                Owner::Transport(transport) => self.transports.take_handshake(transport),
                Owner::Relay(at) => self.relays.take_handshake(at),
            };
            if handshake.is_some() {
                return handshake;
            }
        }
        None
    }

    /// The next failed handshake that is to be logged.
    pub fn poll_handshake_failure(&mut self) -> Option<HandshakeFailure> {
        self.shared.failures.pop_front()
    }

    /// Takes back a part of a handshake that was computed.
    pub fn handshaken(&mut self, now: Instant, done: Handshaken, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        let cx = &mut Context {
            now,
            plane,
            out,
            shared: &mut self.shared,
        };
        let mut changes = Vec::new();
        let owner = done.owner;
        let keying = match owner {
            Owner::Transport(transport) => {
                self.transports.handshaken(cx, transport, done, &mut changes);
                self.transports.keying(transport)
            }
            Owner::Relay(at) => {
                self.relays.handshaken(cx, at, done);
                self.relays.keying(at)
            }
        };
        cx.settle_protected(owner, keying);
        follow(cx, &mut self.transports, &mut self.media, changes);
    }

    /// Computes all waiting handshakes, for a caller without other threads. Returns whether there
    /// were any.
    pub fn compute_handshakes(&mut self, now: Instant, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) -> bool {
        let mut any = false;
        while let Some(handshake) = self.poll_handshake() {
            any = true;
            self.handshaken(now, handshake.compute(now), plane, out);
        }
        any
    }
}
