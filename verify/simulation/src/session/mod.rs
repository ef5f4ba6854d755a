//! One client from joining to leaving: a browser with `livekit-client`, as far as a server can
//! tell.
//!
//! It is told what it hears and what its person wants, and answers in [`Effect`]s; the world
//! carries them out.

mod describe;
mod downlink;
mod negotiate;
mod signal;
mod transport;
mod uplink;
mod wishes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use controller::ConnectionId;
use dataplane::Clock;
use dimpl::DtlsCertificate;
use livekit_protocol::{Ping, signal_request};
use rand::SeedableRng;
use rand::rngs::StdRng;
use wire::rtcp::RtcpPacket;
use wire::sdp::{Fingerprint, HashFunction};
use wire::{RtpPacket, Ssrc};

use crate::history::How;
use describe::Section;
use downlink::Downlink;
use transport::{Arrived, Transport};
use uplink::{Source, Through};

pub(crate) use downlink::Received;
pub(crate) use uplink::track_source;

/// How often a client looks at its clock.
pub(crate) const TICK: Duration = Duration::from_millis(25);
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// The peer connection a client publishes on, and in single mode receives on.
pub(crate) const PUBLISHER: usize = 0;
/// The peer connection a client receives on in dual mode.
pub(crate) const SUBSCRIBER: usize = 1;

/// Outputs of a client.
pub(crate) enum Effect {
    /// Says something on its signalling connection. With an offer come the sources that it says are
    /// over.
    Say(Box<signal_request::Message>, Vec<u32>),
    /// Has numbered a packet that carries no media: source, encoding, number.
    Probe(u32, u8, u64),
    /// Sends a datagram from one of its transports.
    Send(usize, Vec<u8>),
    /// Gives its signalling connection up and comes back.
    Resume,
    /// Is over, and whether its person wants to come back as a new one.
    Over { rejoin: bool },
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It waits for the first message.
    Joining,
    /// It is in the room.
    In,
    /// It has lost its connection and wants to go on where it was.
    Resuming,
    /// It does nothing more.
    Over,
}

/// One client.
pub(crate) struct Session {
    pub(crate) person: usize,
    pub(crate) how: How,
    pub(crate) phase: Phase,
    pub(crate) connection: Option<ConnectionId>,
    /// When it began to wait for the first message.
    pub(crate) asked_at: Instant,
    /// Its participant's id.
    pub(crate) sid: Option<String>,
    /// When it last received a packet of each source.
    pub(crate) received: BTreeMap<u32, Instant>,
    pub(crate) sources: Vec<Source>,
    /// Tracks it said it does not want now.
    pub(crate) unwanted: BTreeSet<String>,
    transports: [Option<Transport>; 2],
    addresses: [SocketAddr; 2],
    downlink: Downlink,
    sections: Vec<Section>,
    offering: Offering,
    has_resumed: bool,
    /// Sources that are over.
    ended: Vec<u32>,
    /// Sources the server has refused, by the client's names.
    refused: Vec<String>,
    /// Tracks of others, and whose they are, by ids.
    others: BTreeMap<String, Vec<String>>,
    identities: BTreeMap<String, String>,
    certificate: Option<Arc<DtlsCertificate>>,
    versions: u64,
    ping_at: Instant,
    rng: StdRng,
}

/// Whether an offer is out, and whether another must follow.
#[derive(Default)]
struct Offering {
    id: u32,
    out: bool,
    again: bool,
}

