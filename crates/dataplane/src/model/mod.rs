//! What a data plane means, written to be read.
//!
//! The model is the reference every back end is compared with. It is short, obvious and slow: it
//! keeps whole packets, searches linearly and allocates at will. It works on unprotected packets;
//! for legs with SRTP the harness protects what goes in and unprotects what comes out. Back ends
//! share its types and [`wire`]'s parsers, never its rewriting code, so that comparing them
//! compares two things.
//!
//! Reading order: [`ingress`](self) takes a datagram to its stream, [`frame`] reads its layer,
//! [`stream`] remembers what arrived, [`replica`] decides and numbers, [`select`] says which
//! layers, [`header`] writes. There is no pace: what may leave leaves at once, and a device that
//! lets it wait changes nothing but when. [`relay`] is apart from all this: what arrives at a
//! relay's port meets no leg.

mod frame;
mod header;
mod ingress;
mod relay;
mod replica;
mod resend;
mod select;
mod stream;
mod tables;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use wire::{Mid, Rid, Ssrc};

use crate::{
    Capabilities, Clock, Counters, DataPlane, Event, Inject, Leg, LegId, Path, Protection, ReplicaId, StreamKey,
    Update, WriteError,
};
use relay::{RelayState, Sealed};
use replica::{Fill, ReplicaState};
use stream::StreamState;

/// A datagram that came in. RTP and RTCP are in clear here, whatever the leg's protection.
#[derive(Clone, Copy, Debug)]
pub struct Ingress<'a> {
    /// Between which addresses.
    pub path: Path,
    /// The UDP payload.
    pub bytes: &'a [u8],
}

/// A datagram that goes out. RTP and RTCP are in clear here, whatever the leg's protection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    /// For whom; `None` for a datagram the agent addressed itself.
    pub leg: Option<LegId>,
    /// Between which addresses.
    pub path: Path,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

/// The meaning of a data plane.
#[derive(Debug)]
pub struct Model {
    clock: Clock,
    legs: BTreeMap<LegId, LegState>,
    streams: BTreeMap<StreamKey, StreamState>,
    replicas: BTreeMap<ReplicaId, ReplicaState>,
    relays: BTreeMap<SocketAddr, RelayState>,
    /// What the keys of relays have sealed.
    sealed: Vec<Sealed>,
    counters: Counters,
    events: VecDeque<Event>,
    injected: Vec<Egress>,
}

#[derive(Debug)]
struct LegState {
    entry: Leg,
    /// SSRCs its replicas use or ever used: their keystreams are spent.
    ssrcs_used: BTreeSet<Ssrc>,
    unknown_streams: BTreeSet<Description>,
    transport_sequence: u16,
}

/// What an unknown stream says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Description {
    ssrc: Ssrc,
    mid: Option<Mid>,
    rid: Option<Rid>,
    repaired_rid: Option<Rid>,
}

impl LegState {
    /// Where to send, once packets may be sent.
    fn ready(&self) -> Option<Path> {
        match self.entry.protection {
            Protection::Pending => None,
            Protection::Clear | Protection::Srtp { .. } => self.entry.paths.first().copied(),
        }
    }
}

impl Model {
    /// An empty device.
    pub fn new(clock: Clock) -> Self {
        Model {
            clock,
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
            replicas: BTreeMap::new(),
            relays: BTreeMap::new(),
            sealed: Vec::new(),
            counters: Counters::default(),
            events: VecDeque::new(),
            injected: Vec::new(),
        }
    }

    /// Everything [`inject`](DataPlane::inject) has made since the last call.
    pub fn take_injected(&mut self) -> Vec<Egress> {
        std::mem::take(&mut self.injected)
    }

    /// How many legs, streams and replicas there are.
    pub fn len(&self) -> (usize, usize, usize) {
        (self.legs.len(), self.streams.len(), self.replicas.len())
    }

    /// Whether every table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0, 0) && self.relays.is_empty()
    }

    /// The replica's entry, for tests that look inside.
    pub fn replica(&self, id: ReplicaId) -> Option<&crate::Replica> {
        self.replicas.get(&id).map(|state| &state.entry)
    }
}

impl DataPlane for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn write(&mut self, _now: Instant, update: Update) -> Result<(), WriteError> {
        self.apply(update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Datagram { path, bytes } => {
                self.injected.push(Egress {
                    leg: None,
                    path,
                    bytes: bytes.to_vec(),
                });
            }
            Inject::Rtcp { leg, bytes } => self.send_rtcp(leg, bytes),
            Inject::Resend { replica, sequences } => self.resend(now, replica, sequences),
            Inject::Resume { replica, from } => self.go_on(now, replica, from),
            Inject::Release { replica } => self.let_go(replica),
            Inject::Fill {
                replica,
                payload_type,
                clock_rate,
                payload,
            } => {
                let fill = Fill {
                    payload_type,
                    clock_rate,
                    payload,
                };
                match self.fill(now, replica, fill) {
                    Ok(egress) => self.injected.extend(egress),
                    Err(reason) => self.counters.count(reason),
                }
            }
            Inject::Probe {
                leg,
                probe,
                bytes,
                packets,
                ..
            } => self.probe(now, leg, probe, bytes, packets),
            Inject::Report { leg } => self.report(leg),
            Inject::ReportRelay { at } => self.report_relay(at),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn counters(&mut self) -> Counters {
        self.counters.clone()
    }
}
