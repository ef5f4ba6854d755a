use std::net::IpAddr;

use wire::sdp::HashFunction;
use wire::srtp::{Mki, SessionParameters};

use super::*;
use crate::limits::SDES_KEYS_MAX;

/// A phone's description with faults: missing CRs, unknown attributes, a malformed line, bytes that
/// are no UTF-8.
const MESSY: &[u8] = b"v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=\xe9t\xe9\r\nc=IN IP4 192.0.2.1\nt=0 0\r\na=X-nat:0\r\nbroken\r\n\
m=audio 4000/2 RTP/AVP 0 8 96\r\ni=voice\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:96 telephone-event/8000\r\na=fmtp:96 0-15\r\n\
a=rtcp:4101 IN IP4 192.0.2.9\r\na=sendonly\r\na=silenceSupp:off - - - -\r\nm=video 0 RTP/AVP 34";

fn plain(port: u16) -> SectionRewrite {
    SectionRewrite {
        port,
        ice: Attributes::Keep,
        ..SectionRewrite::refused()
    }
}

fn rewrite(sections: Vec<SectionRewrite>) -> Rewrite {
    Rewrite {
        address: IpAddr::from([198, 51, 100, 1]),
        origin: None,
        origin_fields: Default::default(),
        session_name: None,
        ice_lite: false,
        mark: None,
        missing: Vec::new(),
        sections,
    }
}

#[test]
fn a_messy_description_is_read() {
    let description = Description::parse(MESSY).expect("readable");
    let [audio, video] = description.sections.as_slice() else {
        panic!("two sections")
    };
    assert_eq!(
        (audio.media, audio.port, audio.protocol, audio.formats),
        ("audio", 4000, "RTP/AVP", "0 8 96")
    );
    assert_eq!(audio.address, Some([192, 0, 2, 1].into()));
    assert_eq!(audio.rtcp, Some((4101, Some([192, 0, 2, 9].into()))));
    assert_eq!(
        (audio.direction, video.direction),
        (Direction::SendOnly, Direction::SendRecv)
    );
    assert_eq!((video.port, video.formats, video.keying()), (0, "34", Keying::Plain));
}

#[test]
fn unchanged_lines_stay_byte_for_byte_and_in_order() {
    let description = Description::parse(MESSY).expect("readable");
    let audio = SectionRewrite {
        direction: Some(Direction::SendOnly),
        rtcp: Some(5001),
        ..plain(5000)
    };
    let written = description.rewrite(&rewrite(vec![audio, plain(0)]));
    let expected: &[u8] = b"v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=\xe9t\xe9\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\na=X-nat:0\r\nbroken\r\n\
m=audio 5000 RTP/AVP 0 8 96\r\ni=voice\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:96 telephone-event/8000\r\na=fmtp:96 0-15\r\n\
a=silenceSupp:off - - - -\r\na=sendonly\r\na=rtcp:5001\r\nm=video 0 RTP/AVP 34\r\n";
    assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(expected));
}

#[test]
fn a_codec_goes_with_all_that_is_said_of_it() {
    let description = Description::parse(MESSY).expect("readable");
    let policy = CodecPolicy {
        strip: vec!["all".to_owned()],
        except: vec!["pcmu".to_owned()],
        ..CodecPolicy::default()
    };
    let unwanted = policy.unwanted(&description.sections[0], false);
    assert_eq!(unwanted, ["8", "96"]);
    let audio = SectionRewrite {
        without: unwanted.into_iter().map(str::to_owned).collect(),
        ..plain(5000)
    };
    let written = description.rewrite(&rewrite(vec![audio, plain(0)]));
    let written = String::from_utf8_lossy(&written);
    assert!(
        written.contains("m=audio 5000 RTP/AVP 0\r\n") && !written.contains(":96"),
        "{written}"
    );
    let everything = CodecPolicy {
        strip: vec!["all".to_owned()],
        ..CodecPolicy::default()
    };
    assert!(
        everything.unwanted(&description.sections[0], false).is_empty(),
        "a section without formats is none"
    );
}

