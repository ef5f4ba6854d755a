//! The signalling connection of a participant, and what is expected on it.

use std::time::{Duration, Instant};

use crate::ConnectionId;

/// The signalling connection of a participant, and what is expected on it.
pub(crate) struct Signalling {
    link: Link,
    pub(crate) deadlines: Deadlines,
    /// How long its client may take to read what it is told of the others.
    pub(crate) greeting_time: Duration,
    /// The failure that a test asked for when it comes back.
    pub(crate) simulated_fault: Option<SimulatedFault>,
}

/// Whether there is a signalling connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Attached(ConnectionId),
    Detached { since: Instant },
}

/// When something must have happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    /// Media connected.
    pub(crate) connect: Option<Instant>,
    /// Goodbye said, by a client that has closed its transport.
    pub(crate) goodbye: Option<Instant>,
    /// A new token sent.
    pub(crate) refresh: Instant,
}

/// A failure that a test asked for when the participant comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimulatedFault {
    /// The connection breaks after the first messages.
    Disconnect,
    /// The connection breaks before any message.
    DisconnectSilently,
}

impl Signalling {
    pub(crate) fn new(now: Instant, connection: ConnectionId) -> Self {
        Self {
            link: Link::Attached(connection),
            deadlines: Deadlines {
                connect: None,
                goodbye: None,
                refresh: now,
            },
            greeting_time: Duration::ZERO,
            simulated_fault: None,
        }
    }

    /// Of one whose connection was to another process.
    pub(crate) fn detached(now: Instant) -> Self {
        let mut signalling = Self::new(now, ConnectionId(0));
        signalling.detach(now);
        signalling
    }

    pub(crate) fn link(&self) -> Link {
        self.link
    }

    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match self.link {
            Link::Attached(connection) => Some(connection),
            Link::Detached { .. } => None,
        }
    }

    /// The client came back on this connection. Returns how it was connected before.
    pub(crate) fn attach(&mut self, connection: ConnectionId) -> Link {
        std::mem::replace(&mut self.link, Link::Attached(connection))
    }

    /// The connection is gone.
    pub(crate) fn detach(&mut self, now: Instant) {
        self.link = Link::Detached { since: now };
    }
}
