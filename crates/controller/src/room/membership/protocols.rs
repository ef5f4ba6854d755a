//! The protocols that participants chose for their media.
//!
//! A client that asks for another protocol starts over, and what it asked for would be lost with
//! the participant. So the room remembers it by identity, as LiveKit's servers do.

use std::collections::VecDeque;
use std::time::Instant;

use crate::IceProtocol;
use crate::limits::{PROTOCOL_REMEMBERED_FOR, PROTOCOLS_REMEMBERED_MAX};

/// Choices, the oldest first, one of each identity.
#[derive(Debug, Default)]
pub(in crate::room) struct Protocols(VecDeque<Choice>);

#[derive(Debug)]
struct Choice {
    identity: String,
    protocol: IceProtocol,
    at: Instant,
}

impl Protocols {
    /// Remembers the choice of a participant in place of an earlier one.
    pub(in crate::room) fn remember(&mut self, now: Instant, identity: &str, protocol: IceProtocol) {
        self.0
            .retain(|choice| choice.identity != identity && !choice.is_over(now));
        if self.0.len() >= PROTOCOLS_REMEMBERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Choice {
            identity: identity.to_owned(),
            protocol,
            at: now,
        });
    }

    /// The choice of a participant.
    pub(in crate::room) fn of(&self, now: Instant, identity: &str) -> IceProtocol {
        let mut choices = self.0.iter().filter(|choice| !choice.is_over(now));
        choices
            .find(|choice| choice.identity == identity)
            .map_or(IceProtocol::Any, |choice| choice.protocol)
    }
}

impl Choice {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= PROTOCOL_REMEMBERED_FOR
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_remembered_for_a_while_and_few_of_them_are() {
        let now = Instant::now();
        let mut protocols = Protocols::default();
        protocols.remember(now, "ada", IceProtocol::Tcp);
        assert_eq!(protocols.of(now, "ada"), IceProtocol::Tcp);
        assert_eq!(protocols.of(now, "bob"), IceProtocol::Any);
        assert_eq!(protocols.of(now + PROTOCOL_REMEMBERED_FOR, "ada"), IceProtocol::Any);
        protocols.remember(now, "ada", IceProtocol::Any);
        assert_eq!(protocols.of(now, "ada"), IceProtocol::Any);
        protocols.remember(now, "eve", IceProtocol::Tls);
        for number in 1..PROTOCOLS_REMEMBERED_MAX {
            protocols.remember(now, &number.to_string(), IceProtocol::Tcp);
        }
        assert_eq!(protocols.of(now, "eve"), IceProtocol::Tls);
        protocols.remember(now, "one more", IceProtocol::Tcp);
        assert_eq!(protocols.of(now, "eve"), IceProtocol::Any);
        assert_eq!(protocols.0.len(), PROTOCOLS_REMEMBERED_MAX);
    }
}
