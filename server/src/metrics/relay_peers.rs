//! The connections between machines that relay calls, in `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::text::Text;

/// Why a connection to another machine was not made, or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerFailure {
    /// The machine takes no connection.
    Unreachable,
    /// TLS failed, or the peer has no certificate of the cluster.
    Handshake,
    /// The certificate is not for relays of calls.
    Role,
    /// The machine is another one than was meant, or another certificate has its id.
    Identity,
    /// The machine speaks another version.
    Version,
    /// A message cannot be read, is too long, or is none of that moment.
    Malformed,
    /// The machine said nothing for too long.
    Silent,
    /// The machine takes nothing that it is sent.
    Slow,
    /// The connection ended by itself.
    Broken,
    /// The two machines have another connection.
    Twice,
    /// There are as many connections as there may be.
    Full,
}

impl PeerFailure {
    /// All of them, with their names in metrics.
    const NAMES: [(Self, &'static str); 11] = [
        (PeerFailure::Unreachable, "unreachable"),
        (PeerFailure::Handshake, "handshake"),
        (PeerFailure::Role, "role"),
        (PeerFailure::Identity, "identity"),
        (PeerFailure::Version, "version"),
        (PeerFailure::Malformed, "malformed"),
        (PeerFailure::Silent, "silent"),
        (PeerFailure::Slow, "slow"),
        (PeerFailure::Broken, "broken"),
        (PeerFailure::Twice, "twice"),
        (PeerFailure::Full, "full"),
    ];
}

/// The counts of one machine. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerCounts(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    failed: BTreeMap<PeerFailure, u64>,
    open: u64,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenPeer(PeerCounts);

impl PeerCounts {
    /// Counts a connection that was not made, or is over.
    pub(crate) fn failed(&self, why: PeerFailure) {
        *self.counts().failed.entry(why).or_default() += 1;
    }

    /// Counts an open connection.
    pub(crate) fn open(&self) -> OpenPeer {
        self.counts().open += 1;
        OpenPeer(self.clone())
    }

    /// Appends the families of these connections.
    pub(super) fn write(&self, text: &mut Text) {
        let counts = self.counts();
        let name = "weir_sip_peers";
        text.family(name, "gauge", "Other machines that relay calls and are connected");
        text.sample(name, &[], counts.open);
        let name = "weir_sip_peer_failures";
        text.family(
            name,
            "counter",
            "Connections to other machines that relay calls that were not made or are over, by reason",
        );
        for (why, label) in PeerFailure::NAMES {
            let value = counts.failed.get(&why).copied().unwrap_or_default();
            text.sample(&format!("{name}_total"), &[("reason", label)], value);
        }
    }

    /// How often connections failed for a reason.
    #[cfg(test)]
    pub(crate) fn count(&self, why: PeerFailure) -> u64 {
        self.counts().failed.get(&why).copied().unwrap_or_default()
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenPeer {
    fn drop(&mut self) {
        self.0.counts().open -= 1;
    }
}
