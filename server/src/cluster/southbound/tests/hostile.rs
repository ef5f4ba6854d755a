//! Peers that are no controllers, and controllers that break the protocol or do not read. Each is
//! refused with its reason and counted, and a controller beside them notices nothing.

use southbound::ControllerMessage;
use southbound_wire::v1;
use southbound_wire::v1::southbound_client::SouthboundClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::super::controller::{channel, open as open_stream};
use super::*;
use crate::media::fenced::CONTROLLERS_MAX;

/// A connection that writes what it is told, and that nobody reads.
async fn raw(world: &World) -> (mpsc::Sender<ControllerMessage>, Streaming<v1::NodeMessage>) {
    let tls = world.tls(Role::Controller);
    let stream = open_stream(&world.address, &tls).await.unwrap();
    let channel = channel(stream, PATIENCE).await.unwrap();
    let mut client = SouthboundClient::new(channel).max_encoding_message_size(1 << 30);
    let (messages, taken) = mpsc::channel(4_096);
    messages
        .send(ControllerMessage::Hello(hello(ControllerId::new(66))))
        .await
        .unwrap();
    let outgoing = ReceiverStream::new(taken).map(v1::ControllerMessage::from);
    (messages, client.control(outgoing).await.unwrap().into_inner())
}

/// A controller still commands its rooms, at once.
async fn is_unaffected(node: &mut RemoteNode) {
    let began = clock::now();
    assert_eq!(claim(node, "lobby", 1).await.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_refused() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;

    let stranger = Authority::new(clock::unix()).unwrap();
    let issued = stranger.issue("evil", &[Role::Controller, Role::Media]).unwrap();
    let tls = world.tls_of(&world.authority.issued(), &issued);
    assert!(
        connect(&world.address, &tls, hello(SECOND)).await.is_err(),
        "of another authority"
    );
    world.until_cut("handshake", 1).await;
    is_unaffected(&mut first).await;

    let tls = world.tls_of(&stranger.issued(), &issued);
    let refused = connect(&world.address, &tls, hello(SECOND)).await.unwrap_err();
    assert!(
        matches!(refused, ConnectError::Tls(_)),
        "the node is a stranger there: {refused}"
    );
    world.until_cut("handshake", 2).await;

    let mut plain = TcpStream::connect(&world.address).await.unwrap();
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, plain.read_to_end(&mut rest)).await.unwrap();
    world.until_cut("handshake", 3).await;

    let tls = world.tls(Role::Media);
    assert!(
        connect(&world.address, &tls, hello(SECOND)).await.is_err(),
        "no controller"
    );
    world.until_cut("role", 1).await;

    let mute = TcpStream::connect(&world.address).await.unwrap();
    world.until_cut("silent", 1).await;
    drop(mute);
    is_unaffected(&mut first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_that_break_the_protocol_are_refused() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;

    let newer = ControllerHello {
        versions: Versions { oldest: 8, newest: 9 },
        controller: SECOND,
    };
    let tls = world.tls(Role::Controller);
    let refused = connect(&world.address, &tls, newer).await.unwrap_err().to_string();
    assert!(refused.contains("versions 8 to 9"), "{refused}");
    world.until_cut("version", 1).await;

    let (messages, mut incoming) = raw(&world).await;
    let huge = RoomContent::Command(Command::Send {
        to: Vec::new(),
        label: "_reliable".into(),
        payload: vec![0; 5 << 20].into(),
        reliable: true,
        message: None,
    });
    let huge = message("lobby", 1, 1, huge);
    messages.send(ControllerMessage::Room(huge)).await.unwrap();
    let last = async {
        loop {
            match incoming.message().await {
                Ok(Some(_)) => {}
                other => return other,
            }
        }
    };
    let last = timeout(PATIENCE, last).await.unwrap().unwrap_err();
    assert_eq!(last.code(), tonic::Code::OutOfRange, "{last}");
    world.until_cut("malformed", 1).await;

    let (messages, _incoming) = raw(&world).await;
    messages.send(ControllerMessage::Hello(hello(SECOND))).await.unwrap();
    world.until_cut("malformed", 2).await;
    is_unaffected(&mut first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_that_does_not_read_is_disconnected() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;
    let (messages, _unread) = raw(&world).await;
    let flood = tokio::spawn(async move {
        let say = |content| ControllerMessage::Room(message("attic", 1, 1, content));
        let _ = messages.send(say(RoomContent::Claim)).await;
        for part in 0..8 {
            let save = RoomContent::Save {
                part: part.to_string().into(),
                blob: vec![0; 1 << 20].into(),
            };
            let _ = messages.send(say(save)).await;
        }
        // Each is answered with all parts.
        while messages.send(say(RoomContent::Claim)).await.is_ok() {}
    });
    let deadline = clock::now() + PATIENCE;
    while world.cut("slow") == 0 {
        assert!(clock::now() < deadline, "it is not disconnected");
        is_unaffected(&mut first).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    flood.abort();
    is_unaffected(&mut first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_cannot_say_the_id_of_another_certificate() {
    let world = World::start().await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;
    claim(&mut first, "lobby", 1).await;
    let evil = world.tls_as("evil", Role::Controller);
    let refused = connect(&world.address, &evil, hello(FIRST)).await.unwrap_err();
    assert!(refused.to_string().contains("another certificate"), "{refused}");
    world.until_cut("identity", 1).await;
    is_unaffected(&mut first).await;
    drop(first);
    assert!(
        connect(&world.address, &evil, hello(FIRST)).await.is_err(),
        "its rooms are still its own"
    );
    let mut own = connect(&world.address, &evil, hello(SECOND)).await.unwrap();
    take_greeting(&mut own).await;
    let mut again = world.connect(FIRST).await;
    take_greeting(&mut again).await;
    is_unaffected(&mut again).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_that_open_no_stream_keep_no_places() {
    let world = World::start().await;
    let tls = world.tls(Role::Controller);
    let mut idle = Vec::new();
    // A client ends its handshake before the node does, so the refused one need not be the last.
    let all_places = async {
        while world.cut("full") == 0 {
            idle.push(open_stream(&world.address, &tls).await.unwrap());
        }
    };
    timeout(PATIENCE, all_places).await.expect("a connection is refused");
    assert!(idle.len() > CONTROLLERS_MAX, "only {} had places", idle.len() - 1);
    world.until_cut("silent", CONTROLLERS_MAX as u64).await;
    let mut first = world.connect(FIRST).await;
    take_greeting(&mut first).await;
    assert_eq!(world.node.connected.count(), 1);

    // One that is refused does not keep its place either.
    let newer = ControllerHello {
        versions: Versions { oldest: 8, newest: 9 },
        controller: SECOND,
    };
    let channel = channel(open_stream(&world.address, &tls).await.unwrap(), PATIENCE)
        .await
        .unwrap();
    let mut client = SouthboundClient::new(channel);
    let hello = v1::ControllerMessage::from(ControllerMessage::Hello(newer));
    assert!(client.control(tokio_stream::once(hello)).await.is_err());
    let ended = async {
        loop {
            let again = client.control(tokio_stream::pending()).await;
            if again.is_err_and(|status| status.code() != tonic::Code::DeadlineExceeded) {
                return;
            }
        }
    };
    timeout(PATIENCE, ended).await.expect("the connection ends");
    is_unaffected(&mut first).await;
    drop(first);
    let left = async {
        while world.node.connected.count() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, left).await.expect("it has left");
}