impl Session {
    /// A client that has not asked to be let in yet. Its peer connections are seen at `addresses`.
    pub(crate) fn new(
        now: Instant,
        person: usize,
        how: How,
        addresses: [SocketAddr; 2],
        certificate: Option<Arc<DtlsCertificate>>,
        seed: u64,
    ) -> Self {
        Self {
            person,
            how,
            phase: Phase::Joining,
            connection: None,
            asked_at: now,
            sid: None,
            received: BTreeMap::new(),
            sources: Vec::new(),
            unwanted: BTreeSet::new(),
            transports: [None, None],
            addresses,
            downlink: Downlink::default(),
            sections: Vec::new(),
            offering: Offering::default(),
            has_resumed: false,
            ended: Vec::new(),
            refused: Vec::new(),
            others: BTreeMap::new(),
            identities: BTreeMap::new(),
            certificate,
            versions: 0,
            ping_at: now + PING_INTERVAL,
            rng: StdRng::seed_from_u64(seed),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The address of one of its peer connections; `None` while it is not used.
    pub(crate) fn address(&self, peer: usize) -> Option<SocketAddr> {
        self.transports[peer].as_ref().map(|transport| transport.address)
    }

    /// The node's ICE user fragment on the peer connection messages are sent and received on.
    pub(crate) fn data_ufrag(&self) -> Option<&str> {
        let peer = if self.how.dual { SUBSCRIBER } else { PUBLISHER };
        let transport = self.transports[peer]
            .as_ref()
            .filter(|transport| transport.is_ready())?;
        transport.remote.as_ref().map(|remote| remote.ufrag.as_str())
    }

    /// The user fragments of the other ends of its peer connections.
    pub(crate) fn remote_ufrags(&self) -> impl Iterator<Item = &str> {
        let remotes = self
            .transports
            .iter()
            .flatten()
            .filter_map(|transport| transport.remote.as_ref());
        remotes.map(|remote| remote.ufrag.as_str())
    }

    /// Whether one of its peer connections is the other end of what has this user fragment.
    pub(crate) fn is_at(&self, ufrag: &str) -> bool {
        self.remote_ufrags().any(|remote| remote == ufrag)
    }

    /// Appears somewhere else.
    pub(crate) fn rebind(&mut self) {
        self.transports.iter_mut().flatten().for_each(Transport::rebind);
    }

    /// Looks at the clock.
    pub(crate) fn tick(&mut self, now: Instant, clock: &Clock, out: &mut Vec<Effect>) {
        for peer in [PUBLISHER, SUBSCRIBER] {
            let Some(transport) = &mut self.transports[peer] else {
                continue;
            };
            let mut datagrams = Vec::new();
            transport.tick(now, &mut self.rng, &mut datagrams);
            if transport.is_ready() && peer == PUBLISHER {
                let (rng, transport_sequence) = (&mut self.rng, &mut transport.transport_sequence);
                let mut probes = Vec::new();
                let mut through = Through {
                    now,
                    rng,
                    clock,
                    transport_sequence,
                    out: &mut datagrams,
                    probes: &mut probes,
                };
                self.sources.iter_mut().for_each(|source| source.tick(&mut through));
                out.extend(
                    probes
                        .into_iter()
                        .map(|(source, encoding, number)| Effect::Probe(source, encoding, number)),
                );
            }
            let receives = (peer == SUBSCRIBER) == self.how.dual;
            if transport.is_ready() && receives {
                self.downlink.tick(now, &mut datagrams);
            }
            out.extend(datagrams.into_iter().map(|bytes| Effect::Send(peer, bytes)));
        }
        if self.ping_at <= now && self.phase == Phase::In {
            self.ping_at = now + PING_INTERVAL;
            let timestamp = now.saturating_duration_since(clock.origin).as_millis() as i64;
            out.push(say(signal_request::Message::Ping(timestamp)));
            out.push(say(signal_request::Message::PingReq(Ping { timestamp, rtt: 0 })));
        }
    }

    /// A datagram came. Returns what it carries when it is media.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        peer: usize,
        bytes: &[u8],
        clock: &Clock,
        out: &mut Vec<Effect>,
    ) -> Option<Received> {
        let transport = self.transports[peer].as_mut()?;
        let mut datagrams = Vec::new();
        let arrived = transport.receive(now, bytes, &mut datagrams);
        let received = match arrived {
            Arrived::Rtp => RtpPacket::parse(bytes)
                .ok()
                .and_then(|packet| self.downlink.receive(now, &packet)),
            Arrived::Rtcp => {
                self.receive_rtcp(now, peer, bytes, clock, &mut datagrams);
                None
            }
            Arrived::Nothing => None,
        };
        if let Some(received) = &received {
            self.received.insert(received.stamp.source, now);
        }
        out.extend(datagrams.into_iter().map(|bytes| Effect::Send(peer, bytes)));
        received
    }

    fn receive_rtcp(&mut self, now: Instant, peer: usize, bytes: &[u8], clock: &Clock, out: &mut Vec<Vec<u8>>) {
        let Some(transport) = &mut self.transports[peer] else {
            return;
        };
        let (rng, transport_sequence) = (&mut self.rng, &mut transport.transport_sequence);
        let mut through = Through {
            now,
            rng,
            clock,
            transport_sequence,
            out,
            probes: &mut Vec::new(),
        };
        for packet in RtcpPacket::compound(bytes).flatten() {
            let mut key_frame = |ssrc: Ssrc| self.sources.iter_mut().for_each(|source| source.want_key_frame(ssrc));
            match packet {
                RtcpPacket::Pli(pli) => key_frame(pli.media),
                RtcpPacket::Fir(fir) => fir.entries().for_each(|entry| key_frame(entry.media)),
                RtcpPacket::ReceiverReport(report) => {
                    for block in report.blocks.iter() {
                        self.sources
                            .iter_mut()
                            .for_each(|source| source.reported_on(block.ssrc));
                    }
                }
                RtcpPacket::Nack(nack) => {
                    let answering = self.sources.iter_mut().filter(|source| !source.muted);
                    answering.for_each(|source| source.resend(&mut through, nack.media, nack.sequences()));
                }
                _ => {}
            }
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        let digest = self
            .certificate
            .as_ref()
            .map_or_else(|| vec![0xc1; 32], |certificate| certificate.fingerprint());
        Fingerprint {
            hash: HashFunction::Sha256,
            digest,
        }
    }
}

fn say(message: signal_request::Message) -> Effect {
    Effect::Say(Box::new(message), Vec::new())
}
