//! Valid messages, and those that cost much for their length.

use std::net::SocketAddr;
use std::time::Duration;

use operator::observation::{Direction, PathProtocol, SwitchCause};
use operator::receivers::{Limit, Usage};
use prost::Message;
use southbound::relay::{Accept, Entry, Hop, Keys, RelayCommand};
use southbound::{
    AudioActivity, Channel, Command, ControllerHello, ControllerId, ControllerMessage, DirectKeys, DownlinkEstimate,
    DtlsRole, Encoding, Epoch, Linked, MessageId, NodeHello, NodeId, NodeMessage, Notice, Observation, OpenDirect,
    OpenTransport, PayloadFormat, Publication, Refusal, RemoteTransport, RoomContent, RoomMessage, RoomState,
    SentLayer, Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId, TransportQuality,
    Versions,
};
use southbound_wire::v1;
use wire::codec::Layer;
use wire::srtp::{MasterKey, SrtpProfile};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, PayloadType, Rid, Ssrc};

use crate::hostile::Family;
use crate::signalling::node;

const TRANSPORT: TransportId = TransportId(0x1234_5678_0000_0001);
const TRACK: TrackId = TrackId(0x1234_5678_0000_0002);
const SUBSCRIPTION: SubscriptionId = SubscriptionId(0x1234_5678_0000_0003);
const MESSAGE: MessageId = MessageId {
    node: NodeId(9),
    number: 300,
};

/// Messages of every kind, with most fields.
pub(crate) fn southbound() -> Vec<Vec<u8>> {
    let commands = [
        Command::Open(open()),
        Command::OpenDirect(Box::new(open_direct())),
        Command::Connect {
            transport: TRANSPORT,
            remote: remote(),
        },
        Command::Publish(publication()),
        Command::Subscribe(subscription()),
        Command::SetSpeakerRank {
            track: TRACK,
            rank: Some(1),
        },
        send(&[TRANSPORT, TRANSPORT]),
        Command::Relay(RelayCommand::Install(Box::new(entry()))),
    ];
    let room_messages = [
        RoomContent::Claim,
        RoomContent::Command(Command::Publish(publication())),
        RoomContent::Complete,
        RoomContent::End,
        RoomContent::Save {
            part: "ada".into(),
            blob: [1, 2, 3][..].into(),
        },
        RoomContent::Forget { part: "ada".into() },
    ];
    let notices = [
        Notice::Node(node()),
        Notice::Connected {
            transport: TRANSPORT,
            srtp: Some(SrtpProfile::AeadAes256Gcm),
        },
        Notice::MessageReceived {
            transport: TRANSPORT,
            label: "_lossy".into(),
            payload: [1, 2, 3][..].into(),
            message: MESSAGE,
            reliable: false,
            passed_on: None,
            linked: Linked::default(),
        },
        Notice::Audio(vec![AudioActivity {
            track: TRACK,
            level: 30,
            active: std::time::Duration::from_millis(300),
        }]),
        Notice::Quality {
            transport: TRANSPORT,
            quality: TransportQuality {
                uplink_loss: 0.5,
                ..TransportQuality::default()
            },
        },
    ];
    let commands = commands.map(|command| v1::Command::from(command).encode_to_vec());
    let notices = notices.into_iter().chain(observations().map(Notice::Observation));
    let notices = notices.map(|notice| v1::Notice::from(notice).encode_to_vec());
    let room_messages = room_messages.map(|content| ControllerMessage::Room(room_message(content)));
    let hello = ControllerMessage::Hello(ControllerHello {
        versions: Versions::OURS,
        controller: ControllerId::new(7),
    });
    let of_controller = room_messages.into_iter().chain([hello]);
    let of_controller = of_controller.map(|message| v1::ControllerMessage::from(message).encode_to_vec());
    let of_node = node_messages().map(|message| v1::NodeMessage::from(message).encode_to_vec());
    let messages = commands.into_iter().chain(notices);
    messages.chain(of_controller).chain(of_node).collect()
}

