//! One meeting under way.

use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config, Receiver};
use dataplane::{Clock, DataPlane, Egress, Ingress, LegId, Path};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{
    Command, DtlsRole, Encoding, IceCredentials, Notice, OpenTransport, PayloadFormat, Publication, RemoteTransport,
    Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use virtual_device::Plane;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PacketKind, PayloadType, Ssrc};

use super::downlink::{Downlink, NUMBER_EXTENSION};
use super::sender::Sender;
use super::{Meeting, Outcome};

/// Between two checks that a path is still consented to.
const CHECK: Duration = Duration::from_secs(5);
/// Between two looks at how receivers do.
const LOOK: Duration = Duration::from_millis(200);
/// SSRCs of sent streams: audio is even in the tens.
const SOUND_SSRC: u32 = 5_000;
const PICTURE_SSRC: u32 = 6_000;

pub(super) struct Call {
    agent: Agent,
    plane: Plane,
    start: Instant,
    now: Instant,
    length: Duration,
    notices: Vec<Notice>,
    senders: Vec<Sender>,
    downlinks: Vec<Downlink>,
    check_at: Instant,
    look_at: Instant,
    histories: Vec<Vec<(Duration, Receiver)>>,
}

impl Call {
    pub(super) fn new(meeting: &Meeting) -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "an epoch is needed; only differences to it are used"
        )]
        let start = Instant::now();
        let clock = Clock {
            origin: start,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let certificate = Certificate::generate().expect("there is randomness");
        let mut config = Config::new(vec![path(0).local], certificate);
        config.clear_rtp = true;
        let ways = meeting.receivers.iter().map(|(_, way)| way.clone());
        let mut call = Call {
            agent: Agent::new(config, clock, 1),
            plane: Plane::new(clock),
            start,
            now: start,
            length: meeting.length,
            notices: Vec::new(),
            senders: (0..meeting.senders)
                .map(|index| Sender::new(ssrc(index), meeting.film, meeting.key_factor, start))
                .collect(),
            downlinks: ways.map(|way| Downlink::new(way, start)).collect(),
            check_at: start + CHECK,
            look_at: start,
            histories: vec![Vec::new(); meeting.receivers.len()],
        };
        for peer in 0..call.peers() {
            call.connect(peer);
        }
        for sender in 0..meeting.senders {
            call.command(Command::Publish(camera(sender)));
            call.command(Command::Publish(microphone(sender)));
        }
        for (index, (sizes, _)) in meeting.receivers.iter().enumerate() {
            for (sender, size) in sizes.iter().enumerate() {
                call.command(Command::Subscribe(to_sound(meeting, index, sender)));
                call.command(Command::Subscribe(to_picture(meeting, index, sender, *size)));
            }
        }
        call
    }

    pub(super) fn play(mut self) -> Vec<Outcome> {
        let end = self.start + self.length;
        while self.now < end {
            self.step();
            let senders = self.senders.iter().map(Sender::next);
            let downlinks = self.downlinks.iter().map(|downlink| downlink.link.next_report());
            let requests = self.downlinks.iter().filter_map(Downlink::next_request);
            let others = [self.agent.poll_timeout(), self.plane.next_probe(), Some(self.look_at)];
            let others = requests.chain(others.into_iter().flatten());
            let next = senders.chain(downlinks).chain(others).min();
            self.now = next.unwrap_or(end).max(self.now);
        }
        let count = self.senders.len();
        let outcome = |(index, downlink): (usize, &Downlink)| {
            let leg = LegId((count + index) as u32 + 1);
            let written = self.plane.written.iter().filter(|(_, _, replica)| replica.leg == leg);
            Outcome {
                sent: downlink.sent.iter().map(|bytes| bytes * 8).collect(),
                longest_silence: downlink.longest_silence,
                history: self.histories[index].clone(),
                frames: (0..count).map(|sender| downlink.frames(picture_ssrc(sender))).collect(),
                dropped: downlink.link.dropped,
                sent_again: downlink.sent_again,
                state: self.agent.receiver(transport(count + index)).expect("it receives"),
                written: written
                    .map(|(at, id, replica)| (*at - self.start, *id, replica.clone()))
                    .collect(),
            }
        };
        self.downlinks.iter().enumerate().map(outcome).collect()
    }

    fn peers(&self) -> usize {
        self.senders.len() + self.downlinks.len()
    }

    /// Everything that is due.
    fn step(&mut self) {
        let now = self.now;
        if now >= self.check_at {
            self.check_at = now + CHECK;
            (0..self.peers()).for_each(|peer| self.check(peer));
        }
        if now >= self.look_at {
            self.look_at = now + LOOK;
            self.look();
        }
        self.agent.handle_timeout(now, &mut self.plane, &mut self.notices);
        self.plane.send_probes(now);
        self.settle();
        for index in 0..self.senders.len() {
            let mut packets = Vec::new();
            self.senders[index].send(now, &mut packets);
            packets.iter().for_each(|packet| self.deliver(index, packet));
        }
        for index in 0..self.downlinks.len() {
            let mut reports = Vec::new();
            self.downlinks[index].link.report(now, &mut reports);
            self.downlinks[index].requests(now, &mut reports);
            let peer = self.senders.len() + index;
            reports.iter().for_each(|report| self.deliver(peer, report));
        }
    }

    fn look(&mut self) {
        let at = self.now - self.start;
        for (index, history) in self.histories.iter_mut().enumerate() {
            let state = self.agent.receiver(transport(self.senders.len() + index));
            history.extend(state.map(|state| (at, state)));
        }
    }

    fn connect(&mut self, peer: usize) {
        let (local, remote) = (credentials("node", peer), credentials("peer", peer));
        self.command(Command::Open(OpenTransport {
            transport: transport(peer),
            local,
            channels: Vec::new(),
        }));
        let mut extensions_out = ExtensionMap::default();
        extensions_out
            .insert(ExtensionKind::TransportSequence, NUMBER_EXTENSION)
            .expect("an id of one byte");
        self.command(Command::Connect {
            transport: transport(peer),
            remote: RemoteTransport {
                credentials: remote,
                fingerprints: Vec::new(),
                dtls: DtlsRole::Server,
                extensions_in: ExtensionMap::default(),
                extensions_out,
                sctp_port: None,
            },
        });
        self.check(peer);
    }

    /// The peer proves that it is there.
    fn check(&mut self, peer: usize) {
        let (local, remote) = (credentials("node", peer), credentials("peer", peer));
        let username = format!("{}:{}", local.ufrag, remote.ufrag);
        let check = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, true);
        let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
        let mut bytes = vec![0; 256];
        let len = check
            .to_bytes(Some(local.password.as_bytes()), &mut bytes, hmac)
            .expect("a check fits");
        self.deliver(peer, &bytes[..len]);
    }

    fn command(&mut self, command: Command) {
        self.agent
            .command(self.now, command, &mut self.plane, &mut self.notices);
        self.settle();
    }

    fn deliver(&mut self, peer: usize, bytes: &[u8]) {
        let mut out = Vec::new();
        let ingress = Ingress {
            path: path(peer),
            bytes,
        };
        self.plane.packet(self.now, ingress, &mut out);
        self.route(out);
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            while let Some(event) = self.plane.poll() {
                self.agent.event(self.now, event, &mut self.plane, &mut self.notices);
            }
            let injected = self.plane.take_injected();
            if injected.is_empty() {
                return;
            }
            self.route(injected);
        }
    }

    fn route(&mut self, egress: Vec<Egress>) {
        for Egress { path, bytes, .. } in egress {
            let peer = peer_at(&path);
            match (wire::classify(&bytes), peer.checked_sub(self.senders.len())) {
                (PacketKind::Rtp, Some(index)) => {
                    let sound = bytes[1] & 0x7f == 111;
                    self.downlinks[index].take(self.now, &bytes, sound);
                }
                (PacketKind::Stun, _) => {
                    let password = credentials("peer", peer_at(&path)).password;
                    if let Some(bytes) = virtual_device::answer(&bytes, path.local, &password) {
                        let ingress = Ingress { path, bytes: &bytes };
                        self.plane.packet(self.now, ingress, &mut Vec::new());
                    }
                }
                (PacketKind::Rtcp, None) => self.senders[peer].receive_rtcp(self.now, &bytes),
                _ => {}
            }
        }
    }
}

