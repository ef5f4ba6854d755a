//! The reference model of a data plane, written to be read.
//!
//! Every back end is compared with the model. It is short, obvious and slow: it stores whole
//! packets, searches linearly and allocates at will. It works on unprotected packets; for legs with
//! SRTP the test harness protects its input and unprotects its output. Back ends share its types
//! and [`wire`]'s parsers, but not its rewriting code, so that a comparison is between two
//! implementations.
//!
//! Reading order: [`ingress`](self) finds a datagram's stream, [`frame`] reads its layer,
//! [`stream`] remembers arrivals, [`forward`](self) offers a packet to each [`replica`], which
//! decides and numbers, [`select`] selects layers, [`header`] writes. The model has no pacer:
//! packets are sent at once. A device with a pacer differs only in sending times. [`relay`] is
//! separate from all this: a datagram that arrives at a relay's port is of no leg.

mod forward;
mod frame;
mod header;
mod ingress;
mod relay;
mod replica;
mod resend;
mod rtcp;
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

/// A received datagram. RTP and RTCP are in clear here, with any protection of the leg.
#[derive(Clone, Copy, Debug)]
pub struct Ingress<'a> {
    /// Between which addresses.
    pub path: Path,
    /// The UDP payload.
    pub bytes: &'a [u8],
}

/// A sent datagram. RTP and RTCP are in clear here, with any protection of the leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Egress {
    /// The leg it is sent to; `None` for a datagram the agent addressed itself.
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
    /// The packets that the keys of relays have protected.
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
    /// Datagrams that were punted since it had keys.
    protected_punts: usize,
    transport_sequence: u16,
    /// The leg that its estimates are forwarded to.
    feedback: Option<LegId>,
}

/// The description of an unknown stream, from its header extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Description {
    ssrc: Ssrc,
    mid: Option<Mid>,
    rid: Option<Rid>,
    repaired_rid: Option<Rid>,
}

impl LegState {
    /// The path to send on, once packets may be sent.
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

    /// Everything [`inject`](DataPlane::inject) and [`write`](DataPlane::write) have made since the
    /// last call.
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

    /// The replica's entry, for tests.
    pub fn replica(&self, id: ReplicaId) -> Option<&crate::Replica> {
        self.replicas.get(&id).map(|state| &state.entry)
    }
}

impl DataPlane for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.apply(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Receive { at, path, bytes } => {
                let mut sent = Vec::new();
                self.packet(at, Ingress { path, bytes }, &mut sent);
                self.injected.extend(sent);
            }
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
            Inject::Release { replica, at_key_frame } => self.let_go(replica, at_key_frame),
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
