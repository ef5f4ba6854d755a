//! The language of vectors: steps and expectations as lines of text, and back.
//!
//! The grammar is in the README. A line is words; an attribute is a name and a value, or a name
//! alone; lists are joined by commas. Names of legs, replicas, relays and peers are the writer's;
//! `l7`, `r7`, `x7` and `p7` mean the entries with exactly that number.

mod descriptor;
mod entry;
mod folder;
mod names;
mod packet;
mod parser;
mod print;
mod relay;
mod snapshot;
mod structures;
mod words;

pub use folder::read_folder;
pub use names::Names;
pub use parser::parse;
pub(crate) use print::print_step;
pub use print::{print_datagram, print_history};
pub use structures::{moved, structure};
pub use words::Problem;

use std::net::SocketAddr;

use dataplane::{Counter, LegId, Path, PuntKind, ReplicaId, ReplicaSnapshot, StreamKey, Update, WriteError};
use wire::codec::Layer;
use wire::{Mid, Rid, Ssrc};

use crate::Step;
use crate::rtp::RtpFields;

/// A vector as read.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its file.
    pub file: String,
    /// Its claim: the first line.
    pub title: String,
    /// Whether it holds only on a device that uses the given times.
    pub needs_virtual_time: bool,
    /// Whether it only holds on a device whose peers each have an address of their own, not only a
    /// port.
    pub needs_own_addresses: bool,
    /// Whether it only holds on a device that forwards RTCP.
    pub needs_forwarded_rtcp: bool,
    /// Its steps and expectations.
    pub lines: Vec<Line>,
}

/// One line of a vector.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// As written.
    pub text: String,
    /// Its meaning.
    pub statement: Statement,
}

/// The meaning of a line.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Do this; an entry must be taken.
    Do(Step),
    /// This entry must be refused.
    Refuse(WriteError, Update),
    /// The next datagram on this path must be this.
    Expect(Path, Expected),
    /// No further packet was sent.
    ExpectNothing,
    /// This event was reported to the agent.
    Event(EventPattern),
    /// No further selection of a replica was reported.
    NoneSelected,
    /// Counters since the last such line: these and no others.
    Count(Vec<(Counter, u64)>),
}

/// The expected content of a sent datagram.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An RTP packet with these fields.
    Rtp(RtpFields),
    /// Exactly these bytes.
    Bytes(Vec<u8>),
}

/// Some fields of an event; missing ones are not compared.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are those of `dataplane::Event`")]
pub enum EventPattern {
    /// A datagram for the agent.
    Punt {
        kind: PuntKind,
        path: Path,
        leg: Option<LegId>,
        bytes: Option<Vec<u8>>,
    },
    /// A stream that is not in the table.
    Unknown {
        leg: LegId,
        ssrc: u32,
        payload_type: Option<u8>,
        mid: Option<Mid>,
        rid: Option<Rid>,
        repaired_rid: Option<Rid>,
    },
    /// A replica follows another stream, or gets other layers of it. `None`: any layer, waiting or
    /// not.
    Selected {
        replica: ReplicaId,
        source: StreamKey,
        layer: Option<(Layer, bool)>,
    },
    /// The next RTP packet that arrived on a leg.
    Arrival {
        leg: LegId,
        ssrc: Option<u32>,
        sequence: Option<u16>,
        recovered: bool,
        transport_sequence: Option<u16>,
        size: Option<u16>,
        audio_level: Option<(u8, bool)>,
        layer: Option<Option<Layer>>,
        ends_frame: Option<bool>,
        needed_above: Option<bool>,
    },
    /// The next packet that left a leg with a transport-wide number.
    Departure {
        leg: LegId,
        transport_sequence: u16,
        size: Option<u16>,
        probe: Option<u32>,
    },
    /// Statistics of a stream.
    Stream {
        key: StreamKey,
        packets: Option<u64>,
        octets: Option<u64>,
        first: Option<u64>,
        highest: Option<u64>,
        jitter: Option<u32>,
    },
    /// Packets that only the publisher can send again.
    Nack { stream: StreamKey, sequences: Vec<u16> },
    /// The state of a released replica, if it has one.
    Released {
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
    },
    /// A relay learns from a source.
    RelaySource { at: SocketAddr, from: SocketAddr },
    /// Statistics of a relay.
    RelayTraffic {
        at: SocketAddr,
        packets: Option<u64>,
        bytes: Option<u64>,
        dropped: Option<u64>,
        ssrc: Option<Option<Ssrc>>,
    },
    /// Statistics of a replica.
    Replica {
        replica: ReplicaId,
        packets: Option<u64>,
        octets: Option<u64>,
        resent: Option<u64>,
        source: Option<Option<StreamKey>>,
        timestamp_offset: Option<u32>,
    },
}
