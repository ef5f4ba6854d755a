//! Places of table entries.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The place of a table entry, and why it is not elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The place.
    pub runner: Runner,
    /// The offloads that refused it, in their order.
    pub refusals: Vec<Refusal>,
}

/// Names an entry of any table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "table", rename_all = "snake_case")]
pub enum Entry {
    /// A relay.
    Relay {
        /// Its local address.
        address: SocketAddr,
    },
    /// A peer.
    Leg {
        /// Its id.
        leg: u32,
    },
    /// A stream that arrives.
    Stream {
        /// The peer that sends it.
        leg: u32,
        /// Its SSRC.
        ssrc: u32,
    },
    /// A stream that is sent.
    Replica {
        /// Its id.
        replica: u32,
        /// The peer that gets it.
        leg: u32,
    },
}

/// The place of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Runner {
    /// The base, below all offloads.
    Base,
    /// The base, until an offload has answered.
    Pending {
        /// The name of the offload.
        name: String,
    },
    /// An offload.
    Offload {
        /// Its name.
        name: String,
        /// Whether it does not answer at present. Its entries run there if it works, and in the
        /// base if their packets arrive there.
        is_silent: bool,
    },
}

/// An offload that was asked to take an entry, and refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Its name.
    pub offload: String,
    /// Its reason, as in `weir_offload_refused_total`.
    pub reason: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Relay { address } => write!(f, "relay {address}"),
            Entry::Leg { leg } => write!(f, "leg {leg}"),
            Entry::Stream { leg, ssrc } => write!(f, "stream {ssrc:#x} of leg {leg}"),
            Entry::Replica { replica, leg } => write!(f, "replica {replica} to leg {leg}"),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |refusal: &Refusal| format!("{}: {}", refusal.offload, refusal.reason);
        let mut reasons: Vec<String> = self.refusals.iter().map(named).collect();
        let place = match (&self.runner, &self.refusals[..]) {
            (Runner::Offload { name, .. }, _) => name,
            // With one offload there is no question which.
            (Runner::Base, [refusal]) => return write!(f, "base ({})", refusal.reason),
            (Runner::Pending { .. }, []) => return f.write_str("base (pending)"),
            (Runner::Base, _) => "base",
            (Runner::Pending { name }, _) => {
                reasons.push(format!("{name}: pending"));
                "base"
            }
        };
        f.write_str(place)?;
        if !reasons.is_empty() {
            write!(f, " ({})", reasons.join(", "))?;
        }
        match self.runner {
            Runner::Offload { is_silent: true, .. } => f.write_str(", or base while it does not answer"),
            _ => Ok(()),
        }
    }
}
