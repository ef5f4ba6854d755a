//! A node and its peers, with a clock that only moves when told.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{
    Capabilities, Clock, DataPlane, Egress, Event, Ingress, Inject, Leg, LegId, Model, Path, Protection, Stream,
    StreamKey, Update, WriteError,
};
use dimpl::{Dtls, Output};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{
    Channel, Command, DtlsRole, Encoding, Fingerprint, HashFunction, IceCredentials, Notice, OpenTransport,
    PayloadFormat, Publication, RemoteTransport, Subscription, SubscriptionId, TrackId, TransportId, Wanted,
};
use wire::rtcp::{RtcpPacket, RtcpWriter};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, NtpTime, PayloadType, Rid, RtpTimestamp, Ssrc};

use crate::channels::{self, Channels};
use crate::{Agent, Certificate, Config, Counter};

pub(super) const VP8: u8 = 96;
pub(super) const VP8_RTX: u8 = 97;
pub(super) const OPUS: u8 = 111;

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) start: Instant,
    pub(super) agent: Agent,
    pub(super) model: Plane,
    pub(super) notices: Vec<Notice>,
    pub(super) peers: Vec<Peer>,
}

/// The model, and what was written to it: tests look at entries.
pub(super) struct Plane {
    model: Model,
    legs: BTreeMap<LegId, Leg>,
    streams: BTreeMap<StreamKey, Stream>,
}

impl Plane {
    fn new(clock: Clock) -> Self {
        Plane {
            model: Model::new(clock),
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
        }
    }

    pub(super) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(&id)
    }

    pub(super) fn stream(&self, key: StreamKey) -> Option<&Stream> {
        self.streams.get(&key)
    }
}

impl Deref for Plane {
    type Target = Model;
    fn deref(&self) -> &Model {
        &self.model
    }
}

impl DerefMut for Plane {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.model.write(now, update.clone())?;
        match update {
            Update::SetLeg(id, leg) => drop(self.legs.insert(id, leg)),
            Update::RemoveLeg(id) => drop(self.legs.remove(&id)),
            Update::SetStream(key, stream) => drop(self.streams.insert(key, stream)),
            Update::RemoveStream(key) => drop(self.streams.remove(&key)),
            Update::SetReplica(..) | Update::RemoveReplica(_) => {}
        }
        Ok(())
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.model.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.model.poll()
    }

    fn counters(&mut self) -> dataplane::Counters {
        self.model.counters()
    }
}

/// A peer with ICE, DTLS and SCTP of its own.
pub(super) struct Peer {
    pub(super) transport: TransportId,
    pub(super) path: Path,
    pub(super) ours: IceCredentials,
    pub(super) theirs: IceCredentials,
    certificate: dimpl::DtlsCertificate,
    dtls: Dtls,
    pub(super) keys: Option<(Vec<u8>, dimpl::SrtpProfile)>,
    pub(super) channels: Option<Channels>,
    pub(super) opened: Vec<Arc<str>>,
    pub(super) received: Vec<(Arc<str>, Arc<[u8]>)>,
    pub(super) stun: Vec<Vec<u8>>,
    pub(super) rtp: Vec<Vec<u8>>,
    pub(super) rtcp: Vec<(Instant, Vec<u8>)>,
    pub(super) goodbye: bool,
    out: VecDeque<Vec<u8>>,
    next: Option<Instant>,
    /// It gets no DTLS while true.
    pub(super) deaf: bool,
    /// What is done to the DTLS it sends.
    pub(super) tamper: Option<Box<dyn FnMut(Vec<u8>) -> Vec<u8>>>,
}

pub(super) fn credentials(name: &str) -> IceCredentials {
    IceCredentials {
        ufrag: name.into(),
        password: format!("{name}-password-of-22-characters"),
    }
}

pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(configure: impl FnOnce(&mut Config)) -> Self {
        let start = Instant::now();
        let clock = Clock {
            origin: start,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let mut config = Config::new(
            vec!["192.0.2.1:7882".parse().unwrap()],
            Certificate::generate().unwrap(),
        );
        configure(&mut config);
        let mut world = World {
            now: start,
            start,
            agent: Agent::new(config, clock, 1),
            model: Plane::new(clock),
            notices: Vec::new(),
            peers: Vec::new(),
        };
        world.advance(0);
        world
    }

    pub(super) fn command(&mut self, command: Command) {
        self.agent
            .command(self.now, command, &mut self.model, &mut self.notices);
        self.settle();
    }

    /// A peer whose transport is open and described, and that has said nothing yet. `role` is ours.
    pub(super) fn add_peer(&mut self, role: DtlsRole, channels: Vec<Channel>) -> usize {
        let index = self.peers.len();
        let peer = Peer::new(index, role, self.now);
        self.command(Command::Open(OpenTransport {
            transport: peer.transport,
            local: peer.theirs.clone(),
            channels,
        }));
        let remote = peer.description(role);
        let transport = peer.transport;
        self.peers.push(peer);
        self.command(Command::Connect { transport, remote });
        index
    }

    /// A peer that is connected.
    pub(super) fn connected_peer(&mut self) -> usize {
        let peer = self.add_peer(DtlsRole::Server, Vec::new());
        self.check(peer, true);
        self.start_dtls(peer);
        self.advance(10);
        assert!(self.peers[peer].keys.is_some(), "the handshake is over");
        peer
    }

    /// The peer checks its path.
    pub(super) fn check(&mut self, peer: usize, nominate: bool) {
        let bytes = self.peers[peer].request(nominate);
        self.deliver(self.peers[peer].path, bytes);
    }

    /// The peer sends its first flight.
    pub(super) fn start_dtls(&mut self, peer: usize) {
        self.peers[peer].tick(self.now);
        self.settle();
    }

    /// A datagram arrives at the node.
    pub(super) fn deliver(&mut self, path: Path, bytes: Vec<u8>) {
        self.hand_in(path, &bytes);
        self.settle();
    }

    fn hand_in(&mut self, path: Path, bytes: &[u8]) {
        let mut out = Vec::new();
        self.model.packet(self.now, Ingress { path, bytes }, &mut out);
        self.route(out);
    }

    /// Lets time pass, with peers that prove they are there every two seconds.
    pub(super) fn advance(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        loop {
            self.settle();
            let timeouts = self
                .peers
                .iter()
                .filter_map(|peer| peer.next)
                .chain(self.agent.poll_timeout());
            let Some(next) = timeouts.min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.agent.handle_timeout(self.now, &mut self.model, &mut self.notices);
            for index in 0..self.peers.len() {
                if self.peers[index].next.is_some_and(|next| next <= self.now) {
                    self.peers[index].tick(self.now);
                }
            }
        }
        self.now = end;
        self.settle();
    }

    /// Lets time pass while every peer keeps proving itself.
    pub(super) fn live(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.now < end {
            for peer in 0..self.peers.len() {
                self.check(peer, false);
            }
            let step = (end - self.now).min(Duration::from_secs(2));
            self.advance(step.as_millis() as u64);
        }
    }

    pub(super) fn settle(&mut self) {
        loop {
            let mut idle = true;
            while let Some(event) = self.model.poll() {
                idle = false;
                self.agent.event(self.now, event, &mut self.model, &mut self.notices);
            }
            let injected = self.model.take_injected();
            idle &= injected.is_empty();
            self.route(injected);
            for index in 0..self.peers.len() {
                while let Some(datagram) = self.peers[index].out.pop_front() {
                    idle = false;
                    self.hand_in(self.peers[index].path, &datagram);
                }
            }
            if idle {
                return;
            }
        }
    }

    fn route(&mut self, egress: Vec<Egress>) {
        for Egress { path, bytes, .. } in egress {
            if let Some(peer) = self.peers.iter_mut().find(|peer| peer.path == path) {
                peer.receive(self.now, bytes);
            }
        }
    }

    pub(super) fn count(&self, counter: Counter) -> u64 {
        self.agent.counters()[counter]
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The keys the tables have for a peer's leg.
    pub(super) fn protection(&self, leg: u32) -> Protection {
        self.model.leg(LegId(leg)).expect("the leg is there").protection.clone()
    }

    /// Closes every transport and sees that nothing is left.
    pub(super) fn close_all(&mut self) {
        for index in 0..self.peers.len() {
            self.command(Command::Close {
                transport: self.peers[index].transport,
            });
        }
        assert!(self.model.is_empty(), "entries are left: {:?}", self.model.len());
        assert!(self.agent.is_idle(), "the agent remembers somebody");
    }

    /// The peer publishes VP8 with these rids (or one encoding without), and audio as mid 1.
    pub(super) fn publish_video(&mut self, peer: usize, rids: &[&str]) -> TrackId {
        let track = TrackId(100 + peer as u64);
        let encoding = |rid: Option<&str>| Encoding {
            rid: rid.and_then(Rid::new),
            ssrc: None,
            rtx: None,
            width: 0,
            height: 0,
        };
        let encodings = match rids {
            [] => vec![encoding(None)],
            rids => rids.iter().map(|rid| encoding(Some(rid))).collect(),
        };
        self.command(Command::Publish(Publication {
            track,
            transport: self.peers[peer].transport,
            kind: MediaKind::Video,
            mid: Mid::new("0"),
            formats: vec![vp8()],
            encodings,
            muted: false,
        }));
        track
    }

    pub(super) fn publish_audio(&mut self, peer: usize) -> TrackId {
        let track = TrackId(200 + peer as u64);
        let encoding = Encoding {
            rid: None,
            ssrc: Some(Ssrc(900)),
            rtx: None,
            width: 0,
            height: 0,
        };
        let format = PayloadFormat {
            payload_type: payload_type(OPUS),
            codec: Codec::Opus,
            rtx: None,
            nack: false,
        };
        self.command(Command::Publish(Publication {
            track,
            transport: self.peers[peer].transport,
            kind: MediaKind::Audio,
            mid: Mid::new("1"),
            formats: vec![format],
            encodings: vec![encoding],
            muted: false,
        }));
        track
    }

    pub(super) fn subscribe(&mut self, peer: usize, track: TrackId, ssrc: u32, wanted: Wanted) -> SubscriptionId {
        let subscription = SubscriptionId(u64::from(ssrc));
        let format = if track.0 < 200 {
            vp8()
        } else {
            PayloadFormat {
                payload_type: payload_type(OPUS),
                codec: Codec::Opus,
                rtx: None,
                nack: false,
            }
        };
        self.command(Command::Subscribe(Subscription {
            subscription,
            transport: self.peers[peer].transport,
            track,
            ssrc: Ssrc(ssrc),
            rtx: format.rtx.map(|_| Ssrc(ssrc + 1)),
            mid: None,
            formats: vec![(format.payload_type, format)],
            wanted,
        }));
        subscription
    }

    /// The peer sends one packet.
    pub(super) fn send(&mut self, peer: usize, packet: Packet<'_>) {
        self.deliver(self.peers[peer].path, packet.bytes());
    }

    /// The peer sends RTCP.
    pub(super) fn send_rtcp(&mut self, peer: usize, write: impl FnOnce(&mut RtcpWriter<'_>)) {
        let mut compound = Vec::new();
        let mut writer = RtcpWriter::receiver_report(&mut compound, Ssrc(1), "peer", &[]);
        write(&mut writer);
        self.deliver(self.peers[peer].path, compound);
    }
}

pub(super) const BEST: Wanted = Wanted {
    enabled: true,
    encoding_max: 9,
};

pub(super) fn vp8() -> PayloadFormat {
    PayloadFormat {
        payload_type: payload_type(VP8),
        codec: Codec::Vp8,
        rtx: Some(payload_type(VP8_RTX)),
        nack: true,
    }
}

pub(super) fn payload_type(value: u8) -> PayloadType {
    PayloadType::new(value).unwrap()
}

/// The header-extension ids everybody uses.
pub(super) fn extensions() -> ExtensionMap {
    let mut map = ExtensionMap::default();
    for (kind, id) in [
        (ExtensionKind::Mid, 1),
        (ExtensionKind::Rid, 2),
        (ExtensionKind::RepairedRid, 3),
        (ExtensionKind::TransportSequence, 4),
        (ExtensionKind::AudioLevel, 5),
    ] {
        map.insert(kind, id).unwrap();
    }
    map
}

/// One RTP packet as a publisher sends it.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) ssrc: u32,
    pub(super) payload_type: u8,
    pub(super) sequence: u16,
    pub(super) timestamp: u32,
    pub(super) mid: &'a str,
    pub(super) rid: &'a str,
    pub(super) repaired_rid: &'a str,
    pub(super) transport_sequence: Option<u16>,
    pub(super) level: Option<u8>,
    pub(super) payload: &'a [u8],
}

/// A VP8 payload that starts a key frame, and one that starts another frame.
pub(super) const KEY: &[u8] = &[0x10, 0x00, 0x00, 0x00];
pub(super) const DELTA: &[u8] = &[0x10, 0x01, 0x00, 0x00];

pub(super) fn video(ssrc: u32, sequence: u16, payload: &[u8]) -> Packet<'_> {
    Packet {
        ssrc,
        payload_type: VP8,
        sequence,
        timestamp: u32::from(sequence) * 3_000,
        mid: "0",
        rid: "",
        repaired_rid: "",
        transport_sequence: None,
        level: None,
        payload,
    }
}

