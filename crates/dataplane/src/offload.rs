//! A device in the way of packets to a base: what it takes need no longer reach the base, the rest
//! does.
//!
//! The base can do everything and has every entry, so nothing depends on an offload: where it is
//! full, gone or not capable, packets go on to the base untouched. An offload therefore never
//! refuses an entry for good, it only says why the entry runs in the base for now.

use std::fmt;
use std::net::SocketAddr;
use std::time::Instant;

use crate::{
    Counters, Event, LegId, RelayTraffic, ReplicaId, ReplicaSnapshot, ReplicaStatistics, StreamKey, StreamStatistics,
    Update,
};

/// A device that forwards some of a base's packets before they get there.
pub trait Offload {
    /// Offers an entry that the base has, or tells of the removal of one that the base still has.
    ///
    /// After `Ok` packets of the entry need no longer reach the base; those may that want something
    /// which is not there yet. After an error they all do: an earlier value of the same entry is
    /// gone from here. Every entry is offered, those of tables this device knows nothing of as
    /// well. A removal is never refused; what was never here needs no removing.
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused>;

    /// The next event, as of a [`DataPlane`](crate::DataPlane).
    fn poll(&mut self) -> Option<Event>;

    /// What a relay did here since it was first offered, over replacements and refusals, and when
    /// the last datagram came that went on; `None` when it did nothing. Asked once after the
    /// relay's removal, this is the last word of it.
    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)>;

    /// The sum of all counters so far: of packets that did not reach the base, which counts those
    /// that did.
    fn counters(&mut self) -> Counters;

    /// Whether it takes replicas at all. If not, nobody need ask about them.
    fn takes_replicas(&self) -> bool {
        false
    }

    /// Whether a replica is sent from here, so that the base must not send it: its stream's packets
    /// may reach the base all the same, for other replicas of it.
    fn sends(&self, _replica: ReplicaId) -> bool {
        false
    }

    /// Where a replica is to go on in the base, after packets of it were sent from here. `None`
    /// where none were, or where it is still here.
    fn snapshot(&self, _replica: ReplicaId) -> Option<ReplicaSnapshot> {
        None
    }

    /// A replica that the base sends and that could be sent from here, as far as is known here.
    /// Each is told once, and room is kept for it until [`Offload::take_over`] is called, or it is
    /// removed.
    fn next_candidate(&mut self) -> Option<ReplicaId> {
        None
    }

    /// Goes on with a replica where the base stopped, or does not where nothing can be said of
    /// that. Its leg's next packet has this transport-wide number, if they are not numbered here
    /// yet. The base sends no more of the replica if this is `Ok`, and goes on with it if not.
    fn take_over(
        &mut self,
        _replica: ReplicaId,
        _from: Option<ReplicaSnapshot>,
        _transport_sequence: u16,
    ) -> Result<(), Refused> {
        Err(Refused::Unsupported(Reason::Table))
    }

    /// Packets of a replica that is sent from here, which its receiver asks for again, by the
    /// replica's numbers. Nothing is kept here: what the publisher can be asked for comes as an
    /// [`Event::NackUpstream`], and who asked is remembered.
    fn nack(&mut self, _now: Instant, _replica: ReplicaId, _sequences: &[u16]) {}

    /// A leg whose packets get their sending times and transport-wide numbers here from now on,
    /// each told once. The base's packets to it are to have neither: two cannot count together.
    fn next_stamped(&mut self) -> Option<LegId> {
        None
    }

    /// Sends more to a leg, as of [`Inject::Probe`](crate::Inject::Probe); false where the leg's
    /// packets are not numbered here, and the base is to do it.
    fn probe(&mut self, _leg: LegId, _probe: u32, _rate: u64, _bytes: u32, _packets: u32) -> bool {
        false
    }

    /// What a replica that is sent from here did.
    fn replica_statistics(&self, _replica: ReplicaId) -> Option<ReplicaStatistics> {
        None
    }

    /// What arrived of a stream of which replicas are sent from here.
    fn stream_statistics(&self, _stream: StreamKey) -> Option<StreamStatistics> {
        None
    }
}

/// Why an entry runs in the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Refused {
    /// The device cannot do this.
    Unsupported(Reason),
    /// There is no room. Once there is, a replacement of the entry is taken.
    Full,
    /// The device does not answer.
    Gone,
}

/// What a device cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Entries of this table.
    Table,
    /// SRTP: opening or sealing.
    Srtp,
    /// ICE and DTLS that end here.
    Terminated,
    /// To accept from anybody, or from nobody.
    Sources,
    /// To go from IPv4 to IPv6, or back.
    Families,
    /// An address that is not one machine's, or is one's only on some link.
    Addresses,
    /// No RTP passes here, or not yet.
    NoMedia,
    /// A codec, or a form of it, that must be looked into further than the device does.
    Codec,
    /// Retransmissions, in either direction.
    Retransmissions,
    /// Header extensions that would have to be added or renumbered.
    Extensions,
    /// Something that must run in the same place runs in the base.
    Companion,
}

impl Refused {
    /// A word or two, for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Refused::Unsupported(reason) => reason.name(),
            Refused::Full => "full",
            Refused::Gone => "gone",
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
