//! The entries that the agent writes to a data plane: legs, streams and replicas. Relays are in
//! [`relay`](crate::relay).

use std::net::SocketAddr;

use wire::codec::Layer;
use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionMap, MediaKind, Mid, NtpTime, PayloadType, RtpTimestamp, Ssrc};

use crate::{Path, Protection, Relay};

/// Names a leg. The agent hands them out; one is not used again before [`Update::RemoveLeg`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LegId(pub u32);

/// Names a replica. The agent hands them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaId(pub u32);

/// Names a stream: one SSRC on the leg it arrives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey {
    /// The publisher's leg.
    pub leg: LegId,
    /// The SSRC of the media (not of its retransmissions).
    pub ssrc: Ssrc,
}

/// A transport, as far as packets see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The address pairs that packets are accepted from, at most
    /// [`PATHS_MAX`](crate::limits::PATHS_MAX). The first is the nominated one, on which we send.
    pub paths: Vec<Path>,
    /// Whether other legs may have the same path, and the SSRC of RTCP of this one's peer that is
    /// from none of its streams.
    ///
    /// Such a leg has one path for its life. Datagrams that arrive there belong to the leg that has
    /// their SSRC, as this one or as that of a stream or its retransmissions. No two legs of a path
    /// have one in common. Datagrams without an SSRC, or with another, are of no leg.
    pub shared: Option<Ssrc>,
    /// Keys, or none.
    pub protection: Protection,
    /// Header-extension ids in what the peer sends.
    pub extensions_in: ExtensionMap,
    /// Header-extension ids in packets that we send. An extension that is missing here is removed.
    pub extensions_out: ExtensionMap,
}

/// One payload type of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFormat {
    /// The payload type.
    pub payload_type: PayloadType,
    /// Its codec, which decides how key frames are found and what is rewritten in the payload.
    pub codec: Codec,
    /// The payload type of its retransmissions, on the retransmission SSRC.
    pub rtx: Option<PayloadType>,
}

/// An RTP stream that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Audio or video: how many packets are kept, and whether a switch to it must wait for a key
    /// frame.
    pub kind: MediaKind,
    /// The meaning of its payload types. A packet with another one is dropped.
    pub formats: Vec<StreamFormat>,
    /// The SSRC its retransmissions arrive on (RFC 4588).
    pub rtx: Option<Ssrc>,
    /// Its media section. A packet that names another one is not of this stream (RFC 8843 section
    /// 9.2).
    pub mid: Option<Mid>,
    /// The newest sender report: one instant in both of the sender's clocks. Aligns timestamps when
    /// replicas switch between sources.
    pub reference: Option<(NtpTime, RtpTimestamp)>,
}

/// One payload type of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaFormat {
    /// The source's payload type.
    pub source: PayloadType,
    /// The replica's.
    pub payload_type: PayloadType,
    /// The payload type of its retransmissions.
    pub rtx: Option<PayloadType>,
    /// Whether only the primary block of redundant audio (RFC 2198) is sent, as a packet of its own
    /// codec, because the receiver does not support the redundant form.
    pub primary_only: bool,
}

/// The numbering of a replica that leaves frames out. `crates/rewriting` describes the guarantees
/// of each method and measures its cost.
///
/// The latter two are for streams whose packets carry dependency descriptors, because only those
/// number frames and tell how many layers there are. A segment that begins with another packet is
/// numbered by [`Exact`](Self::Exact), regardless of the entry. With several sizes, or with a
/// descriptor that cannot be read, they close no gaps: frames left out are gaps, and so no loss is
/// ever masked.
///
/// Source: Scallop section 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rewriting {
    /// By every packet of the source, sent or not.
    #[default]
    Exact,
    /// S-LM: by the newest frame that was sent.
    LowMemory,
    /// S-LR: by that and three before it.
    LowRetransmission,
}

