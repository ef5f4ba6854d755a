//! Inputs of any length that are expensive for their length: a parser's work must grow in
//! proportion.

use std::fmt::Write as _;

mod relay;
mod signalling;
mod turn;
mod whip_requests;

pub use relay::{NG_REQUESTS, NG_VALUES, PHONES, RTPPROXY};
pub use signalling::{CALLS, JOINS, JSON, OFFERS, TOKENS};
pub use turn::TURN;
pub use whip_requests::REQUESTS;

/// A name, and an input of about the given number of bytes.
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

/// Empty records.
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