#[test]
fn keys_and_ice_are_replaced_in_sections_and_in_the_session() {
    let text = b"v=0\no=- 1 1 IN IP6 ::1\ns=-\na=ice-lite\na=fingerprint:sha-256 00\na=group:BUNDLE 0\n\
m=audio 9 UDP/TLS/RTP/SAVPF 111\nc=IN IP6 ::1\na=setup:actpass\na=ice-ufrag:abcd\na=ice-pwd:0123456789012345678901\n\
a=candidate:1 1 udp 1 ::1 9 typ host\na=rtcp-mux\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:short\n";
    let description = Description::parse(text).expect("readable");
    let section = &description.sections[0];
    assert!(description.ice_lite && section.rtcp_mux && section.ice.is_some() && section.cryptos.is_empty());
    let credentials = IceCredentials {
        ufrag: "ours".to_owned(),
        password: "p".repeat(22),
    };
    let candidate = Candidate {
        component: 1,
        address: [198, 51, 100, 1].into(),
        port: 5000,
    };
    let change = SectionRewrite {
        protocol: Some("RTP/AVP".to_owned()),
        keying: Attributes::Strip,
        ice: Attributes::Replace((credentials, vec![candidate])),
        mid: Attributes::Replace("1".to_owned()),
        ..plain(5000)
    };
    let written = description.rewrite(&Rewrite {
        origin: Some([198, 51, 100, 1].into()),
        ice_lite: true,
        ..rewrite(vec![change])
    });
    let expected = "v=0\no=- 1 1 IN IP4 198.51.100.1\ns=-\na=ice-lite\nm=audio 5000 RTP/AVP 111\nc=IN IP4 198.51.100.1\na=mid:1\n\
a=ice-ufrag:ours\na=ice-pwd:pppppppppppppppppppppp\na=candidate:1 1 UDP 2130706431 198.51.100.1 5000 typ host\na=end-of-candidates\n";
    assert_eq!(String::from_utf8_lossy(&written), expected);
}

#[test]
fn an_address_of_its_own_is_said_in_the_right_place() {
    let description = Description::parse(MESSY).expect("readable");
    let audio = SectionRewrite {
        address: Some([0, 0, 0, 0].into()),
        ..plain(5000)
    };
    let written = description.rewrite(&rewrite(vec![audio, plain(0)]));
    let written = String::from_utf8_lossy(&written);
    assert!(
        written.contains("i=voice\r\nc=IN IP4 0.0.0.0\r\na=rtpmap:0"),
        "{written}"
    );
}

#[test]
fn descriptions_that_cannot_be_relayed_are_refused() {
    assert_eq!(Description::parse(b"hello").err(), Some(SdpRefused::NotSdp));
    assert_eq!(Description::parse(b"").err(), Some(SdpRefused::NotSdp));
    assert_eq!(Description::parse(b"v=\r\nv=0\r\n").err(), Some(SdpRefused::NotSdp));
    assert_eq!(
        Description::parse(b"v=0\r\nm=audio\r\n").err(),
        Some(SdpRefused::Section)
    );
    assert_eq!(
        Description::parse(b"v=0\r\nm=audio 70000 RTP/AVP 0\r\n").err(),
        Some(SdpRefused::Section)
    );
    let many = [b"v=0\r\n".as_slice(), &b"m=audio 4000 RTP/AVP 0\r\n".repeat(33)].concat();
    assert_eq!(Description::parse(&many).err(), Some(SdpRefused::TooManySections));
}

#[test]
fn words_may_stand_far_apart() {
    let description = Description::parse(b"v=0\r\nm=audio  4000\tRTP/AVP   0 8 \r\n").expect("readable");
    let section = &description.sections[0];
    assert_eq!(
        (section.port, section.protocol, section.formats),
        (4000, "RTP/AVP", "0 8")
    );
}

#[test]
fn relayable_sections_are_known_by_their_protocol() {
    let of = |protocol: &str| {
        let text = format!("v=0\r\nm=image 4000 {protocol} x\r\n");
        let description = Description::parse(text.as_bytes()).expect("readable");
        (description.sections[0].is_datagrams(), description.sections[0].is_rtp())
    };
    assert_eq!((of("RTP/AVP"), of("UDP/TLS/RTP/SAVPF")), ((true, true), (true, true)));
    assert_eq!((of("udptl"), of("UDP/DTLS/SCTP")), ((true, false), (true, false)));
    assert_eq!((of("TCP/MSRP"), of("TCP/RTP/AVP").0), ((false, false), false));
}

const KEY_30: &str = "inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";

#[test]
fn keys_of_every_suite_are_written_as_they_were_read() {
    let padded = CryptoForm {
        padded: true,
        ..CryptoForm::default()
    };
    for (tag, suite) in (1..).zip(SUITES) {
        let key = vec![0xa5; suite.key_len() + suite.salt_len()];
        let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, key);
        let line = format!("{tag} {} inline:{key}", suite_name(suite));
        let crypto = Crypto::parse(&line).expect("a known suite");
        assert_eq!(
            (crypto.tag, crypto.key.profile(), crypto.unsupported),
            (tag, suite, false)
        );
        assert_eq!(crypto.write(padded), line);
        assert_eq!(crypto.write(CryptoForm::default()), line.trim_end_matches('='));
    }
}

