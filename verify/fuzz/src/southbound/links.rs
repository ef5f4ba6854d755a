//! Links between media nodes: their messages, and a node that takes whatever another one sends.

use agent::fence::{Fence, Output};
use prost::Message;
use prost::bytes::Buf;
use southbound::{
    Command, ControllerId, DistantEndpoint, DistantTrack, Epoch, LinkHello, LinkMessage, LinkReply, LinkWelcome,
    LinkedMessage, MessageEndpoint, MessageId, MessageRights, NodeId, OpenTransport, RoomContent, RoomMessage,
    TransportId, Versions,
};
use southbound_wire::{decode_link_message, decode_link_reply, v1};

use crate::hostile::Family;

/// The node at the other end.
const OTHER: NodeId = NodeId(2);
const OWN: NodeId = NodeId(1);
const ROOM: &str = "lobby";
/// About the most that a node keeps of messages of one other node.
const WAITING_MAX: usize = 17 << 20;

/// A message that is read is the same after it is written and read again. Then a node takes all of
/// them, each with its length before it: messages of a link that the other node has made, answers
/// on a link to it, and ends of connections, by the first byte of each.
pub fn links(data: &[u8]) {
    if let Ok(message) = decode_link_message(data) {
        let again = v1::LinkMessage::from(message.clone()).encode_to_vec();
        assert_eq!(decode_link_message(&again), Ok(message));
    }
    if let Ok(reply) = decode_link_reply(data) {
        let again = v1::LinkReply::from(reply.clone()).encode_to_vec();
        assert_eq!(decode_link_reply(&again), Ok(reply));
    }
    let mut fence = node();
    let mut rest = data;
    while rest.has_remaining() {
        let kind = rest.get_u8();
        let mut out = Output::default();
        if !take(&mut fence, kind, &mut rest, &mut out) {
            break;
        }
        let waiting = fence.link_figures().waiting_bytes;
        assert!(waiting <= WAITING_MAX, "{waiting} bytes wait");
    }
}

/// Returns false if the rest cannot be read.
fn take(fence: &mut Fence, kind: u8, rest: &mut &[u8], out: &mut Output) -> bool {
    match kind {
        0 => {
            let read = v1::LinkMessage::decode_length_delimited(rest);
            match read.ok().and_then(|message| message.try_into().ok()) {
                Some(LinkMessage::Hello(hello)) if hello.node == OTHER => _ = fence.origin_connected(&hello, out),
                Some(LinkMessage::Hello(_)) => {}
                Some(LinkMessage::Message(linked)) => fence.take_linked(OTHER, &linked, out),
                None => return false,
            }
        }
        1 => {
            let read = v1::LinkReply::decode_length_delimited(rest);
            match read.ok().and_then(|reply| reply.try_into().ok()) {
                Some(reply) => fence.link_replied(OTHER, reply, out),
                None => return false,
            }
        }
        2 => fence.origin_disconnected(OTHER),
        3 => fence.link_disconnected(OTHER, out),
        4 => _ = fence.link_connected(OTHER, out),
        5 => fence.fail_link(OTHER, out),
        _ => return false,
    }
    true
}

/// A node with Ben in a room, whose owner has said that Ada is at the other node.
fn node() -> Fence {
    let mut fence = Fence::new(OWN, Box::new(livekit::Messages));
    let owner = ControllerId::new(7);
    let mut out = Output::default();
    fence.connect(owner, Versions::OURS.newest, &mut out);
    let commands = [
        open(),
        Command::SetEndpoint(Box::new(endpoint())),
        Command::SetElsewhere { elsewhere: false },
        Command::SetDistantEndpoint(Box::new(DistantEndpoint {
            node: OTHER,
            transport: TransportId(1),
            identity: "ada".into(),
            sid: "PA_ada".into(),
            number: 1,
        })),
        Command::SetDistantTrack(Box::new(DistantTrack {
            sender: "PA_ada".into(),
            handle: 9,
            receivers: vec![TransportId(2)],
        })),
        Command::SetReach { node: OTHER, number: 2 },
    ];
    let commands = commands.map(RoomContent::Command);
    for content in [RoomContent::Claim].into_iter().chain(commands) {
        let message = RoomMessage {
            room: ROOM.into(),
            epoch: Epoch(1),
            revision: 1,
            content,
        };
        fence.take(owner, message, &mut out).expect("it is the owner");
    }
    fence
}

