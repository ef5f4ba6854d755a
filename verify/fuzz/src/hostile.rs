//! Inputs that are made to cost much for their length, of any length: what a parser does with them must grow as they do.

use std::fmt::Write as _;
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

/// A name, and an input of about so many bytes.
pub type Family = (&'static str, fn(usize) -> Vec<u8>);

const HEAD: &str = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n";
const VIDEO: &str = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\n";
const CREDENTIALS: &str = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n";
const DIGEST: &str = "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA";

/// Numbered lines until there are `len` bytes.
fn lines(len: usize, line: fn(usize) -> String) -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < len {
        let _ = write!(text, "{}\r\n", line(number));
        number += 1;
    }
    text
}

/// Lines for the whole session, and as many sections as there may be.
fn for_all(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    let sections = "m=audio 9 RTP/AVP 0\r\n".repeat(512);
    format!("{HEAD}{CREDENTIALS}{}{sections}", lines(len, line)).into_bytes()
}

/// Lines of one section.
fn in_one(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    format!(
        "{HEAD}{CREDENTIALS}a=fingerprint:sha-256 {DIGEST}\r\n{VIDEO}{}",
        lines(len, line)
    )
    .into_bytes()
}

/// A section again and again.
fn sections(len: usize, section: fn(usize) -> String) -> Vec<u8> {
    let bundle: Vec<_> = (0..512).map(|mid| mid.to_string()).collect();
    let session = format!(
        "a=group:BUNDLE {}\r\n{CREDENTIALS}a=fingerprint:sha-256 {DIGEST}\r\n",
        bundle.join(" ")
    );
    let mut text = format!("{HEAD}{session}");
    for number in 0..512 {
        if text.len() >= len {
            break;
        }
        let _ = write!(text, "{VIDEO}a=mid:{number}\r\n{}\r\n", section(number));
    }
    text.into_bytes()
}

/// All payload types, each with a codec and parameters of their own.
fn formats(number: usize) -> String {
    let listed: Vec<_> = (0..128).map(|format| format.to_string()).collect();
    let mut text = format!("m=video 9 UDP/TLS/RTP/SAVPF {}\r\n", listed.join(" "));
    for format in 0..128 {
        let _ = write!(
            text,
            "a=rtpmap:{format} VP9/90000\r\na=fmtp:{format} profile-id=0;x={number}\r\n"
        );
    }
    for kind in 0..64 {
        let _ = write!(text, "a=rtcp-fb:* nack {kind}\r\n");
    }
    text
}

/// Session descriptions of WebRTC.
pub const SDP: &[Family] = &[
    ("ice options for all", |len| {
        for_all(len, |_| format!("a=ice-options:{}", "x ".repeat(500)))
    }),
    ("fingerprints for all", |len| {
        for_all(len, |_| format!("a=fingerprint:sha-256 {DIGEST}"))
    }),
    ("other fingerprints for all", |len| {
        for_all(len, |at| {
            format!("a=fingerprint:sha-256 {:02X}{}", at % 256, &DIGEST[2..])
        })
    }),
    ("broken fingerprints for all", |len| {
        for_all(len, |_| "a=fingerprint:".to_owned())
    }),
    ("roles for all", |len| for_all(len, |_| "a=setup:passive".to_owned())),
    ("directions for all", |len| for_all(len, |_| "a=inactive".to_owned())),
    ("extensions for all", |len| {
        for_all(len, |at| format!("a=extmap:{} urn:{}", at % 256, "u".repeat(200)))
    }),
    ("sections", |len| sections(len, |_| String::new())),
    ("sections of many formats", |len| sections(len, formats)),
    ("long parameters", |len| {
        sections(len, |_| {
            let formats =
                (0..128).map(|it| format!("a=rtpmap:{it} rtx/90000\r\na=fmtp:{it} {}apt=96\r\n", "x;".repeat(500)));
            format!("m=video 9 UDP/TLS/RTP/SAVPF 96\r\n{}", formats.collect::<String>())
        })
    }),
    ("names without sections", |len| {
        format!("{HEAD}a=group:BUNDLE {}\r\n{VIDEO}", "7 ".repeat(len / 2)).into_bytes()
    }),
    ("payload types", |len| {
        format!("{HEAD}m=video 9 RTP/AVP {}\r\n", "96 ".repeat(len / 3)).into_bytes()
    }),
    ("names", |len| sections(len, |_| "a=mid:7".to_owned())),
    ("garbage", |len| in_one(len, |_| "x".to_owned())),
    ("unknown attributes", |len| in_one(len, |at| format!("a=x{at}"))),
    ("bandwidths", |len| in_one(len, |at| format!("b=AS:{at}"))),
    ("keys", |len| {
        in_one(len, |at| format!("a=crypto:{at} AES_CM_128_HMAC_SHA1_80 inline:x"))
    }),
    ("rtpmap", |len| {
        in_one(len, |at| format!("a=rtpmap:{} c{at}/1", at % 128))
    }),
    ("fmtp", |len| in_one(len, |at| format!("a=fmtp:{} p={at}", at % 128))),
    ("rtcp-fb", |len| in_one(len, |at| format!("a=rtcp-fb:* {at}"))),
    ("extmap", |len| {
        in_one(len, |at| format!("a=extmap:{} urn:{at}", at % 256))
    }),
    ("ssrc", |len| in_one(len, |at| format!("a=ssrc:{at} cname:x"))),
    ("ssrc-group", |len| {
        in_one(len, |at| format!("a=ssrc-group:FID {at} {at}"))
    }),
    ("large ssrc-group", |len| {
        in_one(len, |_| format!("a=ssrc-group:SIM {}", "1 ".repeat(400)))
    }),
    ("candidate", |len| {
        in_one(len, |at| format!("a=candidate:{at} 1 udp 1 192.0.2.1 9 typ host"))
    }),
    ("rid", |len| in_one(len, |at| format!("a=rid:{at} send"))),
    ("simulcast", |len| {
        in_one(len, |_| {
            format!("a=rid:1 send\r\na=simulcast:send {}", "1;".repeat(400))
        })
    }),
    ("msid", |len| in_one(len, |at| format!("a=msid:s {at}"))),
];

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

