//! A node and its peers, with a clock that only moves when told.

use std::time::{Duration, Instant};

use dataplane::{Clock, DataPlane, Egress, Ingress, LegId, Path, Protection};
use southbound::{
    Channel, Command, DtlsRole, Encoding, Notice, OpenTransport, PayloadFormat, Publication, Subscription,
    SubscriptionId, SubscriptionSettings, TrackId,
};
use virtual_device::Plane;
use wire::rtcp::RtcpWriter;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, NtpTime, Rid, Ssrc};

pub(super) use super::packets::*;
pub(super) use super::peer::*;
use crate::channels::Channels;
use crate::{Agent, Certificate, Config, Counter};

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) start: Instant,
    pub(super) agent: Agent,
    pub(super) model: Plane,
    pub(super) notices: Vec<Notice>,
    /// Every command so far.
    pub(super) commands: Vec<Command>,
    pub(super) peers: Vec<Peer>,
    /// Whether handshakes are computed as soon as they can be.
    pub(super) idle_hands: bool,
    /// Whether receivers learn of tracks by their packets.
    pub(super) fills: bool,
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
            commands: Vec::new(),
            peers: Vec::new(),
            idle_hands: true,
            fills: false,
        };
        world.advance(0);
        world
    }

    pub(super) fn command(&mut self, command: Command) {
        self.commands.push(command.clone());
        self.agent
            .command(self.now, command, &mut self.model, &mut self.notices);
        self.settle();
    }

    /// A peer whose transport is open and described, and that has sent nothing yet. `role` is ours.
    pub(super) fn add_peer(&mut self, role: DtlsRole, channels: Vec<Channel>) -> usize {
        self.add_peer_with(role, channels, ExtensionMap::default())
    }

    fn add_peer_with(&mut self, role: DtlsRole, channels: Vec<Channel>, extensions_out: ExtensionMap) -> usize {
        let peer = self.open_peer(role, channels, extensions_out);
        let remote = self.peers[peer].description(role);
        let transport = self.peers[peer].transport;
        self.command(Command::Connect { transport, remote });
        peer
    }

    /// A peer whose transport is open, and that has not described itself.
    fn open_peer(&mut self, role: DtlsRole, channels: Vec<Channel>, extensions_out: ExtensionMap) -> usize {
        let index = self.peers.len();
        let mut peer = Peer::new(index, role, self.now);
        peer.extensions_out = extensions_out;
        self.command(Command::Open(OpenTransport {
            transport: peer.transport,
            local: peer.theirs.clone(),
            channels,
        }));
        self.peers.push(peer);
        index
    }

    /// A peer that is connected.
    pub(super) fn connected_peer(&mut self) -> usize {
        self.connected_peer_with(ExtensionMap::default())
    }

    /// A peer that is connected and reports on received packets.
    pub(super) fn reporting_peer(&mut self) -> usize {
        self.connected_peer_with(extensions())
    }

    fn connected_peer_with(&mut self, extensions_out: ExtensionMap) -> usize {
        let peer = self.add_peer_with(DtlsRole::Server, Vec::new(), extensions_out);
        self.check(peer, true);
        self.start_dtls(peer);
        self.advance(10);
        assert!(self.peers[peer].keys.is_some(), "the handshake is over");
        peer
    }

    /// A peer whose handshake begins, and that has channels of its own. `role` is ours.
    pub(super) fn add_talker(&mut self, role: DtlsRole, ours: Vec<Channel>, theirs: Vec<Channel>) -> usize {
        let peer = self.add_peer(role, ours);
        let (their_role, now) = (
            match role {
                DtlsRole::Server => DtlsRole::Client,
                DtlsRole::Client => DtlsRole::Server,
            },
            self.now,
        );
        self.peers[peer].channels = Some(Channels::new(theirs, now));
        self.peers[peer].with_channels(now, |channels, effects| channels.start(their_role, 5000, now, effects));
        self.check(peer, true);
        self.start_dtls(peer);
        peer
    }

    /// A peer without encryption, and without transport-wide sequence numbers in its packets.
    pub(super) fn clear_peer(&mut self) -> usize {
        self.clear_peer_with(ExtensionMap::default())
    }

    /// The same with reports on received packets.
    pub(super) fn clear_reporting_peer(&mut self) -> usize {
        self.clear_peer_with(extensions())
    }

    fn clear_peer_with(&mut self, extensions_out: ExtensionMap) -> usize {
        let peer = self.open_peer(DtlsRole::Server, Vec::new(), extensions_out);
        let mut remote = self.peers[peer].description(DtlsRole::Server);
        remote.fingerprints.clear();
        remote.extensions_in = ExtensionMap::default();
        remote.extensions_in.insert(ExtensionKind::Mid, 1).unwrap();
        let transport = self.peers[peer].transport;
        self.command(Command::Connect { transport, remote });
        self.check(peer, true);
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
                .chain(self.agent.poll_timeout())
                .chain(self.model.next_probe());
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
        self.model.send_probes(self.now);
        loop {
            let mut idle = true;
            while let Some(event) = self.model.poll() {
                idle = false;
                self.agent.event(self.now, event, &mut self.model, &mut self.notices);
            }
            idle &= !self.idle_hands
                || !self
                    .agent
                    .compute_handshakes(self.now, &mut self.model, &mut self.notices);
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

    pub(super) fn model_counters(&mut self) -> dataplane::Counters {
        self.model.counters()
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The keys the tables have for a peer's leg.
    pub(super) fn protection(&self, leg: u32) -> Protection {
        self.model.leg(LegId(leg)).expect("the leg is there").protection.clone()
    }

    /// Closes every transport and checks that no state is left.
    pub(super) fn close_all(&mut self) {
        for index in 0..self.peers.len() {
            self.command(Command::Close {
                transport: self.peers[index].transport,
            });
        }
        assert!(self.model.is_empty(), "entries are left: {:?}", self.model.len());
        assert!(self.agent.is_idle(), "the agent still has state");
    }

    /// The peer publishes VP8 with these rids (or one encoding without), and audio as mid 1.
    pub(super) fn publish_video(&mut self, peer: usize, rids: &[&str]) -> TrackId {
        self.publish_video_as(peer, rids, vp8())
    }

    pub(super) fn publish_video_as(&mut self, peer: usize, rids: &[&str], format: PayloadFormat) -> TrackId {
        let track = TrackId(100 + peer as u64);
        let encoding = |(index, rid): (usize, Option<&str>)| Encoding {
            rid: rid.and_then(Rid::new),
            ssrc: None,
            rtx: None,
            width: 320 << index,
            height: 180 << index,
            layers: Vec::new(),
        };
        let encodings = match rids {
            [] => vec![encoding((0, None))],
            rids => rids.iter().map(|rid| Some(*rid)).enumerate().map(encoding).collect(),
        };
        self.command(Command::Publish(Publication {
            track,
            transport: self.peers[peer].transport,
            kind: MediaKind::Video,
            mid: Mid::new("0"),
            formats: vec![format],
            encodings,
            muted: false,
            source: Default::default(),
        }));
        track
    }

    pub(super) fn publish_audio(&mut self, peer: usize) -> TrackId {
        let format = PayloadFormat {
            payload_type: payload_type(OPUS),
            codec: Codec::Opus,
            rtx: None,
            nack: false,
        };
        self.publish_audio_as(peer, vec![format])
    }

    /// The peer publishes audio in these formats as mid 1.
    pub(super) fn publish_audio_as(&mut self, peer: usize, formats: Vec<PayloadFormat>) -> TrackId {
        let track = TrackId(200 + peer as u64);
        let encoding = Encoding {
            rid: None,
            ssrc: Some(Ssrc(900)),
            rtx: None,
            width: 0,
            height: 0,
            layers: Vec::new(),
        };
        self.command(Command::Publish(Publication {
            track,
            transport: self.peers[peer].transport,
            kind: MediaKind::Audio,
            mid: Mid::new("1"),
            formats,
            encodings: vec![encoding],
            muted: false,
            source: Default::default(),
        }));
        track
    }

    pub(super) fn subscribe(
        &mut self,
        peer: usize,
        track: TrackId,
        ssrc: u32,
        settings: SubscriptionSettings,
    ) -> SubscriptionId {
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
        self.subscribe_as(peer, track, ssrc, format, settings)
    }

    pub(super) fn subscribe_as(
        &mut self,
        peer: usize,
        track: TrackId,
        ssrc: u32,
        format: PayloadFormat,
        settings: SubscriptionSettings,
    ) -> SubscriptionId {
        let subscription = SubscriptionId(u64::from(ssrc));
        self.command(Command::Subscribe(Subscription {
            subscription,
            transport: self.peers[peer].transport,
            track,
            ssrc: Ssrc(ssrc),
            rtx: format.rtx.map(|_| Ssrc(ssrc + 1)),
            mid: None,
            formats: vec![(format.payload_type, format)],
            settings,
            fill: self.fills,
        }));
        subscription
    }

    /// The peer sends RTCP.
    pub(super) fn send_rtcp(&mut self, peer: usize, write: impl FnOnce(&mut RtcpWriter<'_>)) {
        let mut compound = Vec::new();
        let mut writer = RtcpWriter::receiver_report(&mut compound, Ssrc(1), "peer", &[]);
        write(&mut writer);
        self.deliver(self.peers[peer].path, compound);
    }
}
