//! Requests that go from one controller to another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::text::Text;

/// The kind of a request that is passed on to another controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A client of LiveKit's protocol.
    Signalling,
    /// A request of WHIP or WHEP.
    Whip,
    /// A call of the server API.
    Api,
    /// The state of receivers.
    Receivers,
    /// The timeline of a participant.
    Timelines,
    /// A worker of agents, which each controller knows.
    Worker,
}

impl Kind {
    /// All of them, with their names in metrics.
    const NAMES: [(Self, &'static str); 6] = [
        (Kind::Signalling, "signalling"),
        (Kind::Whip, "whip"),
        (Kind::Api, "api"),
        (Kind::Receivers, "receivers"),
        (Kind::Timelines, "timelines"),
        (Kind::Worker, "worker"),
    ];
}

/// Why a request was not passed on, or a connection of another controller not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ForwardFailure {
    /// The other controller takes no connection.
    Unreachable,
    /// TLS failed, or the certificate is not a controller's.
    Handshake,
    /// The other controller does not answer in time.
    Silent,
    /// The connection ended before the answer.
    Broken,
    /// The other controller does not serve the room either.
    Elsewhere,
    /// The other controller refuses a request about all rooms.
    Refused,
    /// No controller may serve the room now.
    Unavailable,
    /// A controller has as many connections as it may have.
    Full,
    /// A request over a connection of a controller does not say whose it is.
    Malformed,
}

impl ForwardFailure {
    /// All of them, with their names in metrics.
    const NAMES: [(Self, &'static str); 9] = [
        (ForwardFailure::Unreachable, "unreachable"),
        (ForwardFailure::Handshake, "handshake"),
        (ForwardFailure::Silent, "silent"),
        (ForwardFailure::Broken, "broken"),
        (ForwardFailure::Elsewhere, "elsewhere"),
        (ForwardFailure::Refused, "refused"),
        (ForwardFailure::Unavailable, "unavailable"),
        (ForwardFailure::Full, "full"),
        (ForwardFailure::Malformed, "malformed"),
    ];
}

/// The counts of one machine. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForwardCounts(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    sent: BTreeMap<Kind, u64>,
    failed: BTreeMap<ForwardFailure, u64>,
    open: u64,
}

/// An open WebSocket, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenForward(ForwardCounts);

impl ForwardCounts {
    /// Counts a request that another controller has answered.
    pub(crate) fn sent(&self, kind: Kind) {
        *self.counts().sent.entry(kind).or_default() += 1;
    }

    /// Counts an attempt that failed.
    pub(crate) fn failed(&self, why: ForwardFailure) {
        *self.counts().failed.entry(why).or_default() += 1;
    }

    /// Counts a WebSocket that goes to another controller.
    pub(crate) fn open(&self) -> OpenForward {
        self.counts().open += 1;
        OpenForward(self.clone())
    }

    /// Appends the families of forwarding.
    pub(super) fn write(&self, text: &mut Text) {
        let counts = self.counts();
        let name = "weir_forwarded_requests";
        text.family(
            name,
            "counter",
            "Requests that another controller answered for this one, by kind",
        );
        for (kind, label) in Kind::NAMES {
            let value = counts.sent.get(&kind).copied().unwrap_or_default();
            text.sample(&format!("{name}_total"), &[("kind", label)], value);
        }
        let name = "weir_forward_failures";
        text.family(
            name,
            "counter",
            "Attempts to pass requests on that failed, and connections of controllers not taken, by reason",
        );
        for (why, label) in ForwardFailure::NAMES {
            let value = counts.failed.get(&why).copied().unwrap_or_default();
            text.sample(&format!("{name}_total"), &[("reason", label)], value);
        }
        let name = "weir_forwarded_websockets";
        text.family(name, "gauge", "Open WebSockets that go to another controller");
        text.sample(name, &[], counts.open);
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenForward {
    fn drop(&mut self) {
        self.0.counts().open -= 1;
    }
}
