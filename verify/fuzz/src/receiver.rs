//! Reports of a receiver: for any of them, another receiver's packets stay the same.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config, Receiver};
use dataplane::{
    Capabilities, Clock, Counters, DataPlane, Egress, Event, Ingress, Inject, LegId, Model, Path, Replica, ReplicaId,
    Update, WriteError,
};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{
    Command, DtlsRole, Encoding, IceCredentials, Notice, OpenTransport, PayloadFormat, Publication, RemoteTransport,
    Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

const PUBLISHER: u16 = 1;
const LIAR: u16 = 2;
const BYSTANDER: u16 = 3;
/// The port that peers count from.
const FIRST_PORT: u16 = 1_000;
const ROUNDS: usize = 4;
/// One camera, and the settings of each receiver's subscription to it.
const TRACK: TrackId = TrackId(1);
const CAMERA: Ssrc = Ssrc(11);
/// RTP version 2, VP8, and the descriptor and first bytes of a key frame.
const KEY_FRAME: [u8; 4] = [0x10, 0, 0, 0];

/// RTCP of one receiver leaves another's entries and estimate unchanged, and causes a bounded
/// number of writes of its own.
pub fn receiver_reports(data: &[u8]) {
    static UNDISTURBED: OnceLock<(Seen, Option<Receiver>)> = OnceLock::new();
    let undisturbed = UNDISTURBED.get_or_init(|| {
        let (seen, receiver) = Call::new().play(&[]);
        let downlink = receiver.as_ref().and_then(|receiver| receiver.downlink.as_ref());
        assert!(
            downlink.is_some_and(|downlink| downlink.probes > 0),
            "nothing flows: {receiver:?}"
        );
        (seen, receiver)
    });
    let mut call = Call::new();
    let (seen, receiver) = call.play(data);
    assert_eq!(&(seen, receiver), undisturbed, "another client was affected");
    assert!(call.plane.writes < 1_000, "{} entries were written", call.plane.writes);
}

/// Table entries of the bystander, and its retransmissions.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    replicas: BTreeMap<ReplicaId, Replica>,
    paces: Vec<Option<u64>>,
    resent: usize,
}

/// The model, watched.
struct Plane {
    model: Model,
    bystander: Option<LegId>,
    seen: Seen,
    writes: usize,
}

struct Call {
    agent: Agent,
    plane: Plane,
    now: Instant,
    out: Vec<Notice>,
    sequence: u16,
}

impl Call {
    fn new() -> Self {
        static CERTIFICATE: OnceLock<Certificate> = OnceLock::new();
        let certificate = CERTIFICATE.get_or_init(|| Certificate::generate().expect("there is randomness"));
        static START: OnceLock<Instant> = OnceLock::new();
        #[allow(clippy::disallowed_methods, reason = "some instant to begin at")]
        let now = *START.get_or_init(Instant::now);
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let mut config = Config::new(vec![path(0).local], certificate.clone());
        config.clear_rtp = true;
        let mut call = Call {
            agent: Agent::new(config, clock, 1),
            plane: Plane {
                model: Model::new(clock),
                bystander: None,
                seen: Seen::default(),
                writes: 0,
            },
            now,
            out: Vec::new(),
            sequence: 0,
        };
        for peer in [PUBLISHER, LIAR, BYSTANDER] {
            call.connect(peer);
        }
        call.plane.bystander = Some(LegId(u32::from(BYSTANDER)));
        call.command(Command::Publish(publication()));
        for receiver in [LIAR, BYSTANDER] {
            call.command(Command::Subscribe(subscription(receiver)));
        }
        call
    }

    /// Media is sent; the lying receiver sends a part of `data` after each packet.
    fn play(&mut self, data: &[u8]) -> (Seen, Option<Receiver>) {
        let part = data.len().div_ceil(ROUNDS).next_multiple_of(4);
        for round in 0..ROUNDS {
            self.send_media();
            let (from, to) = ((round * part).min(data.len()), ((round + 1) * part).min(data.len()));
            self.deliver(LIAR, &data[from..to]);
            self.pass(Duration::from_millis(100));
        }
        // The whole of it again, as one compound.
        self.deliver(LIAR, data);
        self.pass(Duration::from_secs(2));
        (
            self.plane.seen.clone(),
            self.agent.receiver(TransportId(u64::from(BYSTANDER))),
        )
    }

    fn send_media(&mut self) {
        self.sequence += 1;
        let mut packet = vec![0x80, 0x80 | 96];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend((u32::from(self.sequence) * 3_000).to_be_bytes());
        packet.extend(CAMERA.0.to_be_bytes());
        packet.extend(KEY_FRAME);
        packet.resize(1_000, 0);
        self.deliver(PUBLISHER, &packet);
    }

