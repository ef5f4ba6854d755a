//! What the agent can say to a data plane: the tables of legs, streams and replicas. That of relays
//! is in [`relay`](crate::relay).

use std::net::SocketAddr;

use wire::codec::Layer;
use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionMap, MediaKind, Mid, NtpTime, PayloadType, RtpTimestamp, Ssrc};

use crate::{Protection, Relay};

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

/// A local and a remote address between which a peer has proved itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// Our address, as the peer reaches it.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// A transport, as far as packets see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Where packets are accepted from: at most [`PATHS_MAX`](crate::limits::PATHS_MAX) pairs. The
    /// first is the nominated one, to which we send.
    pub paths: Vec<Path>,
    /// Keys, or none.
    pub protection: Protection,
    /// Header-extension ids in what the peer sends.
    pub extensions_in: ExtensionMap,
    /// Header-extension ids in what we send. An extension that is missing here is taken out.
    pub extensions_out: ExtensionMap,
}

/// One payload type of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFormat {
    /// The payload type.
    pub payload_type: PayloadType,
    /// What it carries, which says how key frames are found and what is rewritten in the payload.
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
    /// What its payload types mean. A packet with another one is dropped.
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
    /// Of redundant audio (RFC 2198) only the primary block is sent, as a packet of its own codec:
    /// the receiver does not know the redundant form.
    pub primary_only: bool,
}

/// How a replica that leaves frames out numbers the rest. `crates/rewriting` says what each
/// promises, and measures what it costs.
///
/// The latter two are for streams whose packets bring dependency descriptors: nothing else numbers
/// frames and says how many layers there are. A segment that begins with another packet is numbered
/// by [`Exact`](Self::Exact), whatever the entry says. Where there are several sizes, or a
/// descriptor cannot be read, they close up nothing: what is left out is a gap, and so no loss is
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
    /// The SSRC it is sent with. Never used before on that leg: not even by a replica that is gone.
    pub ssrc: Ssrc,
    /// First sequence number, below 2^15 (RFC 3711 section 3.3.1: so that the receiver's first
    /// guess of the roll-over counter is right). What it is when the first packet goes out counts;
    /// afterwards it means nothing.
    pub first_sequence: u16,
    /// The SSRC of its retransmissions and their first sequence number, below 2^15. Without it a
    /// NACK is not answered.
    pub rtx: Option<(Ssrc, u16)>,
    /// What the source's payload types become. A packet of a type that is missing is not forwarded.
    pub formats: Vec<ReplicaFormat>,
    /// Media identification written into every packet, when the leg's extensions have an id for it.
    pub mid: Option<Mid>,
    /// How long its receiver is to hold pictures back, written into every packet when the leg's
    /// extensions have an id for it: what has to be repaired is then still in time. Every packet,
    /// since any of them may be the one that arrives, and all are of one size then. What the
    /// publisher asked for last is [kept in it](PlayoutDelay::with_publishers). `None` carries on
    /// what comes with a packet, as it is.
    pub playout_delay: Option<PlayoutDelay>,
    /// Where it should come from. While another stream is being forwarded that one goes on until
    /// this one has a key frame.
    pub source: Option<StreamKey>,
    /// The highest layer it gets of a source that has several: frames above it, spatially or
    /// temporally, are held back, and frames that depend on what was held back. It follows as soon
    /// as a decoder can: down to fewer pictures at the next frame, up and to another size where the
    /// source says that one may begin, which for most is a key frame.
    pub target: Layer,
    /// A smaller picture size that goes on beside the target's, from the next frame of it on that
    /// needs no earlier one: the replica goes down to it with the next picture instead of waiting
    /// there for the key frame of what it is to get. Where larger sizes need it anyway it is sent
    /// in any case. Of streams with a dependency descriptor only: nothing else tells a receiver
    /// that both belong together.
    pub fallback_spatial: Option<u8>,
    /// How its packets are numbered. What it is when it begins to follow a source counts.
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
    /// How fast packets leave on a leg, in bits per second of UDP payload: what is more waits,
    /// audio never does, and nothing longer than half a second. What waits still leaves when its
    /// replica is paused or switched meanwhile. `None`, as at first: as they come. Apart from the
    /// leg's other values because it changes ten times a second.
    SetPace(LegId, Option<u64>),
    /// Adds a stream or replaces its value; its leg must be there.
    SetStream(StreamKey, Stream),
    /// Removes a stream. Its replicas stay, without a source.
    RemoveStream(StreamKey),
    /// Adds a replica or replaces its value; its leg must be there, and its source if it names one.
    SetReplica(ReplicaId, Replica),
    /// Removes a replica.
    RemoveReplica(ReplicaId),
    /// Adds a relay at this address of ours or replaces its value. A new one opens the port;
    /// datagrams that arrive at it never meet a leg. What its keys have protected counts on when
    /// the value is replaced.
    SetRelay(SocketAddr, Box<Relay>),
    /// Removes a relay and closes its port. Its [`RelayTraffic`](crate::Event::RelayTraffic) is
    /// told a last time.
    RemoveRelay(SocketAddr),
}
