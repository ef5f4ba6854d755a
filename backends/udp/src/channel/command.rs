//! Commands of the control handle to a shard.

use std::time::Instant;

use dataplane::{Leg, LegId, Path, Replica, ReplicaId, ReplicaSnapshot, Stream, StreamKey};
use pacing::Probe;
use wire::PayloadType;
use wire::rtcp::RtcpPacket;

use crate::channel::{Generation, Source};

/// A packet in place of missing media.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) payload_type: PayloadType,
    pub(crate) clock_rate: u32,
    pub(crate) payload: Box<[u8]>,
}

/// One command. Entries are validated; a shard applies them without another check.
#[derive(Debug)]
pub(crate) enum ShardCommand {
    /// To the owner.
    SetLeg(LegId, Box<Leg>),
    /// To the owner, after the removal of everything elsewhere that refers to the leg.
    RemoveLeg(LegId),
    /// To the others: which shard datagrams between these addresses belong to, if any.
    Route(Path, Option<usize>),
    /// To the owner of the leg.
    SetStream(StreamKey, Generation, Box<Stream>),
    /// To the owner of the leg: whether an offload sends copies of this stream.
    SetCopied(StreamKey, bool),
    /// To the owner of the leg, after `Forget`.
    RemoveStream(StreamKey),
    /// To all: no replica follows this stream any more.
    Forget(Generation),
    /// To the owner of the replica's leg.
    SetReplica(ReplicaId, Box<Replica>, Option<Source>),
    /// To the owner of the replica's leg.
    RemoveReplica(ReplicaId),
    /// To the owner of the stream, after `SetReplica`: this other shard has a replica of it.
    Listen(StreamKey, usize),
    /// Send this as it is.
    Datagram(Path, Box<[u8]>),
    /// To the owner of the leg: take in a datagram that arrived then.
    Receive(Path, Instant, Box<[u8]>),
    /// To the owner.
    SetPace(LegId, Option<u64>),
    /// To the owner.
    Probe(LegId, Probe),
    /// To the owner: protect and send this.
    Rtcp(LegId, Box<[u8]>),
    /// To the owner of the replica's leg.
    Resend(ReplicaId, Box<[u16]>),
    /// To the owner of the replica's leg.
    Resume(ReplicaId, ReplicaSnapshot),
    /// To the owner of the replica's leg; whether the other device begins at a key frame.
    Release(ReplicaId, bool),
    /// To the owner of the replica's leg.
    Fill(ReplicaId, Box<Fill>),
    /// To the owner.
    ReportStatistics(LegId),
}

impl ShardCommand {
    /// Whether the command may wait for the worker's next packet, or for the agent's next poll.
    pub(crate) fn may_wait(&self) -> bool {
        match self {
            ShardCommand::SetPace(..) | ShardCommand::ReportStatistics(_) => true,
            ShardCommand::Rtcp(_, bytes) => is_routine(bytes),
            _ => false,
        }
    }
}

/// Whether this RTCP only reports, and requests nothing that is missing: reports are sent many
/// times a second, and a few milliseconds do not matter.
fn is_routine(bytes: &[u8]) -> bool {
    RtcpPacket::compound(bytes).all(|packet| {
        matches!(
            packet,
            Ok(RtcpPacket::SenderReport(_)
                | RtcpPacket::ReceiverReport(_)
                | RtcpPacket::SourceDescription(_)
                | RtcpPacket::TransportFeedback(_))
        )
    })
}