fn observations() -> [Observation; 7] {
    let layer = |encoding, spatial| SentLayer {
        encoding,
        layer: Layer {
            spatial,
            temporal: u8::MAX,
        },
    };
    [
        Observation::LayerSwitch {
            subscription: SUBSCRIPTION,
            from: Some(layer(1, 0)),
            to: layer(0, u8::MAX),
            cause: Some(SwitchCause::Downlink),
        },
        Observation::Probe {
            transport: TRANSPORT,
            rate: 2_500_000,
            bytes: 12_000,
        },
        Observation::Loss {
            transport: TRANSPORT,
            direction: Direction::Downlink,
            expected: 300,
            lost: 7,
        },
        Observation::Estimate {
            transport: TRANSPORT,
            estimate: DownlinkEstimate {
                target: 310_000,
                allocated: 300_000,
                wanted: 2_500_000,
                limit: Limit::Loss,
                usage: Usage::Over,
                loss: 0.04,
                round_trip: Some(Duration::from_millis(80)),
                queue: Duration::from_millis(300),
            },
        },
        Observation::KeyFrameRequest {
            subscription: SUBSCRIPTION,
        },
        Observation::KeyFrameQuery {
            track: TRACK,
            attempt: 8,
        },
        Observation::Path {
            transport: TRANSPORT,
            remote: SocketAddr::from(([192, 0, 2, 7], 40_000)),
            protocol: PathProtocol::Tcp,
        },
    ]
}

fn node_messages() -> [NodeMessage; 6] {
    let rooms = |number| NodeMessage::Rooms {
        rooms: (0..number).map(room_state).collect(),
        is_last: number == 0,
    };
    let (room, epoch): (std::sync::Arc<str>, _) = ("standup".into(), Epoch(3));
    [
        NodeMessage::Hello(NodeHello {
            versions: Versions::OURS,
            node: NodeId(9),
        }),
        rooms(0),
        rooms(3),
        NodeMessage::Notice {
            room: Some(room.clone()),
            notice: Notice::TrackStarted { track: TRACK },
        },
        NodeMessage::Saved {
            room: room.clone(),
            epoch,
            part: "ada".into(),
            blob: [1, 2, 3][..].into(),
        },
        NodeMessage::Refused {
            room,
            epoch,
            revision: 5,
            why: Refusal::Outdated(Epoch(4)),
        },
    ]
}

fn room_state(number: u64) -> RoomState {
    RoomState {
        room: format!("room {number}").into(),
        owner: ControllerId::new(7),
        epoch: Epoch(3),
        revision: 400,
        has_ended: number == 0,
    }
}

fn room_message(content: RoomContent) -> RoomMessage {
    RoomMessage {
        room: "standup".into(),
        epoch: Epoch(3),
        revision: 401,
        content,
    }
}

fn send(to: &[TransportId]) -> Command {
    Command::Send {
        to: to.to_vec(),
        label: "_reliable".into(),
        payload: b"payload"[..].into(),
        reliable: true,
        message: Some(MESSAGE),
    }
}

fn open() -> OpenTransport {
    OpenTransport {
        transport: TRANSPORT,
        local: credentials(),
        channels: vec![Channel {
            label: "_lossy".into(),
            ordered: false,
            retransmits_max: Some(0),
            stream: Some(2),
        }],
    }
}

fn open_direct() -> OpenDirect {
    let key = |seed: u8| MasterKey::new(SrtpProfile::AeadAes256Gcm, &[seed; 32], &[seed; 12]);
    let RemoteTransport {
        extensions_in,
        extensions_out,
        ..
    } = remote();
    OpenDirect {
        transport: TRANSPORT,
        local: ([192, 0, 2, 1], 7_882).into(),
        remote: ([192, 0, 2, 2], 7_882).into(),
        rtcp_ssrc_in: Ssrc(0x2001),
        rtcp_ssrc_out: Ssrc(0x2002),
        keys: key(1)
            .zip(key(2))
            .map(|(ingress, egress)| DirectKeys { ingress, egress }),
        extensions_in,
        extensions_out,
    }
}

