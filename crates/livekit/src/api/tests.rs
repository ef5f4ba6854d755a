//! Reading of calls and writing of answers, without a server.

mod answers;

use std::time::Duration;

use access::{SipGrant, VideoGrant, sign};
use controller::{CreateRoom, SendData};
use livekit_protocol as proto;
use prost::Message;
use serde_json::{Value, json};

use super::*;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const JSON: &str = "application/json";

fn call(method: &str) -> Call {
    Call::new("POST", &format!("/twirp/livekit.RoomService/{method}"), JSON).expect("a method of the service")
}

fn protobuf(method: &str) -> Call {
    let path = format!("/twirp/livekit.RoomService/{method}");
    Call::new("POST", &path, "application/protobuf").expect("a method of the service")
}

/// Everything about the lobby, and about rooms.
fn claims() -> Claims {
    Claims {
        iss: "devkey".to_owned(),
        video: VideoGrant {
            room: "lobby".to_owned(),
            room_admin: true,
            room_create: true,
            room_list: true,
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

fn read(method: &str, body: &str) -> Result<AdminRequest, ApiError> {
    call(method).read(&claims(), body.as_bytes()).map(admin)
}

fn admin(request: Request) -> AdminRequest {
    match request {
        Request::Admin(request) => request,
        Request::Dispatch(request) => panic!("for the controller, and not {request:?}"),
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, ApiError>) -> Code {
    result.expect_err("this must fail").code
}

#[test]
fn only_posts_to_methods_that_exist_are_calls() {
    let call = |method, path, kind| Call::new(method, path, kind);
    let path = "/twirp/livekit.RoomService/ListRooms";
    for (method, path, kind) in [
        ("POST", path, JSON),
        ("POST", path, "Application/JSON; charset=utf-8"),
        ("POST", path, "application/protobuf"),
        ("POST", "//twirp/livekit.RoomService/ListRooms", JSON),
    ] {
        assert!(call(method, path, kind).is_ok(), "{method} {path} {kind}");
    }
    for (method, path, kind) in [
        ("GET", path, JSON),
        ("PUT", path, JSON),
        ("POST", path, ""),
        ("POST", path, "text/plain"),
        ("POST", path, "application/json+x"),
        ("POST", "/twirp/livekit.RoomService/listRooms", JSON),
        ("POST", "/twirp/livekit.RoomService/", JSON),
        ("POST", "/twirp/livekit.RoomService", JSON),
        ("POST", "/twirp/livekit.RoomService/ListRooms/", JSON),
        ("POST", "/twirp/RoomService/ListRooms", JSON),
        ("POST", "/twirp/livekit.Weather/Get", JSON),
        ("POST", "/twirp/livekit.Egress/Fly", JSON),
        ("POST", "/twirp/", JSON),
        ("POST", "///twirp/livekit.RoomService/ListRooms", JSON),
    ] {
        let refused = call(method, path, kind).expect_err(path);
        assert_eq!((refused.code, refused.code.status()), (Code::BadRoute, 404));
        let body: Value = serde_json::from_slice(&refused.json()).unwrap();
        assert_eq!(body["code"], "bad_route");
        assert_eq!(body["meta"]["twirp_invalid_route"], format!("{method} {path}"));
    }
    assert!(Call::is_path("/twirp/anything") && !Call::is_path("/twirpy") && !Call::is_path("/rtc"));
}

#[test]
fn each_method_needs_its_grant() {
    let with = |grant: &str| {
        let mut claims = Claims::default();
        let video = &mut claims.video;
        match grant {
            "roomCreate" => video.room_create = true,
            "roomList" => video.room_list = true,
            "roomAdmin" => (video.room_admin, video.room) = (true, "lobby".to_owned()),
            "roomRecord" => video.room_record = true,
            "ingressAdmin" => video.ingress_admin = true,
            "sip.admin" => {
                claims.sip = Some(SipGrant {
                    admin: true,
                    call: false,
                })
            }
            "sip.call" => {
                claims.sip = Some(SipGrant {
                    admin: false,
                    call: true,
                })
            }
            other => panic!("no grant {other}"),
        }
        claims
    };
    let all = [
        ("RoomService/CreateRoom", "roomCreate"),
        ("RoomService/DeleteRoom", "roomCreate"),
        ("RoomService/ListRooms", "roomList"),
        ("RoomService/ListParticipants", "roomAdmin"),
        ("RoomService/GetParticipant", "roomAdmin"),
        ("RoomService/RemoveParticipant", "roomAdmin"),
        ("RoomService/MutePublishedTrack", "roomAdmin"),
        ("RoomService/UpdateParticipant", "roomAdmin"),
        ("RoomService/UpdateSubscriptions", "roomAdmin"),
        ("RoomService/SendData", "roomAdmin"),
        ("RoomService/UpdateRoomMetadata", "roomAdmin"),
        ("RoomService/ForwardParticipant", "roomAdmin"),
        ("RoomService/MoveParticipant", "roomAdmin"),
        ("RoomService/PerformRpc", "roomAdmin"),
        ("Egress/StartRoomCompositeEgress", "roomRecord"),
        ("Ingress/CreateIngress", "ingressAdmin"),
        ("SIP/CreateSIPInboundTrunk", "sip.admin"),
        ("SIP/CreateSIPParticipant", "sip.call"),
        ("AgentDispatchService/CreateDispatch", "roomAdmin"),
    ];
    for (method, needed) in all {
        let call = Call::new("POST", &format!("/twirp/livekit.{method}"), JSON).expect(method);
        for (_, grant) in all {
            let code = call.check(&with(grant)).err().map(|error| error.code);
            let is_there = ["RoomService", "AgentDispatchService"]
                .iter()
                .any(|service| method.starts_with(service));
            let expected = match (grant == needed, is_there) {
                (false, _) => Some(Code::Unauthenticated),
                (true, true) => None,
                (true, false) => Some(Code::Unimplemented),
            };
            assert_eq!(code, expected, "{method} with {grant}");
        }
    }
}

#[test]
fn an_administrator_of_one_room_is_none_of_another() {
    for method in [
        "ListParticipants",
        "GetParticipant",
        "RemoveParticipant",
        "MutePublishedTrack",
        "UpdateParticipant",
        "UpdateSubscriptions",
        "SendData",
        "UpdateRoomMetadata",
        "PerformRpc",
    ] {
        assert!(read(method, r#"{"room": "lobby"}"#).is_ok(), "{method}");
        let refused = code(read(method, r#"{"room": "attic"}"#));
        assert_eq!(refused, Code::Unauthenticated, "{method}");
        assert_eq!(code(read(method, "{}")), Code::Unauthenticated, "{method}");
    }
}

#[test]
fn methods_of_the_cloud_fail_as_on_an_open_server() {
    let mut claims = claims();
    let mut forward = |destination: &str, said: &str| {
        claims.video.destination_room = destination.to_owned();
        let body = json!({"room": "lobby", "identity": "ada", "destinationRoom": said}).to_string();
        ["ForwardParticipant", "MoveParticipant"].map(|method| code(call(method).read(&claims, body.as_bytes())))
    };
    assert_eq!(forward("attic", "cellar"), [Code::Unauthenticated; 2]);
    assert_eq!(forward("lobby", "lobby"), [Code::InvalidArgument; 2]);
    assert_eq!(forward("attic", "attic"), [Code::Unknown; 2]);
}

#[test]
fn names_in_json_have_both_forms_and_unknown_fields_are_left_out() {
    let expected = AdminRequest::CreateRoom(CreateRoom {
        api_key: claims().iss,
        name: "lobby".to_owned(),
        empty_timeout: Some(Duration::from_secs(60)),
        departure_timeout: None,
        max_participants: Some(3),
        metadata: "agenda".to_owned(),
        agents: Vec::new(),
    });
    for body in [
        r#"{"name": "lobby", "empty_timeout": 60, "max_participants": 3, "metadata": "agenda"}"#,
        r#"{"name": "lobby", "emptyTimeout": "60", "maxParticipants": 3.0, "metadata": "agenda", "weather": {"a": [1]}}"#,
        r#"{"name": "lobby", "emptyTimeout": 60, "maxParticipants": 3, "metadata": "agenda", "departureTimeout": null,
            "egress": null, "tags": {"a": "b"}, "agents": [], "minPlayoutDelay": 1, "syncStreams": true} trailing"#,
    ] {
        assert_eq!(read("CreateRoom", body).as_ref(), Ok(&expected), "{body}");
    }
    let encoded = proto::CreateRoomRequest {
        name: "lobby".to_owned(),
        empty_timeout: 60,
        max_participants: 3,
        metadata: "agenda".to_owned(),
        ..proto::CreateRoomRequest::default()
    };
    let read = protobuf("CreateRoom").read(&claims(), &encoded.encode_to_vec());
    assert_eq!(read.map(admin), Ok(expected));
}

#[test]
fn enums_are_read_by_name_and_number_and_bytes_as_base64() {
    let sent = |kind: &str| {
        let body = format!(r#"{{"room": "lobby", "kind": {kind}, "data": "aGk=", "destinationIdentities": ["ada"]}}"#);
        read("SendData", &body)
    };
    let expected = |reliable| {
        Ok(AdminRequest::SendData(SendData {
            room: "lobby".to_owned(),
            payload: b"hi".as_slice().into(),
            reliable,
            destinations: vec!["ada".to_owned()],
            ..SendData::default()
        }))
    };
    for kind in ["\"LOSSY\"", "1"] {
        assert_eq!(sent(kind), expected(false), "{kind}");
    }
    for kind in ["\"RELIABLE\"", "0", "null", "\"CARRIER_PIGEON\""] {
        assert_eq!(sent(kind), expected(true), "{kind}");
    }
}

#[test]
fn bodies_that_cannot_be_read_are_malformed() {
    let deep = format!(r#"{{"name": "a", "x": {}"#, "[".repeat(100_000));
    let deep_egress = format!(r#"{{"name": "a", "egress": {}}}"#, r#"{"room": "#.repeat(1000));
    for body in [
        "",
        "nonsense",
        "[]",
        "null",
        "\"text\"",
        "{",
        r#"{"name": 1}"#,
        r#"{"name": {}}"#,
        r#"{"name": ["a"]}"#,
        r#"{"emptyTimeout": -1}"#,
        r#"{"emptyTimeout": 4294967296}"#,
        r#"{"emptyTimeout": 1.5}"#,
        r#"{"emptyTimeout": "soon"}"#,
        r#"{"metadata": "\ud800"}"#,
        &deep,
        &deep_egress,
    ] {
        let shown = &body[..body.len().min(60)];
        assert_eq!(code(read("CreateRoom", body)), Code::Malformed, "{shown}");
    }
    let bytes = |method: &str, body: &[u8]| code(call(method).read(&claims(), body));
    assert_eq!(bytes("CreateRoom", b"{\"name\": \"\xff\"}"), Code::Malformed);
    assert_eq!(bytes("SendData", br#"{"room": "lobby", "data": "*"}"#), Code::Malformed);
    let nested = [0x32, 0xff, 0xff, 0xff, 0xff, 0x0f].repeat(1000);
    for body in [&b"\xff"[..], b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x02\xff\xff", &nested] {
        let refused = protobuf("CreateRoom").read(&claims(), body);
        assert_eq!(code(refused), Code::Malformed, "{body:?}");
    }
}

#[test]
fn requests_over_a_limit_are_invalid() {
    let many = |count| (0..count).map(|_| "x").collect::<Vec<_>>();
    let tracks = json!({"room": "lobby", "trackSids": many(1500), "participantTracks": [{"trackSids": many(501)}]});
    let receivers = json!({"room": "lobby", "destinationIdentities": many(1001)});
    for (method, body) in [
        ("ListRooms", json!({"names": many(10_001)})),
        ("UpdateSubscriptions", tracks),
        ("SendData", receivers),
        ("CreateRoom", json!({"name": "a", "roomPreset": "large"})),
    ] {
        assert_eq!(code(read(method, &body.to_string())), Code::InvalidArgument, "{method}");
    }
    let recorded = read("CreateRoom", r#"{"name": "a", "egress": {"room": {}}}"#);
    assert_eq!(code(recorded), Code::Unimplemented);
}

#[test]
fn a_token_comes_in_the_header_or_in_the_address() {
    let keys = ApiKeys::default().with("devkey", "secret");
    let token = sign(&claims(), &keys).unwrap();
    let asked = |header: Option<&str>, query: &str| authorize(header, query, &keys, NOW);
    assert!(asked(Some(&format!("Bearer {token}")), "").is_ok());
    assert!(asked(None, &format!("access_token={token}")).is_ok());
    for (header, query) in [
        (None, String::new()),
        (Some("Bearer".to_owned()), String::new()),
        (Some(format!("Basic {token}")), format!("access_token={token}")),
        (Some("Bearer nonsense".to_owned()), String::new()),
        (Some(format!("Bearer {token}x")), String::new()),
    ] {
        assert_eq!(
            code(asked(header.as_deref(), &query)),
            Code::Unauthenticated,
            "{header:?}"
        );
    }
    let stranger = ApiKeys::default().with("devkey", "another secret");
    let header = format!("Bearer {token}");
    assert_eq!(
        code(authorize(Some(&header), "", &stranger, NOW)),
        Code::Unauthenticated
    );
}

#[test]
fn a_key_creates_and_deletes_its_own_rooms_only() {
    let mut shop = claims();
    shop.key_rooms = RoomNames::new(vec!["shop-*".to_owned()]);
    let read = |method: &str, body: &str| call(method).read(&shop, body.as_bytes());
    assert!(read("CreateRoom", r#"{"name":"shop-1"}"#).is_ok());
    assert!(read("DeleteRoom", r#"{"room":"shop-1"}"#).is_ok());
    assert_eq!(code(read("CreateRoom", r#"{"name":"school"}"#)), Code::Unauthenticated);
    assert_eq!(code(read("DeleteRoom", r#"{"room":"school"}"#)), Code::Unauthenticated);
}