/// Values of the `ng` protocol.
pub const NG_VALUES: &[Family] = &[
    ("deep", |len| format!("d1:a{}", "l".repeat(len)).into_bytes()),
    ("wide", |len| format!("d1:al{}ee", "le".repeat(len / 2)).into_bytes()),
    ("names", |len| format!("d{}e", "0:0:".repeat(len / 4)).into_bytes()),
    ("deep JSON", |len| format!("{{\"a\":{}", "[".repeat(len)).into_bytes()),
    ("wide JSON", |len| {
        format!("{{\"a\":[{}1]}}", "1,".repeat(len / 2)).into_bytes()
    }),
];

/// Requests of the `ng` protocol.
pub const NG_REQUESTS: &[Family] = &[
    ("strips and formats", |len| {
        let strips: String = (0..len / 12).map(|at| format!("6:C{at:05}")).collect();
        let formats: Vec<_> = (0..len / 6).map(|at| at.to_string()).collect();
        let rest = format!("5:codecd5:stripl{strips}ee");
        ng_offer(&format!("m=audio 6000 RTP/AVP {}\r\n", formats.join(" ")), &rest)
    }),
    ("formats that go", |len| {
        let numbers = 0..len / 30;
        let formats: Vec<_> = numbers.clone().map(|at| at.to_string()).collect();
        let maps: String = numbers.map(|at| format!("a=rtpmap:{at} PCMA/8000\r\n")).collect();
        let media = format!("m=audio 6000 RTP/AVP {} 0\r\n{maps}", formats.join(" "));
        ng_offer(&media, "5:codecd5:stripl4:PCMAee")
    }),
    ("flags", |len| {
        ng_offer(
            "m=audio 6000 RTP/AVP 0\r\n",
            &format!("5:flagsl{}e", "6:SDES-x".repeat(len / 8)),
        )
    }),
    ("suites", |len| {
        let keys = lines(len / 2, |at| {
            format!("a=crypto:{at} AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz")
        });
        let without = "14:no-AEAD_AES_12".repeat(len / 40);
        ng_offer(
            &format!("m=audio 6000 RTP/SAVP 0\r\n{keys}"),
            &format!("4:SDESl{without}e18:transport-protocol7:RTP/AVP"),
        )
    }),
    ("flags in a text", |len| {
        let text = "codec-strip=X ".repeat(len / 14);
        ng_offer(
            "m=audio 6000 RTP/AVP 0\r\n",
            &format!("10:rtpp-flags{}:{text}", text.len()),
        )
    }),
    ("lines", |len| {
        ng_offer(
            &format!(
                "m=audio 6000 RTP/AVP 0\r\n{}",
                lines(len, |at| format!("a=candidate:{at}"))
            ),
            "",
        )
    }),
];

