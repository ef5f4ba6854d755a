//! Costly requests of WHIP and WHEP.

use super::{CREDENTIALS, DIGEST, Family, HEAD, lines};

/// Requests, in the form that the target reads.
pub const REQUESTS: &[Family] = &[
    ("sections of a player", |len| played(len, |at| format!("a=x{at}"))),
    ("formats of a player", |len| {
        played(len, |at| {
            format!("a=rtpmap:{} VP8/90000\r\na=fmtp:{} x={at}", at % 128, at % 128)
        })
    }),
    ("extensions of a player", |len| {
        played(len, |at| format!("a=extmap:{} urn:{at}", at % 256))
    }),
    ("layers of a publisher", |len| {
        published(len, |at| format!("a=rid:{at} send max-width={at};max-height={at}"))
    }),
    ("numbered layers of a publisher", |len| {
        published(len, |at| format!("a=rid:{at} send"))
    }),
    ("sources of a publisher", |len| {
        published(len, |at| format!("a=ssrc:{at} cname:x\r\na=msid:s {at}"))
    }),
    ("candidates of a publisher", |len| published(len, candidate)),
    ("candidates in a fragment", |len| {
        format!("PATCH $OWN\n{FRAGMENT}if-match: $TAG\n\n{}", lines(len, candidate)).into_bytes()
    }),
    ("credentials in a fragment", |len| {
        let fragment = lines(len, |_| CREDENTIALS.trim_end().to_owned());
        format!("PATCH $OWN\n{FRAGMENT}if-match: *\n\n{fragment}").into_bytes()
    }),
    ("tags", |len| {
        format!(
            "PATCH $OWN\n{FRAGMENT}if-match: {}\n\na=x\r\n",
            "\"x\",".repeat(len / 4)
        )
        .into_bytes()
    }),
    ("media types", |len| {
        format!("POST /whip/v1\n{OFFER}accept: {}\n\n{HEAD}", "a/b;q=1,".repeat(len / 8)).into_bytes()
    }),
    ("parameters", |len| {
        format!("POST /whep/v1?{}\n{OFFER}\n{HEAD}", "&a%20=+".repeat(len / 7)).into_bytes()
    }),
    ("tracks", |len| {
        format!("POST /whep/v1?{}\n{OFFER}\n{HEAD}", "&track=x".repeat(len / 8)).into_bytes()
    }),
    ("slashes", |len| {
        format!("POST {}whip/v1\n{OFFER}\n{HEAD}", "/".repeat(len)).into_bytes()
    }),
];

const OFFER: &str = "authorization: ada\ncontent-type: application/sdp\n";
const FRAGMENT: &str = "authorization: ada\ncontent-type: application/trickle-ice-sdpfrag\n";

/// The sections of a player: as many as there may be.
const SECTIONS: usize = 32;

fn candidate(at: usize) -> String {
    format!("a=candidate:{at} 1 udp 1 192.0.2.1 9 typ host")
}

/// A player whose sections have these lines.
fn played(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    let all: Vec<_> = (0..SECTIONS).collect();
    offer("/whep/v1", "recvonly", &all, len, line)
}

/// A publisher whose section has these lines.
fn published(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    offer("/whip/v1", "sendonly", &[0], len, line)
}

fn offer(path: &str, direction: &str, mids: &[usize], len: usize, line: fn(usize) -> String) -> Vec<u8> {
    let bundle: Vec<_> = mids.iter().map(ToString::to_string).collect();
    let sections = mids.iter().map(|mid| {
        let formats: Vec<_> = (0..128).map(|format| format.to_string()).collect();
        format!(
            "m=video 9 UDP/TLS/RTP/SAVPF {}\r\na=mid:{mid}\r\na={direction}\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n{}",
            formats.join(" "),
            lines(len / mids.len(), line)
        )
    });
    let sections: String = sections.collect();
    let bundle = bundle.join(" ");
    format!(
        "POST {path}\n{OFFER}\n{HEAD}a=group:BUNDLE {bundle}\r\n{CREDENTIALS}a=fingerprint:sha-256 {DIGEST}\r\n\
         a=setup:actpass\r\n{sections}"
    )
    .into_bytes()
}
