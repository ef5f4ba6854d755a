//! Answers and their codes, and calls that are answered later.

use controller::{AdminError, AgentRequest, PerformRpc, RoomInfo, RpcError};

use super::*;
use crate::agents::DispatchReply;

#[test]
fn answers_in_json_name_every_field_as_the_protocol_does() {
    let room = RoomInfo {
        sid: "RM_1".to_owned(),
        name: "lobby".to_owned(),
        empty_timeout: Duration::from_secs(300),
        departure_timeout: Duration::from_secs(20),
        max_participants: 0,
        created: NOW,
        metadata: String::new(),
        num_participants: 2,
        num_publishers: 0,
        active_recording: false,
    };
    let written = call("ListRooms").write(AdminReply::Rooms(vec![room.clone()]));
    let written: Value = serde_json::from_slice(&written).unwrap();
    let written = &written["rooms"][0];
    assert_eq!(
        (&written["sid"], &written["empty_timeout"], &written["creation_time"]),
        (&json!("RM_1"), &json!(300), &json!("1800000000"))
    );
    assert_eq!(
        (
            &written["max_participants"],
            &written["metadata"],
            &written["active_recording"]
        ),
        (&json!(0), &json!(""), &json!(false))
    );
    let written = protobuf("CreateRoom").write(AdminReply::Room(room));
    assert_eq!(proto::Room::decode(&written[..]).unwrap().num_participants, 2);
    assert_eq!(call("DeleteRoom").write(AdminReply::Done), b"{}");
    assert_eq!(protobuf("DeleteRoom").write(AdminReply::Done), b"");
}

#[test]
fn errors_of_the_controller_have_twirps_codes_and_statuses() {
    for (error, code, status) in [
        (AdminError::RoomNotFound, "not_found", 404),
        (AdminError::ParticipantNotFound, "not_found", 404),
        (AdminError::TrackNotFound, "not_found", 404),
        (AdminError::Draining, "unavailable", 503),
        (AdminError::TooManyRooms, "resource_exhausted", 429),
        (AdminError::TooManyRoomsOfKey, "resource_exhausted", 429),
        (AdminError::RemoteUnmuteDisabled, "failed_precondition", 412),
        (AdminError::InvalidArgument("x"), "invalid_argument", 400),
    ] {
        let message = error.to_string();
        let error = ApiError::from(error);
        assert_eq!((error.code.name(), error.code.status()), (code, status));
        let body: Value = serde_json::from_slice(&error.json()).unwrap();
        assert_eq!(body, json!({"code": code, "msg": message}));
    }
}

#[test]
fn calls_to_participants_are_read_and_their_errors_written() {
    let read = read(
        "PerformRpc",
        r#"{"room": "lobby", "destinationIdentity": "ada", "method": "greet", "payload": "hi", "responseTimeoutMs": 1500}"#,
    );
    let expected = PerformRpc {
        room: "lobby".to_owned(),
        identity: "ada".to_owned(),
        method: "greet".to_owned(),
        payload: "hi".to_owned(),
        response_timeout: Some(Duration::from_millis(1500)),
    };
    assert_eq!(read, Ok(AdminRequest::PerformRpc(expected)));
    let written = call("PerformRpc").write(AdminReply::RpcResult("hello".to_owned()));
    assert_eq!(written, br#"{"payload":"hello"}"#);
    for (code, name) in [
        (1400, "invalid_argument"),
        (1401, "not_found"),
        (1402, "malformed"),
        (1403, "unimplemented"),
        (1500, "internal"),
        (1501, "canceled"),
        (1502, "canceled"),
        (1503, "unavailable"),
        (1504, "malformed"),
        (7, "internal"),
    ] {
        let error = ApiError::from(AdminError::Rpc(RpcError::new(code)));
        assert_eq!(error.code.name(), name, "{code}");
        assert!(error.message.starts_with(&format!("RpcError {code}: ")), "{error}");
    }
}

#[test]
fn a_token_may_set_up_the_room_it_creates() {
    let with = |json: Value| {
        let mut claims = claims();
        claims.room_config = json.as_object().cloned();
        set_up(&claims)
    };
    assert_eq!(set_up(&claims()), Ok(CreateRoom::default()));
    let mut preset = claims();
    preset.room_preset = "recorded".to_owned();
    assert!(set_up(&preset).is_err(), "there are no presets");
    let said = json!({"name": "small", "emptyTimeout": 60, "departure_timeout": 5, "maxParticipants": 2, "metadata": "m",
                      "agents": [{"agentName": "a"}], "foreign": 1});
    let expected = CreateRoom {
        api_key: String::new(),
        name: String::new(),
        empty_timeout: Some(Duration::from_secs(60)),
        departure_timeout: Some(Duration::from_secs(5)),
        max_participants: Some(2),
        metadata: "m".to_owned(),
        agents: vec![AgentRequest {
            name: "a".to_owned(),
            ..AgentRequest::default()
        }],
    };
    assert_eq!(with(said), Ok(expected));
    assert!(with(json!({"maxParticipants": "many"})).is_err());
}

#[test]
fn the_length_of_a_list_of_dispatches_is_told() {
    let dispatch = proto::AgentDispatch {
        metadata: "m".repeat(60_000),
        ..proto::AgentDispatch::default()
    };
    let reply = || Reply::from(DispatchReply::All(vec![dispatch.clone(); 64]));
    let written = protobuf("ListRooms").write(reply());
    assert!((written.len() - 64 * 8..=written.len()).contains(&reply().told_len()));
}
