//! The thread's side of links.

use southbound::{
    Command, ControllerId, DistantEndpoint, Epoch, IceCredentials, LinkWelcome, Linked, MessageEndpoint, MessageId,
    MessageProtocol, MessageRights, Notice, OpenTransport, Posted, RoomContent, RoomMessage, SignedMessage,
    TransportId, Versions,
};

use super::*;

const OWN: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const THIRD: NodeId = NodeId(3);

/// Everything is for everybody, and must arrive.
#[derive(Debug)]
struct Shouts;

impl MessageProtocol for Shouts {
    fn read(&self, _: &MessageEndpoint, _: &str, payload: &[u8]) -> Option<Posted> {
        Some(Posted::Message(SignedMessage {
            label: "_reliable",
            payload: payload.into(),
            reliable: true,
            sequence: 0,
            identities: Vec::new(),
            sids: Vec::new(),
        }))
    }

    fn with_handle(&self, packet: &[u8], _: u16) -> Arc<[u8]> {
        packet.into()
    }
}

/// A node with Ada, whose owner has said that Ben is at another one.
fn node() -> Fence {
    let mut fence = Fence::new(OWN, Box::new(Shouts));
    let owner = ControllerId::new(7);
    let mut out = Output::default();
    fence.connect(owner, Versions::OURS.newest, &mut out);
    let transport = TransportId(1);
    let commands = [
        Command::Open(OpenTransport {
            transport,
            local: IceCredentials {
                ufrag: "abcd".to_owned(),
                password: "0123456789012345678901".to_owned(),
            },
            channels: Vec::new(),
        }),
        Command::SetEndpoint(Box::new(MessageEndpoint {
            transport,
            uplink: None,
            identity: "ada".into(),
            sid: "PA_ada".into(),
            rights: MessageRights::default(),
            last_sequence: 0,
            number: 1,
        })),
        Command::SetDistantEndpoint(Box::new(DistantEndpoint {
            node: OTHER,
            transport: TransportId(2),
            identity: "ben".into(),
            sid: "PA_ben".into(),
            number: 2,
        })),
        Command::SetReach { node: OTHER, number: 2 },
        Command::SetElsewhere { elsewhere: false },
    ];
    let commands = commands.map(RoomContent::Command);
    for content in [RoomContent::Claim].into_iter().chain(commands) {
        let message = RoomMessage {
            room: "lobby".into(),
            epoch: Epoch(1),
            revision: 1,
            content,
        };
        fence.take(owner, message, &mut out).unwrap();
    }
    fence
}

fn take(links: &mut Links, fence: &mut Fence) -> Output {
    let mut out = Output::default();
    links.take(fence, true, &mut out);
    out
}

/// Ada speaks, and the other node has to say that Ben has heard her.
fn speak(fence: &mut Fence, number: u64) -> Output {
    let mut out = Output::default();
    let notice = Notice::MessageReceived {
        transport: TransportId(1),
        label: "_reliable".into(),
        payload: b"hello"[..].into(),
        message: MessageId { node: OWN, number },
        reliable: true,
        passed_on: None,
        linked: Linked::default(),
    };
    fence.notice(notice, &mut out);
    out
}

#[test]
fn a_link_that_leaves_senders_waiting_is_given_up() {
    let (mut links, ends) = Links::new();
    let mut fence = node();
    let (sender, _receiver) = link_queue();
    let welcome = LinkReply::Welcome(LinkWelcome {
        versions: Versions::OURS,
        node: OTHER,
        taken: 0,
    });
    ends.events.try_send(LinkEvent::Connected(OTHER, 1, sender)).unwrap();
    ends.events.try_send(LinkEvent::Replied(OTHER, 1, welcome)).unwrap();
    take(&mut links, &mut fence);
    let begin = crate::os::clock::now();
    let review = |links: &mut Links, fence: &mut Fence, after| {
        let mut out = Output::default();
        links.review_holding(begin + after, fence, &mut out);
        out.released.len()
    };
    assert_eq!(speak(&mut fence, 1).held.len(), 1);
    assert_eq!(speak(&mut fence, 2).held.len(), 1);
    assert_eq!(review(&mut links, &mut fence, Duration::ZERO), 0);
    assert_eq!(review(&mut links, &mut fence, STUCK_MAX / 2), 0);
    // One answer, and it has as long again.
    let messages = vec![MessageId { node: OWN, number: 1 }];
    let delivered = LinkReply::Delivered { messages };
    ends.events.try_send(LinkEvent::Replied(OTHER, 1, delivered)).unwrap();
    assert_eq!(take(&mut links, &mut fence).released.len(), 1);
    assert_eq!(review(&mut links, &mut fence, STUCK_MAX), 0);
    assert_eq!(review(&mut links, &mut fence, STUCK_MAX * 3 / 2), 0);
    assert!(links.made.contains_key(&OTHER));
    assert_eq!(review(&mut links, &mut fence, 2 * STUCK_MAX), 1);
    assert!(links.made.is_empty());
}

#[test]
fn a_link_with_much_to_say_leaves_others_their_turn() {
    let (mut links, ends) = Links::new();
    let mut fence = node();
    let message = |number| {
        Arc::new(LinkedMessage {
            number,
            room: "lobby".into(),
            reach: 1,
            sender: "PA_ben".into(),
            message: None,
            label: "_reliable".into(),
            payload: b"hello"[..].into(),
            identities: Vec::new(),
            sids: Vec::new(),
            only: None,
            track: None,
        })
    };
    let mut said = Vec::new();
    let mut replies = Vec::new();
    for node in [OTHER, THIRD] {
        let hello = LinkHello {
            versions: Versions::OURS,
            node,
            series: 1,
        };
        let (says, heard) = mpsc::channel(SAID_MAX);
        let (answers, answered) = mpsc::channel(REPLIES_MAX);
        let entered = LinkEvent::Entered(hello, node.0, answers, heard);
        ends.events.try_send(entered).unwrap();
        said.push(says);
        replies.push(answered);
    }
    take(&mut links, &mut fence);
    for number in 1..=SAID_MAX as u64 {
        said[0].try_send(message(number)).unwrap();
    }
    said[1].try_send(message(1)).unwrap();
    let mut take_more = || {
        let mut out = Output::default();
        let has_more = links.take(&mut fence, true, &mut out);
        let answers = |to| {
            let answers = out.links.iter().filter_map(|output| match output {
                LinkOutput::Reply(node, LinkReply::Taken { .. }) => Some(*node),
                _ => None,
            });
            answers.filter(|node| *node == to).count()
        };
        (answers(OTHER), answers(THIRD), has_more)
    };
    assert_eq!(take_more(), (BATCH - 1, 1, true));
    assert_eq!(take_more(), (1, 0, false));
}
