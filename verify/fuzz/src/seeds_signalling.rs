//! Valid signalling to start from.

use livekit_protocol::signal_request::Message;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{
    AddTrackRequest, AvailabilityResponse, CreateRoomRequest, MigrateJobRequest, SessionDescription, SignalRequest,
    SyncState, UpdateJobStatus, UpdateSubscription, UpdateTrackSettings, UpdateWorkerStatus, WorkerMessage,
};
use prost::Message as _;

/// A real browser's offer.
const OFFER: &str = include_str!("../../../crates/wire/src/sdp/fixtures/chromium-v0-publish.sdp");

/// Session descriptions of three implementations.
pub fn sdp() -> Vec<Vec<u8>> {
    let fixtures = [
        OFFER,
        include_str!("../../../crates/wire/src/sdp/fixtures/aiortc.sdp"),
        include_str!("../../../crates/wire/src/sdp/fixtures/firefox.sdp"),
    ];
    fixtures.map(|text| text.as_bytes().to_vec()).into()
}

/// Queries of a joining client, in both forms.
pub fn queries() -> Vec<Vec<u8>> {
    vec![
        b"protocol=16&auto_subscribe=1&sdk=js&version=2.23.0&attributes=e30".to_vec(),
        b"reconnect=1&sid=PA_x&reconnect_reason=2".to_vec(),
        b"join_request=CAASBwoFCgMxNi4".to_vec(),
    ]
}

/// Something in the form of a token.
pub fn tokens() -> Vec<Vec<u8>> {
    vec![b"eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJkZXZrZXkiLCJzdWIiOiJhZGEifQ.AAAA".to_vec()]
}

/// The same as JSON.
pub fn signal_json() -> Vec<Vec<u8>> {
    let read = |bytes: Vec<u8>| SignalRequest::decode(&*bytes).ok();
    let messages = signal().into_iter().filter_map(read);
    messages
        .map(|message| serde_json::to_vec(&message).expect("messages have a JSON form"))
        .collect()
}

/// Calls of the server API: a byte that chooses the method and the form, and the body.
pub fn api() -> Vec<Vec<u8>> {
    let room = CreateRoomRequest {
        name: "lobby".to_owned(),
        empty_timeout: 60,
        metadata: "agenda".to_owned(),
        ..CreateRoomRequest::default()
    };
    let calls: [(u8, &[u8]); 6] = [
        (
            0,
            br#"{"name": "lobby", "emptyTimeout": 60, "agents": [{"agentName": "a"}], "tags": {"a": "b"}}"#,
        ),
        (1, br#"{"names": ["lobby", "attic"]}"#),
        (
            7,
            br#"{"room": "lobby", "attributes": {"a": "b"}, "permission": {"canPublishSources": ["CAMERA"]}}"#,
        ),
        (
            8,
            br#"{"room": "lobby", "participantTracks": [{"trackSids": ["TR_x"]}], "subscribe": true}"#,
        ),
        (
            9,
            br#"{"room": "lobby", "data": "aGk=", "kind": "LOSSY", "destinationIdentities": ["ada"]}"#,
        ),
        (0x80, &room.encode_to_vec()),
    ];
    let input = |(choice, body): (u8, &[u8])| [&[choice], body].concat();
    calls.map(input).into()
}

/// Messages of a worker of agents that has registered.
pub fn worker() -> Vec<Vec<u8>> {
    let answer = AvailabilityResponse {
        job_id: "AJ_x".to_owned(),
        available: true,
        participant_identity: "agent".to_owned(),
        participant_attributes: [("a".to_owned(), "b".to_owned())].into(),
        ..AvailabilityResponse::default()
    };
    let status = UpdateWorkerStatus {
        status: Some(1),
        load: 0.5,
        job_count: 1,
        ..UpdateWorkerStatus::default()
    };
    let job = UpdateJobStatus {
        job_id: "AJ_x".to_owned(),
        status: 3,
        error: "it broke".to_owned(),
    };
    let report = MigrateJobRequest {
        job_ids: vec!["AJ_x".to_owned()],
    };
    let messages = [
        Said::Availability(answer),
        Said::UpdateWorker(status),
        Said::UpdateJob(job),
        Said::MigrateJob(report),
    ];
    let encoded = messages.map(|said| WorkerMessage { message: Some(said) }.encode_to_vec());
    let mut seeds = Vec::from(encoded);
    seeds.push(br#"{"availability":{"jobId":"AJ_x","available":true}}"#.to_vec());
    seeds
}

/// Messages of a client that has joined.
pub fn signal() -> Vec<Vec<u8>> {
    let offer = SessionDescription {
        r#type: "offer".to_owned(),
        sdp: OFFER.to_owned(),
        id: 1,
        ..SessionDescription::default()
    };
    let track = AddTrackRequest {
        cid: "camera".to_owned(),
        r#type: 1,
        source: 1,
        width: 640,
        height: 360,
        ..AddTrackRequest::default()
    };
    let subscription = UpdateSubscription {
        track_sids: vec!["TR_VCx".to_owned()],
        subscribe: true,
        ..UpdateSubscription::default()
    };
    let messages = [
        Message::AddTrack(track),
        Message::Offer(offer.clone()),
        Message::Answer(offer),
        Message::Subscription(subscription),
        Message::TrackSetting(UpdateTrackSettings::default()),
        Message::SyncState(SyncState::default()),
        Message::Ping(1),
    ];
    let encode = |message| SignalRequest { message: Some(message) }.encode_to_vec();
    let mut seeds: Vec<Vec<u8>> = messages.into_iter().map(encode).collect();
    seeds.push(br#"{"ping":"1"}"#.to_vec());
    seeds
}