#[test]
fn a_line_may_have_several_keys_with_identifiers_of_one_length() {
    let others = |rest: &str| {
        let line = format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}{rest} UNENCRYPTED_SRTCP");
        let key = Crypto::parse(&line).expect("a known suite").key;
        let others = key.others().iter().map(|other| other.parameters());
        others.collect::<Vec<_>>()
    };
    let named = |value| SessionParameters {
        mki: Mki::new(value, 2),
        unencrypted_rtcp: true,
        ..SessionParameters::default()
    };
    assert_eq!(
        others(&format!("|1:2;{KEY_30}|2^20|2:2;{KEY_30}|3:2")),
        [named(2), named(3)]
    );
    let without = [
        format!("|1:2;{KEY_30}"),
        format!("|1:2;{KEY_30}|1:2"),
        format!("|1:2;{KEY_30}|2:1"),
        "|1:2;inline:AAAA|2:2".to_owned(),
        format!(";{KEY_30}|2:2"),
    ];
    for rest in without {
        assert_eq!(others(&rest), [], "{rest}");
    }
    let many: String = (2..20).map(|mki| format!(";{KEY_30}|{mki}:2")).collect();
    assert_eq!(others(&format!("|1:2{many}")).len(), SDES_KEYS_MAX - 1);
}

#[test]
fn key_parameters_are_read_in_every_form() {
    let identified = |value, len| SessionParameters {
        mki: Mki::new(value, len),
        ..SessionParameters::default()
    };
    let none = SessionParameters::default();
    let clear = SessionParameters {
        unencrypted_rtp: true,
        unencrypted_rtcp: true,
        ..none
    };
    let forms = [
        ("", none, false),
        ("|2^20", none, false),
        ("|1048576", none, false),
        ("|2^20|1:4", identified(1, 4), false),
        ("|1:32", identified(1, 32), false),
        ("|66051:3;inline:AAAA|2:1", identified(66051, 3), false),
        (" UNENCRYPTED_SRTP unencrypted_srtcp", clear, false),
        (
            " UNAUTHENTICATED_SRTP",
            SessionParameters {
                unauthenticated_rtp: true,
                ..none
            },
            false,
        ),
        (" KDR=0 WSH=128 FEC_ORDER=FEC_SRTP -vendor=x", none, false),
        (" KDR=1", none, true),
        (" FEC_KEY=inline:AAAA", none, true),
        (" VENDOR=x", none, true),
    ];
    for (form, parameters, unsupported) in forms {
        let line = format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}{form}");
        let crypto = Crypto::parse(&line).expect("a known suite");
        assert_eq!(
            (crypto.key.parameters(), crypto.unsupported),
            (parameters, unsupported),
            "{line}"
        );
    }
    let crypto = Crypto::parse("1 AEAD_AES_128_GCM inline:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw UNENCRYPTED_SRTP");
    assert!(crypto.expect("a known suite").unsupported, "AEAD leaves nothing out");
    let crypto =
        Crypto::parse(&format!("1 AES_CM_128_HMAC_SHA1_32 {KEY_30} UNENCRYPTED_SRTCP")).expect("a known suite");
    let form = CryptoForm {
        padded: false,
        lifetime: true,
    };
    assert_eq!(
        crypto.write(form),
        format!("1 AES_CM_128_HMAC_SHA1_32 {KEY_30}|2^31 UNENCRYPTED_SRTCP")
    );
}

#[test]
fn a_line_that_is_no_key_is_none() {
    for line in [
        "".to_owned(),
        "1".to_owned(),
        "1 F8_128_HMAC_SHA1_80 inline:AAAA".to_owned(),
        "1 AES_CM_128_HMAC_SHA1_80 inline:AAAA".to_owned(),
        "x AES_CM_128_HMAC_SHA1_80 inline:A".to_owned(),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}|256:1"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}|1:0"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}|1:129"),
        format!("1 AES_CM_128_HMAC_SHA1_80 {KEY_30}|x:4"),
    ] {
        assert_eq!(Crypto::parse(&line), None, "{line}");
    }
}

#[test]
fn of_several_fingerprints_the_strongest_counts() {
    let digits = |len: usize| vec!["0A"; len].join(":");
    let read = |lines: &str| {
        let text = format!("v=0\r\nm=audio 4000 UDP/TLS/RTP/SAVP 0\r\n{lines}");
        let description = Description::parse(text.as_bytes()).expect("readable");
        let fingerprint = description.sections[0].fingerprint.clone();
        fingerprint.map(|fingerprint| (fingerprint.hash, fingerprint.digest.len()))
    };
    for hash in HashFunction::ALL {
        let line = format!("a=fingerprint:{} {}\r\n", hash.name(), digits(hash.digest_len()));
        assert_eq!(read(&line), Some((hash, hash.digest_len())), "{line}");
        assert_eq!(
            read(&line.to_uppercase().replace("A=FINGERPRINT", "a=fingerprint")),
            read(&line)
        );
    }
    let several = format!(
        "a=fingerprint:sha-1 {}\r\na=fingerprint:SHA-256  {}\r\na=fingerprint:sha-1 {}\r\na=fingerprint:md5 {}\r\n",
        digits(20),
        digits(32),
        digits(20),
        digits(16)
    );
    assert_eq!(read(&several), Some((HashFunction::Sha256, 32)));
    for wrong in ["sha-1 0A", "sha-1", "md5 0A:0A", &format!("sha-1 +A:{}", digits(19))] {
        assert_eq!(read(&format!("a=fingerprint:{wrong}\r\n")), None, "{wrong}");
    }
}