/// One outgoing copy of a source.
///
/// `leg`, `ssrc` and `rtx` are fixed when the entry is first written; the rest may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The receiver's leg.
    pub leg: LegId,
    /// The SSRC it is sent with. It must never have been used before on that leg, even by a replica
    /// that has been removed.
    pub ssrc: Ssrc,
    /// First sequence number, below 2^15 (RFC 3711 section 3.3.1: so that the receiver's first
    /// guess of the roll-over counter is right). It is read when the first packet is sent;
    /// afterwards it has no effect.
    pub first_sequence: u16,
    /// The SSRC of its retransmissions and their first sequence number, below 2^15. Without it a
    /// NACK is not answered.
    pub rtx: Option<(Ssrc, u16)>,
    /// The payload types sent for those of the source. A packet of a type that is missing is not
    /// forwarded.
    pub formats: Vec<ReplicaFormat>,
    /// Media identification written into every packet, when the leg's extensions have an id for it.
    pub mid: Option<Mid>,
    /// How long its receiver is to delay playout, written into every packet when the leg's
    /// extensions have an id for it, so that repaired packets are still in time. It is in every
    /// packet because any of them may be the one that arrives, and so that all have one size. The
    /// publisher's last request is [kept in it](PlayoutDelay::with_publishers). `None` forwards the
    /// received extension unchanged.
    pub playout_delay: Option<PlayoutDelay>,
    /// The stream it is to follow. The stream that it forwards at the time continues until this one
    /// has a key frame.
    pub source: Option<StreamKey>,
    /// The highest layer it gets of a source that has several. Frames above it, spatially or
    /// temporally, are held back, and so are frames that depend on them. A change takes effect as
    /// soon as a decoder can follow: down to fewer pictures at the next frame, up and to another
    /// size where the source says that one may begin, which for most is a key frame.
    pub target: Layer,
    /// A smaller picture size that is forwarded beside the target's, from its next frame on that
    /// needs no earlier one. The replica switches down to it with the next picture instead of
    /// waiting there for a key frame of its target. It is sent in any case where larger sizes need
    /// it. Only for streams with a dependency descriptor: nothing else tells a receiver that both
    /// belong together.
    pub fallback_spatial: Option<u8>,
    /// The numbering of its packets. It is read when the replica begins to follow a source.
    pub rewriting: Rewriting,
    /// Nothing is sent while true; afterwards the replica starts again with a key frame.
    pub paused: bool,
}

/// One change of one entry. Applied atomically with respect to packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Adds a leg or replaces its value.
    SetLeg(LegId, Leg),
    /// Removes a leg with its streams and the replicas sent to it.
    RemoveLeg(LegId),
    /// The rate at which packets are sent on a leg, in bits per second of UDP payload. Packets
    /// above it wait, except audio, for half a second at most. Waiting packets are still sent when
    /// their replica is paused or switched meanwhile. `None`, the initial value: packets are sent
    /// as they arrive. It is separate from the leg's other values because it changes ten times a
    /// second.
    SetPace(LegId, Option<u64>),
    /// Adds a stream or replaces its value; its leg must be there.
    SetStream(StreamKey, Stream),
    /// Removes a stream. Its replicas stay, without a source.
    RemoveStream(StreamKey),
    /// Adds a replica or replaces its value; its leg must be there, and its source if it names one.
    SetReplica(ReplicaId, Replica),
    /// Removes a replica.
    RemoveReplica(ReplicaId),
    /// Has receiver reports and REMB from one leg sent to another unchanged, besides being reported
    /// ([`has_estimates`](crate::feedback::has_estimates)). `None`, the initial value: they are
    /// reported only. Without effect while either leg has keys. It ends with either leg.
    SetFeedback(LegId, Option<LegId>),
    /// Whether an offload in front of this device sends copies of a stream, whose packets also
    /// reach this device. Initially not. It changes only how packets are counted: those that no
    /// replica here gets are [`CopiedByOffload`](crate::Counter::CopiedByOffload).
    SetCopied(StreamKey, bool),
    /// Adds a relay at this local address or replaces its value. A new one opens the port;
    /// datagrams that arrive at it never meet a leg. The packet counts of its keys continue when
    /// the value is replaced.
    SetRelay(SocketAddr, Box<Relay>),
    /// Removes a relay and closes its port. Its [`RelayTraffic`](crate::Event::RelayTraffic) is
    /// reported a last time.
    RemoveRelay(SocketAddr),
}
