//! Devices in front of a base. Packets of an entry that a device takes need not reach the base; all
//! others do.
//!
//! The base can do everything and has every entry, so nothing depends on an offload: if it is full,
//! absent or not capable, packets reach the base unchanged. An offload therefore never refuses an
//! entry permanently; it only gives the reason why the entry runs in the base.
//!
//! [`Offload`] takes relays, [`ReplicaOffload`](crate::ReplicaOffload) rooms. A device outside this
//! process answers a write later: it returns [`Answer::Pending`] and reports the outcome as
//! [`Written`]. Until then the entry runs in the base.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::{Counters, Relay, RelayTraffic, Statistics};

/// A device that forwards some of a base's relays before their packets reach the base.
pub trait Offload {
    /// Offers a relay that the base has or, with `None`, reports the removal of one that the base
    /// still has.
    ///
    /// After [`Answer::Taken`] packets of the relay need no longer reach the base; packets that
    /// need a feature missing here still may. After [`Answer::Refused`] all of them do: an earlier
    /// value of the same entry is removed from here. After [`Answer::Pending`] they may be handled
    /// by an earlier value that was taken, until [`Offload::next_written`] reports the outcome.
    ///
    /// Writes to one relay take effect in their order. A removal is never refused; a relay that was
    /// never here needs no removal.
    fn offer(&mut self, now: Instant, write: WriteId, at: SocketAddr, relay: Option<&Relay>) -> Answer;

    /// The next outcome of a pending write, in any order. Each is reported once, as
    /// [`Refused::Gone`] if the device no longer answers. The loss of a relay that was taken is
    /// reported as an error of the write that brought it. This is called often, so a device does
    /// its periodic work here.
    fn next_written(&mut self) -> Option<Written> {
        None
    }

    /// Whether the device answers at present. Relays that it refused as [`Refused::Gone`], or did
    /// not answer about in time, are offered again once it does.
    fn answers(&self) -> bool {
        true
    }

    /// The counts of a relay here since it was first offered, over replacements and refusals, and
    /// when the last forwarded datagram arrived; `None` when there are none. Called once after a
    /// removal that was done at once, it returns the final counts; those of a removal that is done
    /// later are in [`Written::traffic`]. A device that is reached over a connection answers with
    /// the counts it read last.
    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)>;

    /// The sum of all counters so far. They cover packets that did not reach the base, which counts
    /// the others.
    fn counters(&mut self) -> Counters;

    /// The name of the place, for operators.
    fn name(&self) -> &'static str {
        "offload"
    }

    /// The numbers and places that operators see.
    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        Vec::new()
    }
}

/// Names one write to an offload. Used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteId(pub u64);

/// The answer of an offload to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Taken,
    /// It is not done, for this reason.
    Refused(Refused),
    /// The outcome is reported later.
    Pending,
}

/// The outcome of a pending write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Which write.
    pub write: WriteId,
    /// Whether it is done, and if not, why.
    pub outcome: Result<(), Refused>,
    /// Of the removal of a relay: its counts, for the last time, as of
    /// [`relay_traffic`](Offload::relay_traffic).
    pub traffic: Option<(RelayTraffic, Option<Instant>)>,
}

impl From<Result<(), Refused>> for Answer {
    fn from(outcome: Result<(), Refused>) -> Self {
        outcome.map_or_else(Answer::Refused, |()| Answer::Taken)
    }
}

/// Why an entry runs in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refused {
    /// The device cannot do this.
    Unsupported(Reason),
    /// There is no room. Once there is, a replacement of the entry is taken.
    Full,
    /// The device does not answer. It is offered a relay again once it does
    /// ([`Offload::answers`]).
    Gone,
    /// The device has not answered yet.
    Pending,
}

/// The feature that a device lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Entries of this table.
    Table,
    /// SRTP: opening or sealing.
    Srtp,
    /// ICE and DTLS that end here.
    Terminated,
    /// Accepting from anybody, or from nobody.
    Sources,
    /// To go from IPv4 to IPv6, or back.
    Families,
    /// An address that is not of a single machine, or only on some link.
    Addresses,
    /// No RTP passes here, or not yet.
    NoMedia,
    /// A codec, or a form of it, that needs deeper parsing than the device does.
    Codec,
    /// Retransmissions, in either direction.
    Retransmissions,
    /// Header extensions that would have to be added or renumbered.
    Extensions,
    /// An entry that must run in the same place runs in the base.
    Companion,
}

impl Refused {
    /// A word or two, for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Refused::Unsupported(reason) => reason.name(),
            Refused::Full => "full",
            Refused::Gone => "gone",
            Refused::Pending => "pending",
        }
    }
}

impl Reason {
    /// A word or two, for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Table => "table",
            Reason::Srtp => "srtp",
            Reason::Terminated => "terminated",
            Reason::Sources => "sources",
            Reason::Families => "families",
            Reason::Addresses => "addresses",
            Reason::NoMedia => "no_media",
            Reason::Codec => "codec",
            Reason::Retransmissions => "retransmissions",
            Reason::Extensions => "extensions",
            Reason::Companion => "companion",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Refused {}