    fn connect(&mut self, peer: u16) {
        let transport = TransportId(u64::from(peer));
        let (local, remote) = (credentials("node", peer), credentials("peer", peer));
        let username = format!("{}:{}", local.ufrag, remote.ufrag);
        let check = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, true);
        let mut bytes = vec![0; 256];
        let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
        let len = check
            .to_bytes(Some(local.password.as_bytes()), &mut bytes, hmac)
            .expect("a check fits");
        self.command(Command::Open(OpenTransport {
            transport,
            local,
            channels: Vec::new(),
        }));
        let mut extensions_out = ExtensionMap::default();
        extensions_out
            .insert(ExtensionKind::TransportSequence, 4)
            .expect("an id of one byte");
        self.command(Command::Connect {
            transport,
            remote: RemoteTransport {
                credentials: remote,
                fingerprints: Vec::new(),
                dtls: DtlsRole::Server,
                extensions_in: ExtensionMap::default(),
                extensions_out,
                sctp_port: None,
            },
        });
        self.deliver(peer, &bytes[..len]);
    }

    fn command(&mut self, command: Command) {
        self.agent.command(self.now, command, &mut self.plane, &mut self.out);
        self.settle();
    }

    fn deliver(&mut self, peer: u16, bytes: &[u8]) {
        let ingress = Ingress {
            path: path(peer),
            bytes,
        };
        self.plane.model.packet(self.now, ingress, &mut Vec::new());
        self.settle();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.agent.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.agent.handle_timeout(self.now, &mut self.plane, &mut self.out);
            self.settle();
        }
        self.now = end;
    }

    fn settle(&mut self) {
        loop {
            while let Some(event) = self.plane.poll() {
                self.agent.event(self.now, event, &mut self.plane, &mut self.out);
            }
            let injected = self.plane.model.take_injected();
            if injected.is_empty() {
                return;
            }
            for Egress { path, bytes, .. } in injected {
                let peer = path.remote.port() - FIRST_PORT;
                let password = credentials("peer", peer).password;
                if let Some(bytes) = virtual_device::answer(&bytes, path.local, &password) {
                    let ingress = Ingress { path, bytes: &bytes };
                    self.plane.model.packet(self.now, ingress, &mut Vec::new());
                }
            }
        }
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.writes += 1;
        match &update {
            Update::SetReplica(id, replica) if Some(replica.leg) == self.bystander => {
                self.seen.replicas.insert(*id, replica.clone());
            }
            Update::SetPace(leg, pace) if Some(*leg) == self.bystander => self.seen.paces.push(*pace),
            Update::RemoveReplica(id) => drop(self.seen.replicas.remove(id)),
            _ => {}
        }
        self.model.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        if let Inject::Resend { replica, sequences } = &what
            && self.seen.replicas.contains_key(replica)
        {
            self.seen.resent += sequences.len();
        }
        self.model.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.model.poll()
    }

    fn counters(&mut self) -> Counters {
        self.model.counters()
    }
}

fn path(peer: u16) -> Path {
    Path {
        local: ([192, 0, 2, 1], 7882).into(),
        remote: ([198, 51, 100, 1], FIRST_PORT + peer).into(),
    }
}

fn credentials(side: &str, peer: u16) -> IceCredentials {
    IceCredentials {
        ufrag: format!("{side}{peer}"),
        password: format!("{side}{peer}-password-of-22-characters"),
    }
}

fn vp8() -> PayloadFormat {
    let payload_type = |value| PayloadType::new(value).expect("seven bits");
    PayloadFormat {
        payload_type: payload_type(96),
        codec: Codec::Vp8,
        rtx: Some(payload_type(97)),
        nack: true,
    }
}

fn publication() -> Publication {
    Publication {
        track: TRACK,
        transport: TransportId(u64::from(PUBLISHER)),
        kind: MediaKind::Video,
        mid: None,
        formats: vec![vp8()],
        encodings: vec![Encoding {
            rid: None,
            ssrc: Some(CAMERA),
            rtx: None,
            width: 640,
            height: 360,
            layers: Vec::new(),
        }],
        muted: false,
        source: TrackSource::Camera,
    }
}

fn subscription(receiver: u16) -> Subscription {
    Subscription {
        subscription: SubscriptionId(u64::from(receiver)),
        transport: TransportId(u64::from(receiver)),
        track: TRACK,
        ssrc: Ssrc(500),
        rtx: Some(Ssrc(501)),
        mid: None,
        formats: vec![(vp8().payload_type, vp8())],
        settings: SubscriptionSettings::BEST,
        fill: false,
    }
}
