//! The control handle that the agent drives a device with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::codec::Layer;
use wire::{Mid, NtpTime, PayloadType, Rid, Ssrc};

use crate::{
    Capabilities, Counters, LegId, Path, RelayTraffic, ReplicaId, ReplicaSnapshot, ReplicaStatistics, Statistics,
    StreamKey, StreamStatistics, Update,
};

/// The agent's handle on a device that forwards media by table. Devices differ only in speed:
/// [`Model`](crate::Model) defines their behaviour.
pub trait DataPlane {
    /// The capabilities of this device; the agent plans within them.
    fn capabilities(&self) -> Capabilities;

    /// Applies one entry atomically with respect to packets. Changes over several entries are
    /// ordered make-before-break by the caller.
    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError>;

    /// Sends a message of the control plane, or asks for one that only the device can make. Nothing
    /// is returned; a request that cannot be met is counted.
    fn inject(&mut self, now: Instant, what: Inject<'_>);

    /// The next event, in the order they happened on each leg. `None` when there is none for now.
    fn poll(&mut self) -> Option<Event>;

    /// The sum of all counters so far.
    fn counters(&mut self) -> Counters;

    /// The statistics for operators, one for each part of the device that has some.
    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        Vec::new()
    }

    /// Asks all workers for a sign of life. [`workers_answered`](Self::workers_answered) tells
    /// whether it has arrived.
    fn ping_workers(&mut self) {}

    /// Whether every worker has had a turn since the last [`ping_workers`](Self::ping_workers).
    fn workers_answered(&mut self) -> bool {
        true
    }
}

/// The reason why an entry was not written. Nothing has changed in that case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteError {
    /// The entry names a leg that is not there.
    UnknownLeg,
    /// The entry names a stream that is not there.
    UnknownStream,
    /// The entry to remove is not there.
    UnknownReplica,
    /// The table, or the part of it one leg may use, has no room.
    TableFull,
    /// The SSRC is, or was, another replica's on this leg.
    SsrcUsed,
    /// The SSRC is another stream's, or another stream's retransmissions', on this leg or on one
    /// that [shares](Leg::shared) its path. Or it is that of RTCP of such a leg.
    SsrcTaken,
    /// Another leg has this address pair, and one of the two does not share it.
    PathTaken,
    /// A first sequence number is 2^15 or more.
    FirstSequence,
    /// A value that is fixed for the life of the entry was changed.
    Fixed,
    /// The relay to remove is not there.
    UnknownRelay,
    /// The operating system does not give us this port: another program has it, its address is not
    /// of this machine, or too many are open.
    PortTaken,
    /// The device cannot do this at all.
    Unsupported,
}