pub(super) fn audio(sequence: u16, level: u8) -> Packet<'static> {
    Packet {
        ssrc: 900,
        payload_type: OPUS,
        sequence,
        timestamp: u32::from(sequence) * 960,
        mid: "1",
        level: Some(level),
        ..video(900, sequence, &[1, 2, 3])
    }
}

impl Packet<'_> {
    fn bytes(self) -> Vec<u8> {
        let mut elements: Vec<(u8, Vec<u8>)> = Vec::new();
        let texts = [(1, self.mid), (2, self.rid), (3, self.repaired_rid)];
        elements.extend(
            texts
                .iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(id, text)| (*id, text.as_bytes().into())),
        );
        elements.extend(self.transport_sequence.map(|number| (4, number.to_be_bytes().to_vec())));
        elements.extend(self.level.map(|level| (5, vec![0x80 | level])));
        let mut body: Vec<u8> = Vec::new();
        for (id, value) in elements {
            body.push(id << 4 | (value.len() as u8 - 1));
            body.extend(value);
        }
        body.resize(body.len().next_multiple_of(4), 0);
        let mut packet = vec![0x90, self.payload_type];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.timestamp.to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        packet.extend([0xbe, 0xde]);
        packet.extend((body.len() as u16 / 4).to_be_bytes());
        packet.extend(body);
        packet.extend(self.payload);
        packet
    }
}