const PORT: u16 = 1_000;

fn path(peer: usize) -> Path {
    Path {
        local: ([192, 0, 2, 1], 7882).into(),
        remote: ([198, 51, 100, 1], PORT + peer as u16).into(),
    }
}

fn peer_at(path: &Path) -> usize {
    usize::from(path.remote.port() - PORT)
}

fn transport(peer: usize) -> TransportId {
    TransportId(peer as u64 + 1)
}

/// Of a sender's smallest size.
fn ssrc(sender: usize) -> Ssrc {
    Ssrc(10 * (sender as u32 + 1))
}

fn credentials(side: &str, peer: usize) -> IceCredentials {
    IceCredentials {
        ufrag: format!("{side}{peer}"),
        password: format!("{side}{peer}-password-of-22-characters"),
    }
}

fn format(codec: Codec, value: u8, rtx: Option<u8>) -> PayloadFormat {
    let payload_type = |value| PayloadType::new(value).expect("seven bits");
    PayloadFormat {
        payload_type: payload_type(value),
        codec,
        rtx: rtx.map(payload_type),
        nack: rtx.is_some(),
    }
}

fn encoding(ssrc: Ssrc, width: u32, height: u32) -> Encoding {
    Encoding {
        rid: None,
        ssrc: Some(ssrc),
        rtx: None,
        width,
        height,
        layers: Vec::new(),
    }
}

