//! Calls of every method of the server API, made from the protocol's own description of it: each
//! field right, or wrong in its type, its size, its nesting or its text.

mod choices;
mod json;
mod protobuf;

use std::sync::LazyLock;

use access::{Claims, VideoGrant};
use controller::{AdminRequest, Output, WallClock};
use livekit::agents::{DispatchRequest, Workers};
use livekit::api::{ApiError, Call, Code, DESCRIPTORS, Reply, Request};
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value};

use crate::stage::{Stage, UNIX, keys, offer, tells_bystanders};
use crate::worker::started;
use choices::{Choices, RIGHT};

/// The largest body that is made on purpose. One field may make it longer.
const BODY_MAX: usize = 64 << 10;
/// A text of more bytes than any field may have.
const LONG: usize = 70_000;
/// Values of a list with more than any may have.
const MANY: usize = 3000;
/// Values within each other.
const DEEP: usize = 200;
/// Messages within each other that are made as the protocol says.
const DEPTH_MAX: usize = 3;
/// The room that the token is for. The call is in another one.
const ROOM: &str = "lobby";

static METHODS: LazyLock<Vec<MethodDescriptor>> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(DESCRIPTORS).expect("descriptors");
    let services: Vec<_> = pool.services().collect();
    services
        .iter()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .collect()
});

/// The first byte chooses the method, the second one the form. Each of the rest chooses how the
/// next field of the message is made.
///
/// An error has a code and a short text, and changes nothing. An answer is a message of the
/// protocol. A call in a room that the token is not for goes on without notice.
pub fn api_schema(data: &[u8]) {
    let Some(([method, form], fields)) = data.split_first_chunk::<2>() else {
        return;
    };
    let method = &METHODS[usize::from(*method) % METHODS.len()];
    let is_json = form % 2 == 0;
    let body = body(&method.input(), is_json, &mut Choices::new(fields));
    let kind = match is_json {
        true => "application/json",
        false => "application/protobuf",
    };
    let path = format!("/twirp/{}/{}", method.parent_service().full_name(), method.name());
    let call = Call::new("POST", &path, kind).expect("a method of the protocol");
    match call.read(&claims(), &body) {
        Ok(Request::Admin(request)) => administer(call, method, request),
        Ok(Request::Dispatch(request)) => dispatch(call, method, request),
        Err(error) => check_error(&error),
    }
}

fn body(message: &MessageDescriptor, is_json: bool, choices: &mut Choices<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    match is_json {
        true => json::message(message, choices, DEPTH_MAX, &mut body),
        false => protobuf::message(message, choices, DEPTH_MAX, &mut body),
    }
    body
}

/// Every grant, for one room.
fn claims() -> Claims {
    Claims {
        iss: "devkey".to_owned(),
        video: VideoGrant {
            room: ROOM.to_owned(),
            room_admin: true,
            room_create: true,
            room_list: true,
            room_record: true,
            destination_room: "cellar".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

fn administer(call: Call, method: &MethodDescriptor, request: AdminRequest) {
    let mut stage = Stage::new("attic");
    stage.open("/whip/v1", "mallory", ROOM, &offer("sendonly"));
    stage.out.clear();
    match stage.administer(request) {
        Some(Ok(reply)) => check_reply(call, method, reply),
        Some(Err(error)) => {
            check_error(&error.into());
            let effects = stage.out.iter().find(|output| is_effect(output));
            assert_eq!(effects, None, "a call that failed has an effect");
        }
        // The participant is asked first.
        None => {}
    }
    let told = stage.out.iter().find(|output| tells_bystanders(output));
    assert_eq!(told, None, "somebody in another room is told");
    stage.end();
}

fn is_effect(output: &Output) -> bool {
    matches!(
        output,
        Output::Notify { .. } | Output::NotifyMany { .. } | Output::End { .. } | Output::Command { .. }
    )
}

fn dispatch(call: Call, method: &MethodDescriptor, request: DispatchRequest) {
    #[allow(clippy::disallowed_methods, reason = "some instant to begin at")]
    let now = std::time::Instant::now();
    let mut workers = Workers::new(keys(), WallClock { now, unix: UNIX }, 1);
    let mut out = Vec::new();
    workers.room_event(now, &started(), &mut out);
    match workers.administer(now, request, &mut out) {
        Ok(reply) => check_reply(call, method, reply),
        Err(error) => check_error(&error.into()),
    }
}

fn check_reply(call: Call, method: &MethodDescriptor, reply: impl Into<Reply>) {
    let written = call.write(reply);
    match call.content_type() {
        "application/json" => {
            let read: Result<Map<String, Value>, _> = serde_json::from_slice(&written);
            assert!(read.is_ok(), "{read:?}");
        }
        _ => {
            let read = DynamicMessage::decode(method.output(), &*written);
            assert!(read.is_ok(), "{read:?}");
        }
    }
}

fn check_error(error: &ApiError) {
    let json = error.json();
    let read: Result<Map<String, Value>, _> = serde_json::from_slice(&json);
    assert!(
        read.is_ok_and(|read| read["code"] == error.code.name()),
        "{}",
        String::from_utf8_lossy(&json)
    );
    assert!((400..=501).contains(&error.code.status()), "{error}");
    assert!(!matches!(error.code, Code::BadRoute | Code::Internal), "{error}");
    assert!(json.len() < 1 << 10, "an error repeats the request");
}

/// Each method in both forms, with all fields right.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let methods = (0..METHODS.len() as u8).flat_map(|method| [[method, 0], [method, 1]]);
    methods.map(right).collect()
}

/// Inputs of [`api_schema`]: the calls of each method that the server has, in both forms, with one
/// field after the other made in each wrong way and all others right.
pub fn every_field() -> Vec<Vec<u8>> {
    let is_there = |input: &Vec<u8>| METHODS[usize::from(input[0])].parent_service().name() != "Egress";
    let right = seeds().into_iter().filter(is_there);
    right
        .flat_map(|right| (2..right.len()).flat_map(move |at| one_wrong(right.clone(), at)))
        .collect()
}

/// As many choices as the message has fields.
fn right([method, form]: [u8; 2]) -> Vec<u8> {
    let all = [RIGHT; 128];
    let mut choices = Choices::new(&all);
    body(&METHODS[usize::from(method)].input(), form == 0, &mut choices);
    [&[method, form][..], &all[..choices.taken(&all)]].concat()
}

fn one_wrong(right: Vec<u8>, at: usize) -> impl Iterator<Item = Vec<u8>> {
    choices::wrong().map(move |way| {
        let mut input = right.clone();
        input[at] = way;
        input
    })
}