impl Peer {
    fn new(index: usize, role: DtlsRole, now: Instant) -> Self {
        let certificate = dimpl::certificate::generate_self_signed_certificate().unwrap();
        let mut dtls = Dtls::new_12(Arc::new(dimpl::Config::default()), certificate.clone(), now);
        dtls.set_active(role == DtlsRole::Server);
        Peer {
            transport: TransportId(index as u64 + 1),
            path: Path {
                local: "192.0.2.1:7882".parse().unwrap(),
                remote: ([198, 51, 100, 1], 1_000 + index as u16).into(),
            },
            ours: credentials(&format!("peer{index}")),
            theirs: credentials(&format!("node{index}")),
            certificate,
            dtls,
            keys: None,
            channels: None,
            opened: Vec::new(),
            received: Vec::new(),
            stun: Vec::new(),
            rtp: Vec::new(),
            rtcp: Vec::new(),
            goodbye: false,
            out: VecDeque::new(),
            next: None,
            deaf: false,
            tamper: None,
        }
    }

    pub(super) fn description(&self, role: DtlsRole) -> RemoteTransport {
        RemoteTransport {
            credentials: self.ours.clone(),
            fingerprints: vec![Fingerprint {
                hash: HashFunction::Sha256,
                digest: self.certificate.fingerprint(),
            }],
            dtls: role,
            extensions_in: extensions(),
            extensions_out: ExtensionMap::default(),
            sctp_port: Some(5000),
        }
    }