fn open() -> Command {
    Command::Open(OpenTransport {
        transport: TransportId(2),
        local: super::seeds::credentials(),
        channels: Vec::new(),
    })
}

fn endpoint() -> MessageEndpoint {
    MessageEndpoint {
        transport: TransportId(2),
        uplink: None,
        identity: "ben".into(),
        sid: "PA_ben".into(),
        rights: MessageRights::default(),
        last_sequence: 0,
        number: 2,
    }
}

fn hello(series: u64) -> LinkMessage {
    LinkMessage::Hello(LinkHello {
        versions: Versions::OURS,
        node: OTHER,
        series,
    })
}

fn linked(number: u64, room: &str, track: Option<u16>) -> LinkMessage {
    LinkMessage::Message(
        LinkedMessage {
            number,
            room: room.into(),
            reach: 2,
            sender: "PA_ada".into(),
            message: (number > 0).then_some(MessageId { node: OTHER, number }),
            label: "_reliable".into(),
            payload: b"hello"[..].into(),
            identities: vec!["ben".to_owned()],
            sids: Vec::new(),
            only: None,
            track,
        }
        .into(),
    )
}

fn replies() -> [LinkReply; 3] {
    let message = MessageId { node: OWN, number: 1 };
    [
        LinkReply::Welcome(LinkWelcome {
            versions: Versions::OURS,
            node: OTHER,
            taken: 0,
        }),
        LinkReply::Taken { number: 0 },
        LinkReply::Delivered {
            messages: vec![message],
        },
    ]
}

fn message_input(message: LinkMessage) -> Vec<u8> {
    [vec![0], v1::LinkMessage::from(message).encode_length_delimited_to_vec()].concat()
}

fn reply_input(reply: LinkReply) -> Vec<u8> {
    [vec![1], v1::LinkReply::from(reply).encode_length_delimited_to_vec()].concat()
}

/// Each message alone, and histories: of a link from the other node that breaks and repeats, with
/// numbers at their end, and of one to it.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let messages = [hello(1), linked(1, ROOM, None), linked(0, ROOM, Some(9))];
    let alone = messages.map(|message| v1::LinkMessage::from(message).encode_to_vec());
    let replied = replies().map(|reply| v1::LinkReply::from(reply).encode_to_vec());
    let broken = [
        message_input(hello(1)),
        message_input(linked(1, ROOM, None)),
        message_input(linked(1, ROOM, None)),
        message_input(linked(2, "attic", None)),
        message_input(linked(0, ROOM, Some(9))),
        vec![2],
        message_input(hello(1)),
        message_input(linked(3, ROOM, None)),
        message_input(hello(2)),
        message_input(linked(1, ROOM, None)),
    ];
    let wrapped = [
        message_input(hello(u64::MAX)),
        message_input(linked(u64::MAX, ROOM, None)),
        vec![2],
        message_input(hello(0)),
        message_input(linked(1, ROOM, None)),
    ];
    let [welcome, taken, delivered] = replies().map(reply_input);
    let made = [vec![4], welcome.clone(), taken, delivered, vec![3, 4], welcome, vec![5]];
    let histories = [broken.concat(), wrapped.concat(), made.concat()];
    alone.into_iter().chain(replied).chain(histories).collect()
}

/// Messages that take few bytes and are kept.
pub(crate) const HOSTILE: &[Family] = &[
    ("receivers without a name", |len| {
        let receivers = [0x42, 0].repeat(len / 2);
        [vec![0x12], prost_len(&receivers), receivers].concat()
    }),
    ("delivered messages without a name", |len| {
        let messages = [0x0a, 0].repeat(len / 2);
        [vec![0x1a], prost_len(&messages), messages].concat()
    }),
    ("messages for rooms that nobody has", |len| {
        let numbers = 1..=(len / 64) as u64;
        let messages = numbers.flat_map(|number| message_input(linked(number, "attic", None)));
        [message_input(hello(1)), messages.collect()].concat()
    }),
    ("messages that wait for the owner", |len| {
        let numbers = 1..=(len / 64) as u64;
        let messages = numbers.flat_map(|number| message_input(linked(number, ROOM, None)));
        [message_input(hello(1)), messages.collect()].concat()
    }),
    ("links that are made again and again", |len| {
        let again = message_input(hello(1));
        again.repeat(len / again.len())
    }),
];

fn prost_len(content: &[u8]) -> Vec<u8> {
    let mut len = Vec::new();
    prost::encoding::encode_varint(content.len() as u64, &mut len);
    len
}