/// A request of the control plane to send something.
#[derive(Clone, Copy, Debug)]
pub enum Inject<'a> {
    /// A datagram that arrived before, and that the device takes in as though it arrived again: one
    /// that was [punted](PuntKind::Protected) for want of keys.
    Receive {
        /// The time at which it arrived first.
        at: Instant,
        /// The addresses between which it arrived.
        path: Path,
        /// The UDP payload, as it arrived.
        bytes: &'a [u8],
    },
    /// A datagram that is sent unchanged: STUN, DTLS. The path need not be any leg's.
    Datagram {
        /// From where to where.
        path: Path,
        /// The UDP payload.
        bytes: &'a [u8],
    },
    /// A compound RTCP packet, in clear; the device protects it with the leg's keys and sends it
    /// over the nominated path.
    Rtcp {
        /// The leg to send to.
        leg: LegId,
        /// The compound packet.
        bytes: &'a [u8],
    },
    /// Retransmits packets that the receiver asked for, by the replica's own sequence numbers, as
    /// RFC 4588 retransmissions from the stream's cache. A device that sends the replica but stores
    /// no packets answers with [`Event::NackUpstream`] instead. When the publisher then sends such
    /// a packet again, it is sent only to the receivers that asked for it, once, under the number
    /// it had, and is reported as a recovered arrival.
    Resend {
        /// Which replica.
        replica: ReplicaId,
        /// Which of its numbers.
        sequences: &'a [u16],
    },
    /// Continues a replica where another device stopped, or where this one released it. Without
    /// effect on a replica that follows something already, or that is sent to a leg with
    /// encryption. A replica that is paused or without a source continues once it is neither. A
    /// continued replica that is paused forgets the source it was to follow, but its numbers still
    /// continue.
    Resume {
        /// Which replica.
        replica: ReplicaId,
        /// The state to continue from.
        from: ReplicaSnapshot,
    },
    /// Asks a device to stop sending a replica, so that another can continue it. The device answers
    /// with the replica's state ([`Event::Released`]), and sends nothing of it until
    /// [`Inject::Resume`], or until it has been paused or without a source. A device that cannot
    /// state it continues to send.
    Release {
        /// Which replica.
        replica: ReplicaId,
        /// Whether the other device begins with a key frame. Then decisions about frames need not
        /// be stated, and the state has no source. So a replica is released whose frames are named
        /// by descriptors, and one that has sent nothing: its next number is the first. A replica
        /// that follows another stream than it should is not.
        at_key_frame: bool,
    },
    /// Sends one packet of a replica in place of media that does not arrive, as for a track that is
    /// muted: a receiver may learn of the track by its packets. The packet has the replica's next
    /// number. Its timestamp is later than that of the one before by the time between them; the
    /// first is 0. Media continues from both. Without effect once the replica has followed a
    /// stream, and while it is paused.
    ///
    /// An offload has no such request: it sends only clear media, and the clients that need the
    /// request do not receive clear media.
    Fill {
        /// Which replica.
        replica: ReplicaId,
        /// The replica's payload type.
        payload_type: PayloadType,
        /// Of the timestamps, in units per second.
        clock_rate: u32,
        /// The payload; if it is empty, the packet is padding, which has no effect on a decoder.
        payload: &'a [u8],
    },
    /// Asks for a burst that measures the capacity of the path to a leg: padding on the
    /// retransmission SSRC of one of its replicas, together with the media sent meanwhile. A leg
    /// without such a replica sends none. A device that makes no padding sends its next packets
    /// several times instead.
    Probe {
        /// The leg to send to.
        leg: LegId,
        /// Noted with each packet of the burst, media included, in its [`Departure`].
        probe: u32,
        /// The rate in bits per second. A device without a pacer spreads the burst over the packets
        /// it sends, or sends all of it at once.
        rate: u64,
        /// At least so many bytes of UDP payload,
        bytes: u32,
        /// and at least so many packets, up to
        /// [`PROBE_PACKETS_MAX`](crate::limits::PROBE_PACKETS_MAX).
        packets: u32,
    },
    /// Asks for an [`Event::Stream`] for each stream of a leg and an [`Event::Replica`] for each
    /// replica sent to it.
    Report {
        /// Which leg.
        leg: LegId,
    },
    /// Asks for the [`Event::RelayTraffic`] of a relay.
    ReportRelay {
        /// Its address.
        at: SocketAddr,
    },
}

/// The kind of a punted datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PuntKind {
    /// STUN, from any address; at a relay, if ICE ends there.
    Stun,
    /// DTLS from a leg, or from an accepted source at a relay where it ends.
    Dtls,
    /// RTCP from a leg, authenticated and in clear; or a copy of RTCP that a relay forwards, in
    /// clear unless it is protected from end to end.
    Rtcp,
    /// RTP or RTCP as it arrived, of a leg or at a relay that has no keys yet: a peer sends as soon
    /// as its side of the handshake is over. Of each entry up to
    /// [`PROTECTED_PUNTS_MAX`](crate::limits::PROTECTED_PUNTS_MAX) until it has keys.
    Protected,
}

