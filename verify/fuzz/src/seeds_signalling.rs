//! Valid signalling to start from.

use livekit_protocol::signal_request::Message;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{
    AddTrackRequest, AvailabilityResponse, CreateRoomRequest, MigrateJobRequest, SessionDescription, SignalRequest,
    SyncState, UpdateJobStatus, UpdateSubscription, UpdateTrackSettings, UpdateWorkerStatus, WorkerMessage,
};
use prost::Message as _;

use crate::stage;

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

/// Requests of WHIP and WHEP, in the form that the target reads.
pub fn whip() -> Vec<Vec<u8>> {
    let [published, played] = ["sendonly", "recvonly"].map(stage::offer);
    let layers = "a=rid:0 send\r\na=rid:1 send\r\na=simulcast:send 0;1\r\n";
    let of_offer = "authorization: ada\ncontent-type: application/sdp\n";
    let of_fragment = "authorization: ada\ncontent-type: application/trickle-ice-sdpfrag\n";
    let section = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n";
    let candidate = "a=candidate:1 1 udp 1 192.0.2.9 9 typ host\r\na=end-of-candidates\r\n";
    let restart = "a=ice-ufrag:efgh\r\na=ice-pwd:9876543210987654321098\r\n";
    let requests = [
        format!("POST /whip/v1\n{of_offer}\n{published}"),
        format!("POST /whip/v1?source=screen_share\n{of_offer}user-agent: Mozilla/5.0\n\n{published}{layers}"),
        format!("POST /whep/v1?participant=ben&track=TR_x\n{of_offer}accept: text/html, */*;q=0.1\n\n{played}"),
        format!("POST /whep/v1?participant=ben\n{of_offer}\n{played}"),
        format!("POST /whep/v1?room=lobby\ncontent-type: application/sdp; charset=utf-8\n\n{played}"),
        format!("POST //whip/v1/\nauthorization: eve\ncontent-type: application/sdp\n\n{published}"),
        format!("PATCH $OWN\n{of_fragment}if-match: $TAG\n\n{section}{candidate}"),
        format!("PATCH $OWN\n{of_fragment}if-match: *\n\n{restart}{section}{candidate}"),
        format!("PATCH $OWN\n{of_fragment}if-match: W/\"x\", $TAG\n\n{restart}{section}"),
        format!("PATCH $OTHER\n{of_fragment}if-match: *\n\n{restart}{section}"),
        "DELETE $OWN\nauthorization: ada\n\n".to_owned(),
        "DELETE $OTHER\nauthorization: ada\n\n".to_owned(),
        "OPTIONS /whep/v1\n\n".to_owned(),
    ];
    requests.map(String::into_bytes).into()
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
