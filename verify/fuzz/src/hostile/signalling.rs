//! Costly messages of LiveKit clients: offers, joins, tokens.

use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use flate2::Compression;
use flate2::write::GzEncoder;
use livekit_protocol::signal_request::Message;
use livekit_protocol::{
    AddTrackRequest, JoinRequest, SessionDescription, SignalRequest, SyncState, TrackPublishedResponse, VideoLayer,
    WrappedJoinRequest, wrapped_join_request,
};
use prost::Message as _;

use super::{Family, SDP, lines};

/// The same, in requests of a client that has joined.
pub const OFFERS: &[Family] = &[
    ("fingerprints", |len| offer(SDP[1].1(len))),
    ("extensions", |len| offer(SDP[6].1(len))),
    ("sections", |len| offer(SDP[7].1(len))),
    ("formats", |len| offer(SDP[8].1(len))),
    ("parameters", |len| offer(SDP[9].1(len))),
    ("lines", |len| offer(SDP[21].1(len))),
    ("published tracks", |len| request(Message::SyncState(published(len)))),
    ("layers", |len| request(Message::AddTrack(track(len)))),
];

/// The same as JSON, and JSON that is deep or wide.
pub const JSON: &[Family] = &[
    ("sections", |len| json_offer(SDP[7].1(len))),
    ("formats", |len| json_offer(SDP[8].1(len))),
    ("deep", |len| {
        format!("{{\"offer\":{}", "{\"offer\":".repeat(len / 9)).into_bytes()
    }),
    ("deep and unknown", |len| {
        format!("{{\"zzz\":{}{}}}", "[".repeat(len / 2), "]".repeat(len / 2)).into_bytes()
    }),
    ("wide and unknown", |len| {
        format!("{{\"zzz\":[{}1]}}", "1,".repeat(len / 2)).into_bytes()
    }),
    ("published tracks", |len| {
        format!(
            "{{\"syncState\":{{\"publishTracks\":[{}{{}}]}}}}",
            "{},".repeat(len / 3)
        )
        .into_bytes()
    }),
    ("layers", |len| {
        format!("{{\"addTrack\":{{\"layers\":[{}{{}}]}}}}", "{},".repeat(len / 3)).into_bytes()
    }),
];

/// Calls of the server API.
pub const CALLS: &[Family] = &[
    ("deep and unknown", |len| {
        format!("\0{{\"zzz\":{}{}}}", "[".repeat(len / 2), "]".repeat(len / 2)).into_bytes()
    }),
    ("names", |len| {
        format!("\x01{{\"names\":[{}\"\"]}}", "\"\",".repeat(len / 3)).into_bytes()
    }),
    ("tracks of participants", |len| {
        format!("\x08{{\"participantTracks\":[{}{{}}]}}", "{},".repeat(len / 3)).into_bytes()
    }),
    ("agents", |len| {
        format!("\0{{\"agents\":[{}{{}}]}}", "{},".repeat(len / 3)).into_bytes()
    }),
];

/// Queries of joining clients, whose request is packed.
pub const JOINS: &[Family] = &[
    ("sections", |len| join(len, |len| offered(SDP[7].1(len)))),
    ("formats", |len| join(len, |len| offered(SDP[8].1(len)))),
    ("nothing", |len| packed(&vec![0; len * 64])),
    ("tracks", |len| {
        join(len, |len| JoinRequest {
            add_track_requests: vec![AddTrackRequest::default(); len / 2],
            ..JoinRequest::default()
        })
    }),
    ("layers", |len| {
        join(len, |len| JoinRequest {
            add_track_requests: vec![track(len)],
            ..JoinRequest::default()
        })
    }),
    ("published tracks", |len| {
        join(len, |len| JoinRequest {
            sync_state: Some(published(len)),
            ..JoinRequest::default()
        })
    }),
    ("parameters", |len| {
        lines(len, |at| format!("&a{at}=")).replace("\r\n", "").into_bytes()
    }),
    ("attributes", |len| {
        let pairs: Vec<_> = (0..len / 10).map(|at| format!("\"{at}\":\"\"")).collect();
        format!("attributes={}", URL_SAFE.encode(format!("{{{}}}", pairs.join(",")))).into_bytes()
    }),
];

/// Things in the form of tokens.
pub const TOKENS: &[Family] = &[
    ("deep claims", |len| {
        token(&format!("{{\"iss\":\"devkey\",\"z\":{}", "[".repeat(len)))
    }),
    ("wide claims", |len| {
        token(&format!("{{\"iss\":\"devkey\",\"z\":[{}1]}}", "1,".repeat(len / 2)))
    }),
    ("many claims", |len| {
        let claims: Vec<_> = (0..len / 8).map(|at| format!("\"{at}\":[]")).collect();
        token(&format!("{{\"iss\":\"devkey\",{}}}", claims.join(",")))
    }),
    ("parts", |len| ".".repeat(len).into_bytes()),
];

fn text(sdp: Vec<u8>) -> SessionDescription {
    SessionDescription {
        r#type: "offer".to_owned(),
        sdp: String::from_utf8(sdp).expect("these are text"),
        id: 1,
        ..SessionDescription::default()
    }
}

fn request(message: Message) -> Vec<u8> {
    SignalRequest { message: Some(message) }.encode_to_vec()
}

fn offer(sdp: Vec<u8>) -> Vec<u8> {
    request(Message::Offer(text(sdp)))
}

fn json_offer(sdp: Vec<u8>) -> Vec<u8> {
    let message = Some(Message::Offer(text(sdp)));
    serde_json::to_vec(&SignalRequest { message }).expect("it has a JSON form")
}

fn offered(sdp: Vec<u8>) -> JoinRequest {
    JoinRequest {
        publisher_offer: Some(text(sdp)),
        ..JoinRequest::default()
    }
}

fn published(len: usize) -> SyncState {
    SyncState {
        publish_tracks: vec![TrackPublishedResponse::default(); len / 2],
        ..SyncState::default()
    }
}

fn track(len: usize) -> AddTrackRequest {
    AddTrackRequest {
        layers: vec![VideoLayer::default(); len / 2],
        ..AddTrackRequest::default()
    }
}

/// The packed text is sixteen times as long, which is the limit.
fn join(len: usize, request: fn(usize) -> JoinRequest) -> Vec<u8> {
    packed(&request(len * 16).encode_to_vec())
}

fn packed(request: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(request).expect("memory takes everything");
    let wrapped = WrappedJoinRequest {
        compression: wrapped_join_request::Compression::Gzip.into(),
        join_request: encoder.finish().expect("memory takes everything"),
    };
    format!("join_request={}", URL_SAFE.encode(wrapped.encode_to_vec())).into_bytes()
}

fn token(claims: &str) -> Vec<u8> {
    let [header, claims] = [r#"{"alg":"HS256"}"#, claims].map(|part| URL_SAFE.encode(part));
    format!("{header}.{claims}.AAAA").into_bytes()
}