pub(super) fn credentials() -> southbound::IceCredentials {
    southbound::IceCredentials {
        ufrag: "abcd".to_owned(),
        password: "0123456789012345678901".to_owned(),
    }
}

fn remote() -> RemoteTransport {
    let mut extensions = ExtensionMap::default();
    extensions.insert(ExtensionKind::Mid, 4).expect("the first");
    RemoteTransport {
        credentials: credentials(),
        fingerprints: vec![node().fingerprint],
        dtls: DtlsRole::Client,
        extensions_in: extensions,
        extensions_out: extensions,
        sctp_port: Some(5000),
    }
}

fn format() -> PayloadFormat {
    PayloadFormat {
        payload_type: PayloadType::new(96).expect("seven bits"),
        codec: Codec::Vp8,
        rtx: PayloadType::new(97),
        nack: true,
    }
}

fn publication() -> Publication {
    Publication {
        track: TRACK,
        transport: TRANSPORT,
        kind: MediaKind::Video,
        mid: Mid::new("0"),
        formats: vec![format()],
        encodings: vec![Encoding {
            rid: Rid::new("q"),
            ssrc: Some(Ssrc(7)),
            rtx: None,
            width: 320,
            height: 180,
            layers: vec![(320, 180)],
        }],
        muted: false,
        source: TrackSource::Camera,
    }
}

fn subscription() -> Subscription {
    Subscription {
        subscription: SUBSCRIPTION,
        transport: TRANSPORT,
        track: TRACK,
        ssrc: Ssrc(8),
        rtx: Some(Ssrc(9)),
        mid: None,
        formats: vec![(format().payload_type, format())],
        settings: SubscriptionSettings::BEST,
        fill: false,
    }
}

fn entry() -> Entry {
    let key = MasterKey::new(SrtpProfile::AeadAes128Gcm, &[1; 16], &[2; 12]).expect("the profile's lengths");
    Entry {
        at: ([192, 0, 2, 1], 30_000).into(),
        accept: Accept::Learn {
            within: None,
            window: 1,
            rtp_only: false,
        },
        ingress_protection: Keys::Srtp(key.clone().with_others(vec![key])),
        rtp: Some(Hop {
            from: ([192, 0, 2, 1], 30_002).into(),
            to: ([192, 0, 2, 2], 30_002).into(),
            egress_protection: Keys::Dtls {
                fingerprint: node().fingerprint,
                active: true,
                association: 1,
            },
            tos: Some(184),
        }),
        rtcp: None,
        checks: Some((credentials(), None)),
        clock_rate: Some(8_000),
    }
}

/// Lists of what takes few bytes and becomes a value of many.
pub(crate) const HOSTILE: &[Family] = &[
    ("receivers", |len| {
        v1::Command::from(send(&vec![TRANSPORT; len / 8])).encode_to_vec()
    }),
    ("receivers one by one", |len| {
        field(0x5a, &[0x09, 0, 0, 0, 0, 0, 0, 0, 0].repeat(len / 9))
    }),
    ("empty encodings", |len| field(0x22, &[0x32, 0].repeat(len / 2))),
    ("empty layers", |len| {
        field(0x22, &field(0x32, &[0x32, 0].repeat(len / 2)))
    }),
    ("empty activities", |len| field(0x62, &[0x0a, 0].repeat(len / 2))),
    ("one command after the other", |len| {
        v1::Command::from(Command::Publish(publication()))
            .encode_to_vec()
            .repeat(len / 64)
    }),
    ("rooms without a name", |len| {
        [field(0x0a, &[8, 1, 16, 1]), [0x12, 0].repeat(len / 2)].concat()
    }),
    ("a room message again and again", |len| {
        let message = v1::RoomMessage::from(room_message(RoomContent::Command(send(&[]))));
        let again = message.encode_to_vec();
        again.repeat(len / again.len())
    }),
    ("groups in groups", |len| [0x7b].repeat(len)),
];

/// A message inside of another one.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    prost::encoding::encode_varint(content.len() as u64, &mut message);
    message.extend(content);
    message
}
