//! Costly messages of SIP proxies and phones.

use super::{Family, lines};

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

fn ng_offer(media: &str, rest: &str) -> Vec<u8> {
    let sdp = format!("v=0\r\nc=IN IP4 192.0.2.1\r\n{media}").replace('\n', "\r");
    let names = "7:call-id1:c7:command5:offer8:from-tag1:a";
    format!("1 d{names}3:sdp{}:{sdp}{rest}e", sdp.len()).into_bytes()
}