/// Commands of rtpproxy's protocol.
pub const RTPPROXY: &[Family] = &[
    ("words", |len| format!("1 Q c {}", "a ".repeat(len / 2)).into_bytes()),
    ("modifiers", |len| {
        format!("1 U{} c 192.0.2.1 6004 a", "c0,".repeat(len / 3)).into_bytes()
    }),
    ("calls", |len| {
        lines(len, |at| format!("{at} U c{at} 192.0.2.1 6004 a")).into_bytes()
    }),
];

/// Phones' descriptions.
pub const PHONES: &[Family] = &[
    ("formats", |len| {
        format!(
            "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 6000 RTP/AVP {}\r\n",
            "9 ".repeat(len / 2)
        )
        .into_bytes()
    }),
    ("sections", |len| {
        format!(
            "v=0\r\nc=IN IP4 192.0.2.1\r\n{}",
            lines(len, |_| "m=audio 6000 RTP/AVP 0".to_owned())
        )
        .into_bytes()
    }),
    ("lines", |len| {
        format!(
            "v=0\r\nm=audio 6000 RTP/AVP 0\r\n{}",
            lines(len, |_| "a=setup:active".to_owned())
        )
        .into_bytes()
    }),
    ("keys", |len| {
        let keys = lines(len, |at| {
            format!("a=crypto:{at} AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz")
        });
        format!("v=0\r\nm=audio 6000 RTP/SAVP 0\r\n{keys}").into_bytes()
    }),
    ("rtpmap", |len| {
        format!(
            "v=0\r\nm=audio 6000 RTP/AVP 0\r\n{}",
            lines(len, |at| format!("a=rtpmap:{at} x/1"))
        )
        .into_bytes()
    }),
];

/// Chunks as short as they may be, and DATA of one byte each.
pub const SCTP: &[Family] = &[("sctp empty chunks", sctp_empty), ("sctp short data", sctp_data)];

fn sctp_empty(len: usize) -> Vec<u8> {
    let chunks = [192, 0, 0, 4].repeat(len.saturating_sub(12) / 4);
    [vec![1; 12], chunks].concat()
}

fn sctp_data(len: usize) -> Vec<u8> {
    let mut chunk = vec![0, 3, 0, 17];
    chunk.resize(20, 0);
    [vec![1; 12], chunk.repeat(len.saturating_sub(12) / 20)].concat()
}

/// Records with nothing in them.
pub const DTLS: &[Family] = &[("dtls empty records", dtls_empty)];

fn dtls_empty(len: usize) -> Vec<u8> {
    [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0].repeat(len / 13)
}

/// RTCP compounds.
pub const RTCP: &[Family] = &[
    ("sources", |len| {
        packets(len, 0x9f, 202, &[0, 0, 0, 1, 1, 0, 0, 0].repeat(31))
    }),
    ("texts", |len| {
        packets(
            len,
            0x81,
            202,
            &[&[0, 0, 0, 1][..], &[1, 0].repeat(2000), &[0; 4]].concat(),
        )
    }),
    ("losses", |len| {
        packets(len, 0x81, 205, &[&[0; 8][..], &[0, 1, 0xff, 0xff].repeat(300)].concat())
    }),
    ("key frames", |len| packets(len, 0x84, 206, &[0, 0, 0, 1].repeat(300))),
    ("estimates", |len| {
        packets(len, 0x8f, 206, &[&[0; 8][..], b"REMB\xff\0\0\0", &[1; 1020]].concat())
    }),
    ("goodbyes", |len| packets(len, 0x9f, 203, &[1; 124])),
    ("blocks", |len| packets(len, 0x9f, 201, &[1; 4 + 24 * 31])),
];

fn packets(len: usize, first: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let words = (body.len() / 4) as u16;
    let mut packet = vec![first, kind];
    packet.extend(words.to_be_bytes());
    packet.extend(body);
    packet.repeat(len.div_ceil(packet.len()))
}

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

fn ng_offer(media: &str, rest: &str) -> Vec<u8> {
    let sdp = format!("v=0\r\nc=IN IP4 192.0.2.1\r\n{media}").replace('\n', "\r");
    let names = "7:call-id1:c7:command5:offer8:from-tag1:a";
    format!("1 d{names}3:sdp{}:{sdp}{rest}e", sdp.len()).into_bytes()
}
