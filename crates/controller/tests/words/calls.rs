//! Calls of an administrator to participants.

use std::time::Duration;

use bytes::Bytes;
use controller::{
    AdminError, AdminReply, AdminRequest, AdminRequestId, CreateRoom, DataContent, DataMessage, Input, Output,
    PeerMode, PerformRpc, Request, RpcContent, RpcError, RpcReply,
};
use southbound::{Linked, MessageId, NodeId, TransportId};

use crate::world::World;

type Replies = Vec<(u64, Result<AdminReply, AdminError>)>;

fn replies(world: &World) -> Replies {
    let replies = world.out.iter().filter_map(|output| match output {
        Output::Reply { request_id, reply } => Some((request_id.0, reply.clone())),
        _ => None,
    });
    replies.collect()
}

fn perform(identity: &str, payload: &str) -> PerformRpc {
    PerformRpc {
        room: "lobby".to_owned(),
        identity: identity.to_owned(),
        method: "greet".to_owned(),
        payload: payload.to_owned(),
        response_timeout: Some(Duration::from_secs(5)),
    }
}

/// Calls a participant; the call's id, and the transport it is sent on.
fn call(world: &mut World, request_id: u64, call: PerformRpc) -> (String, TransportId) {
    world.handle(Input::Admin {
        request_id: AdminRequestId(request_id),
        request: AdminRequest::PerformRpc(call),
    });
    assert_eq!(replies(world), []);
    let sent = world.out.iter().find_map(|output| match output {
        Output::Data { to, data, .. } => match &data.content {
            DataContent::RpcCall(call) => Some((call.clone(), data.clone(), to.clone())),
            _ => None,
        },
        _ => None,
    });
    let (call, data, to) = sent.expect("the call is sent");
    assert_eq!(
        (call.method.as_str(), call.payload.as_str(), data.reliable),
        ("greet", "hi", true)
    );
    assert_eq!(data.sender_identity, call.id);
    let [transport] = to[..] else {
        panic!("one receiver and not {to:?}");
    };
    (call.id, transport)
}

fn reply(world: &mut World, transport: TransportId, call_id: &str, content: RpcContent) {
    world.handle(Input::Data {
        transport,
        message: MessageId {
            node: NodeId(1),
            number: 1,
        },
        passed_on: None,
        linked: Linked::default(),
        data: Some(Box::new(DataMessage {
            reliable: true,
            sequence: 0,
            sender_sid: String::new(),
            sender_identity: String::new(),
            generated: false,
            destinations: vec![call_id.to_owned()],
            content: DataContent::RpcReply(RpcReply {
                call_id: call_id.to_owned(),
                content,
                encoded: Bytes::new(),
            }),
            len: 0,
        })),
    });
}

#[test]
fn a_call_is_answered_by_the_participant() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    world.join("bob", PeerMode::Dual);
    let (first, transport) = call(&mut world, 1, perform("ada", "hi"));
    let (second, of_bob) = call(&mut world, 2, perform("bob", "hi"));
    assert_ne!((&first, transport), (&second, of_bob));
    // Bob does not answer for Ada.
    reply(&mut world, of_bob, &first, RpcContent::Done(Ok("forged".to_owned())));
    assert_eq!(replies(&world), []);
    reply(&mut world, transport, &first, RpcContent::Received);
    assert_eq!(replies(&world), []);
    reply(&mut world, transport, &first, RpcContent::Done(Ok("hello".to_owned())));
    assert_eq!(replies(&world), [(1, Ok(AdminReply::RpcResult("hello".to_owned())))]);
    let error = RpcError {
        code: 1400,
        message: "no such method".to_owned(),
        data: "greet".to_owned(),
    };
    reply(&mut world, of_bob, &second, RpcContent::Done(Err(error.clone())));
    assert_eq!(error.to_string(), "RpcError 1400: no such method: greet");
    assert_eq!(replies(&world), [(2, Err(AdminError::Rpc(error)))]);
}

#[test]
fn a_call_without_an_answer_fails_once() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let failed = |code| Err(AdminError::Rpc(RpcError::new(code)));
    call(&mut world, 1, perform("ada", "hi"));
    world.advance(Duration::from_millis(1999));
    assert_eq!(replies(&world), []);
    world.advance(Duration::from_millis(2));
    assert_eq!(replies(&world), [(1, failed(RpcError::CONNECTION_TIMEOUT))]);
    let (id, transport) = call(&mut world, 2, perform("ada", "hi"));
    reply(&mut world, transport, &id, RpcContent::Received);
    world.advance(Duration::from_millis(4999));
    assert_eq!(replies(&world), []);
    world.advance(Duration::from_millis(2));
    assert_eq!(replies(&world), [(2, failed(RpcError::RESPONSE_TIMEOUT))]);
    reply(&mut world, transport, &id, RpcContent::Done(Ok("late".to_owned())));
    assert_eq!(replies(&world), []);
    call(&mut world, 3, perform("ada", "hi"));
    world.request(ada, Request::Leave);
    assert_eq!(replies(&world), [(3, failed(RpcError::RECIPIENT_DISCONNECTED))]);
}

#[test]
fn calls_that_cannot_be_made_fail_at_once() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    let ask = |world: &mut World, call| world.ask(AdminRequest::PerformRpc(call));
    let long = "x".repeat(15 * 1024 + 1);
    let too_long = AdminError::Rpc(RpcError::new(RpcError::REQUEST_PAYLOAD_TOO_LARGE));
    assert_eq!(ask(&mut world, perform("ada", &long)), Err(too_long));
    assert_eq!(
        ask(&mut world, perform("eve", "hi")),
        Err(AdminError::ParticipantNotFound)
    );
    let nameless = ask(&mut world, perform("", "hi"));
    assert!(matches!(nameless, Err(AdminError::InvalidArgument(_))));
    let mut elsewhere = perform("ada", "hi");
    elsewhere.room = "attic".to_owned();
    assert_eq!(ask(&mut world, elsewhere), Err(AdminError::RoomNotFound));
    for request_id in 0..1000 {
        call(&mut world, request_id, perform("ada", "hi"));
    }
    assert_eq!(ask(&mut world, perform("ada", "hi")), Err(AdminError::TooManyCalls));
}

#[test]
fn a_token_sets_up_the_room_that_its_bearer_creates_and_no_other() {
    let mut world = World::new();
    let set_up = |metadata: &str| CreateRoom {
        metadata: metadata.to_owned(),
        max_participants: Some(2),
        departure_timeout: Some(Duration::from_secs(5)),
        ..CreateRoom::default()
    };
    let mut metadata = |identity: &str, said: &str| {
        world.join_to(identity, set_up(said));
        match world.ask(AdminRequest::ListRooms { names: Vec::new() }) {
            Ok(AdminReply::Rooms(rooms)) => (rooms[0].metadata.clone(), rooms[0].max_participants),
            other => panic!("rooms and not {other:?}"),
        }
    };
    assert_eq!(metadata("ada", "agenda"), ("agenda".to_owned(), 2));
    assert_eq!(metadata("bob", "another"), ("agenda".to_owned(), 2));
}