fn picture_track(sender: usize) -> TrackId {
    TrackId(100 + sender as u64)
}

fn sound_track(sender: usize) -> TrackId {
    TrackId(200 + sender as u64)
}

fn camera(sender: usize) -> Publication {
    let sizes = (0..3).map(|index| encoding(Ssrc(ssrc(sender).0 + index), 320 << index, 180 << index));
    Publication {
        track: picture_track(sender),
        transport: transport(sender),
        kind: MediaKind::Video,
        mid: None,
        formats: vec![format(Codec::Vp8, 96, Some(97))],
        encodings: sizes.collect(),
        muted: false,
        source: TrackSource::Camera,
    }
}

fn microphone(sender: usize) -> Publication {
    Publication {
        track: sound_track(sender),
        kind: MediaKind::Audio,
        formats: vec![format(Codec::Opus, 111, None)],
        encodings: vec![encoding(Ssrc(ssrc(sender).0 + 3), 0, 0)],
        ..camera(sender)
    }
}

fn picture_ssrc(sender: usize) -> u32 {
    PICTURE_SSRC + 2 * sender as u32
}

fn to_picture(meeting: &Meeting, receiver: usize, sender: usize, size: (u16, u16)) -> Subscription {
    let vp8 = format(Codec::Vp8, 96, Some(97));
    let ssrc = picture_ssrc(sender);
    Subscription {
        subscription: SubscriptionId(u64::from(ssrc) + 100 * receiver as u64),
        transport: transport(meeting.senders + receiver),
        track: picture_track(sender),
        ssrc: Ssrc(ssrc),
        rtx: Some(Ssrc(ssrc + 1)),
        mid: None,
        formats: vec![(vp8.payload_type, vp8)],
        settings: SubscriptionSettings {
            size,
            ..SubscriptionSettings::BEST
        },
        fill: false,
    }
}

fn to_sound(meeting: &Meeting, receiver: usize, sender: usize) -> Subscription {
    let opus = format(Codec::Opus, 111, None);
    let ssrc = SOUND_SSRC + sender as u32;
    Subscription {
        subscription: SubscriptionId(u64::from(ssrc) + 100 * receiver as u64),
        track: sound_track(sender),
        ssrc: Ssrc(ssrc),
        rtx: None,
        formats: vec![(opus.payload_type, opus)],
        ..to_picture(meeting, receiver, sender, (0, 0))
    }
}
