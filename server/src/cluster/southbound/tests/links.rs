//! Media nodes that link themselves with a node, and break the protocol.

use southbound::{LinkHello, LinkMessage, LinkReply, LinkWelcome, LinkedMessage, MessageId, NodeId};
use southbound_wire::v1;
use southbound_wire::v1::southbound_client::SouthboundClient;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::super::controller::{channel, open as open_stream};
use super::*;
use crate::cluster::node_ids;

const NODE: NodeId = NodeId(77);

fn link_hello(node: NodeId, series: u64) -> LinkMessage {
    LinkMessage::Hello(LinkHello {
        versions: Versions::OURS,
        node,
        series,
    })
}

fn linked(number: u64) -> LinkMessage {
    LinkMessage::Message(Arc::new(LinkedMessage {
        number,
        room: "nobody".into(),
        reach: 1,
        sender: "mallory".into(),
        message: (number > 0).then_some(MessageId { node: NODE, number }),
        label: "_reliable".into(),
        payload: [1; 9].into(),
        identities: Vec::new(),
        sids: Vec::new(),
        only: None,
        track: None,
    }))
}

/// A link of a machine, and the answers to it.
struct Peer {
    messages: mpsc::Sender<LinkMessage>,
    replies: Streaming<v1::LinkReply>,
}

impl Peer {
    /// Errors: those of the node.
    async fn open(world: &World, (name, role): (&str, Role), first: LinkMessage) -> Result<Self, Status> {
        let stream = open_stream(&world.address, &world.tls_as(name, role)).await.unwrap();
        let mut client = SouthboundClient::new(channel(stream, PATIENCE).await.unwrap());
        let (messages, taken) = mpsc::channel(16);
        messages.send(first).await.unwrap();
        let replies = client
            .link(ReceiverStream::new(taken).map(v1::LinkMessage::from))
            .await?;
        let replies = replies.into_inner();
        Ok(Peer { messages, replies })
    }

    /// The next answer; `None` if the node has ended the link.
    async fn reply(&mut self) -> Option<LinkReply> {
        let reply = timeout(PATIENCE, self.replies.message()).await.unwrap();
        reply.ok().flatten().map(|reply| reply.try_into().unwrap())
    }
}

async fn refused(world: &World, origin: (&str, Role), first: LinkMessage) -> Code {
    match Peer::open(world, origin, first).await {
        Ok(_) => panic!("it is not refused"),
        Err(status) => status.code(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_says_the_id_of_another_one_first_does_not_keep_it_out() {
    let world = World::start().await;
    let id = node_ids::new("owner", 7);
    let (thief, owner) = (("thief", Role::Media), ("owner", Role::Media));
    let mut first = Peer::open(&world, thief, link_hello(id, 1)).await.unwrap();
    assert!(matches!(first.reply().await, Some(LinkReply::Welcome(_))));
    let mut second = Peer::open(&world, owner, link_hello(id, 2)).await.unwrap();
    assert!(matches!(second.reply().await, Some(LinkReply::Welcome(_))));
    assert_eq!(first.reply().await, None, "the link of the other one is over");
    assert_eq!(refused(&world, thief, link_hello(id, 3)).await, Code::PermissionDenied);
    world.until_cut("identity", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_for_media_nodes_that_keep_the_protocol() {
    let world = World::start().await;
    let two = ("two", Role::Media);
    let of_controller = refused(&world, ("two", Role::Controller), link_hello(NODE, 1)).await;
    assert_eq!(of_controller, Code::PermissionDenied);
    world.until_cut("role", 1).await;
    assert_eq!(refused(&world, two, linked(1)).await, Code::InvalidArgument);
    world.until_cut("no_hello", 1).await;
    let older = LinkMessage::Hello(LinkHello {
        versions: Versions { oldest: 1, newest: 2 },
        node: NODE,
        series: 1,
    });
    assert_eq!(refused(&world, two, older).await, Code::FailedPrecondition);
    world.until_cut("version", 1).await;

    let mut peer = Peer::open(&world, two, link_hello(NODE, 1)).await.unwrap();
    let welcome = peer.reply().await.unwrap();
    assert!(
        matches!(welcome, LinkReply::Welcome(LinkWelcome { taken: 0, .. })),
        "{welcome:?}"
    );
    let other = refused(&world, ("three", Role::Media), link_hello(NODE, 2)).await;
    assert_eq!(other, Code::PermissionDenied, "the id is that of another certificate");
    world.until_cut("identity", 1).await;
    peer.messages.send(linked(1)).await.unwrap();
    let messages = vec![MessageId { node: NODE, number: 1 }];
    let delivered = Some(LinkReply::Delivered { messages });
    assert_eq!(
        peer.reply().await,
        delivered,
        "its sender need not wait for a room that is not there"
    );
    assert_eq!(peer.reply().await, Some(LinkReply::Taken { number: 1 }));
    peer.messages.send(link_hello(NODE, 1)).await.unwrap();
    assert_eq!(peer.reply().await, None, "a second hello");
    world.until_cut("malformed", 1).await;

    let mut again = Peer::open(&world, two, link_hello(NODE, 1)).await.unwrap();
    let welcome = again.reply().await.unwrap();
    assert!(
        matches!(welcome, LinkReply::Welcome(LinkWelcome { taken: 1, .. })),
        "{welcome:?}"
    );
    again.messages.send(linked(3)).await.unwrap();
    assert_eq!(again.reply().await, None, "a number is missing");

    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;
    assert_eq!(
        claim(&mut first, "lobby", 1).await.len(),
        1,
        "a controller notices nothing"
    );
}