    pub(super) fn request(&self, nominate: bool) -> Vec<u8> {
        let username = format!("{}:{}", self.theirs.ufrag, self.ours.ufrag);
        let message = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, nominate);
        let mut bytes = vec![0; 256];
        let len = message
            .to_bytes(Some(self.theirs.password.as_bytes()), &mut bytes, hmac)
            .unwrap();
        bytes.truncate(len);
        bytes
    }

    fn receive(&mut self, now: Instant, bytes: Vec<u8>) {
        match wire::classify(&bytes) {
            wire::PacketKind::Stun => self.stun.push(bytes),
            wire::PacketKind::Rtp => self.rtp.push(bytes),
            wire::PacketKind::Rtcp => self.rtcp.push((now, bytes)),
            wire::PacketKind::Dtls if !self.deaf => {
                self.dtls.handle_timeout(now).unwrap();
                if self.dtls.handle_packet(&bytes).is_ok() {
                    self.drain(now);
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, now: Instant) {
        let _ = self.dtls.handle_timeout(now);
        if let Some(channels) = &mut self.channels {
            let mut effects = Vec::new();
            channels.handle_timeout(now, &mut effects);
            self.run_channels(effects);
        }
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        let mut buffer = vec![0; 4_096];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Timeout(at) => {
                    let sctp = self.channels.as_ref().and_then(Channels::poll_timeout);
                    // The far future of an idle association is of no interest.
                    self.next = [Some(at), sctp]
                        .into_iter()
                        .flatten()
                        .min()
                        .map(|next| next.max(now + Duration::from_millis(1)));
                    return;
                }
                Output::Packet(packet) => {
                    let packet = packet.to_vec();
                    self.out.push_back(match &mut self.tamper {
                        Some(tamper) => tamper(packet),
                        None => packet,
                    });
                }
                Output::KeyingMaterial(material, profile) => self.keys = Some((material.to_vec(), profile)),
                Output::CloseNotify => self.goodbye = true,
                Output::ApplicationData(data) => {
                    let data = data.to_vec();
                    let Some(channels) = &mut self.channels else { continue };
                    let mut effects = Vec::new();
                    channels.receive(now, data, &mut effects);
                    self.run_channels(effects);
                }
                _ => {}
            }
        }
    }

    pub(super) fn run_channels(&mut self, effects: Vec<channels::Effect>) {
        for effect in effects {
            match effect {
                channels::Effect::Send(packet) => drop(self.dtls.send_application_data(&packet)),
                channels::Effect::Opened(label) => self.opened.push(label),
                channels::Effect::Received(label, payload) => self.received.push((label, payload)),
                channels::Effect::Count(_) | channels::Effect::Overflow => {}
            }
        }
    }

    /// Does something with the peer's channels.
    pub(super) fn with_channels(
        &mut self,
        now: Instant,
        action: impl FnOnce(&mut Channels, &mut Vec<channels::Effect>),
    ) {
        let mut effects = Vec::new();
        action(self.channels.as_mut().expect("the peer has channels"), &mut effects);
        self.run_channels(effects);
        self.drain(now);
    }

    /// The peer says goodbye.
    pub(super) fn hang_up(&mut self, now: Instant) {
        self.dtls.close().unwrap();
        self.drain(now);
    }

    /// Does something to each packet of RTCP the peer has received.
    pub(super) fn each_rtcp(&self, mut action: impl FnMut(Instant, RtcpPacket<'_>)) {
        for (at, compound) in &self.rtcp {
            for packet in RtcpPacket::compound(compound) {
                action(*at, packet.expect("we write correct RTCP"));
            }
        }
    }

    /// When each PLI for `ssrc` came since `start`, in milliseconds.
    pub(super) fn plis(&self, ssrc: u32, start: Instant) -> Vec<u128> {
        let mut plis = Vec::new();
        self.each_rtcp(|at, packet| {
            if at >= start && matches!(packet, RtcpPacket::Pli(pli) if pli.media == Ssrc(ssrc)) {
                plis.push((at - start).as_millis());
            }
        });
        plis
    }
}

/// A sender report as a publisher writes it, `seconds` into its life.
pub(super) fn sender_report(ssrc: u32, ntp: NtpTime, rtp: u32) -> Vec<u8> {
    let mut compound = Vec::new();
    let info = wire::rtcp::SenderInfo {
        ntp,
        rtp: RtpTimestamp(rtp),
        packets: 1,
        octets: 1,
    };
    RtcpWriter::sender_report(&mut compound, Ssrc(ssrc), "peer", &info, &[]);
    compound
}