/// A message of a device to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A datagram for the agent.
    Punt {
        /// The kind of the datagram.
        kind: PuntKind,
        /// When it arrived.
        at: Instant,
        /// Between which addresses.
        path: Path,
        /// The leg with this address pair, if any. A datagram at a relay is of no leg: `path.local`
        /// names the relay.
        leg: Option<LegId>,
        /// The UDP payload; RTCP unprotected.
        bytes: Vec<u8>,
    },
    /// An SSRC that is not in the table. Reported once for each different description until the
    /// SSRC leaves the table again. A leg has at most
    /// [`UNKNOWN_STREAMS_MAX`](crate::limits::UNKNOWN_STREAMS_MAX) such descriptions at a time.
    UnknownStream {
        /// On which leg.
        leg: LegId,
        /// Its SSRC.
        ssrc: Ssrc,
        /// The packet's payload type.
        payload_type: PayloadType,
        /// Media identification in the packet.
        mid: Option<Mid>,
        /// Restriction identifier in the packet.
        rid: Option<Rid>,
        /// Restriction identifier of the stream it retransmits.
        repaired_rid: Option<Rid>,
    },
    /// Authenticated RTP packets that arrived on a leg, in order of arrival.
    Arrivals {
        /// Which leg.
        leg: LegId,
        /// One for each packet.
        arrivals: Vec<Arrival>,
    },
    /// RTP packets sent on a leg whose extensions carry a transport-wide number, in order.
    Departures {
        /// Which leg.
        leg: LegId,
        /// One for each packet.
        departures: Vec<Departure>,
    },
    /// A replica forwards another stream or another layer of it than before, or began or ceased to
    /// wait for a key frame of the stream it forwards.
    Selected {
        /// Which replica.
        replica: ReplicaId,
        /// The stream that it follows.
        source: StreamKey,
        /// The highest layer it gets, [`u8::MAX`] where nothing limits it; the lowest layer for a
        /// stream without layers.
        layer: Layer,
        /// Whether it reaches its target, or anything that can be decoded, only with a key frame.
        awaits_key_frame: bool,
    },
    /// Answer to [`Inject::Release`].
    Released {
        /// Which replica.
        replica: ReplicaId,
        /// The replica's state; `None` where this device continues to send it: it follows nothing,
        /// or another stream than it should, its frames are named by descriptors, or there is
        /// encryption. For a release at a key frame the first and the third are no obstacles.
        from: Option<ReplicaSnapshot>,
        /// The next transport-wide number of its leg.
        transport_sequence: u16,
    },
    /// Answer to [`Inject::Resend`] of a device that stores no packets: only the publisher can send
    /// these again, by the stream's own numbers. A device that stores packets never sends this
    /// event.
    NackUpstream {
        /// Which stream the replica comes from.
        stream: StreamKey,
        /// Which of its numbers.
        sequences: Vec<u16>,
    },
    /// Answer to [`Inject::Report`]: one stream.
    Stream(StreamKey, StreamStatistics),
    /// Answer to [`Inject::Report`]: one replica.
    Replica(ReplicaId, ReplicaStatistics),
    /// A datagram arrived from a source that a relay learns from, other than the source last
    /// reported in this window.
    RelaySource {
        /// The relay's address.
        at: SocketAddr,
        /// The remote address.
        from: SocketAddr,
    },
    /// Answer to [`Inject::ReportRelay`], and the final counts of a relay that is removed.
    RelayTraffic {
        /// The relay's address.
        at: SocketAddr,
        /// How much.
        traffic: RelayTraffic,
        /// When the last forwarded datagram arrived.
        last: Option<Instant>,
    },
}

/// One RTP packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// The media stream's SSRC: for a retransmission that was unwrapped, the one it repairs.
    pub ssrc: Ssrc,
    /// The media stream's sequence number, likewise.
    pub sequence: u16,
    /// Whether it was a retransmission.
    pub recovered: bool,
    /// The transport-wide sequence number it carried.
    pub transport_sequence: Option<u16>,
    /// Bytes of UDP payload, as received.
    pub size: u16,
    /// Audio level in -dBov, and whether it is voice (RFC 6464).
    pub audio_level: Option<(u8, bool)>,
    /// The layer of its frame, where the packet says so.
    pub layer: Option<Layer>,
    /// Whether a frame ends with it, so that frames of a layer can be counted.
    pub ends_frame: bool,
    /// Whether receivers of higher layers of the stream get its frame, too, so that the rate of a
    /// layer can be measured. In streams whose spatial layers depend on one another in key frames
    /// only, this is false of most frames. For the highest spatial layer it has no meaning.
    pub needed_above: bool,
}

/// One RTP packet that was sent with a transport-wide number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When.
    pub at: Instant,
    /// Its transport-wide sequence number.
    pub transport_sequence: u16,
    /// Bytes of UDP payload, as sent.
    pub size: u16,
    /// The probe it was part of.
    pub probe: Option<u32>,
}

/// Relates the monotonic clock to wall-clock time. Given once; a device never asks the operating
/// system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// An instant,
    pub origin: Instant,
    /// and the wall-clock time at it.
    pub ntp: NtpTime,
}

impl Clock {
    /// Wall-clock time at `now`.
    pub fn ntp(&self, now: Instant) -> NtpTime {
        let since: Duration = now.saturating_duration_since(self.origin);
        let fraction = (u64::from(since.subsec_nanos()) << 32) / 1_000_000_000;
        NtpTime(self.ntp.0.wrapping_add((since.as_secs() << 32) | fraction))
    }
}
