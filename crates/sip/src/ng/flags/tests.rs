use super::table::Fate;
use super::*;
use crate::call::{Ice, Mux, Protocol, Replace, SourceTerms};
use crate::config::Feature;
use crate::ng::value::{Dictionary, Value};

fn list(words: &[&str]) -> Value {
    Value::List(words.iter().map(|word| Value::from(*word)).collect())
}

#[test]
fn requests_of_kamailio_are_understood() {
    let request = Dictionary::default()
        .with("supports", list(&["load limit"]))
        .with("sdp", "v=0")
        .with("ICE", "remove")
        .with("flags", list(&["trust-address", "strict-source"]))
        .with("replace", list(&["origin", "session-connection"]))
        .with("transport-protocol", "RTP/AVP")
        .with("rtcp-mux", list(&["demux"]))
        .with("received-from", list(&["IP4", "192.0.2.7"]));
    let flags = Flags::of(&request);
    let expected = Flags {
        supports_load_limit: true,
        terms: Terms {
            ice: Ice::Remove,
            trust_address: Some(true),
            sources: SourceTerms {
                strict: true,
                ..SourceTerms::default()
            },
            replace: Replace {
                origin: true,
                ..Replace::default()
            },
            protocol: Some(Protocol::Exactly("RTP/AVP".to_owned())),
            mux: Mux {
                demux: true,
                ..Mux::default()
            },
            received_from: Some([192, 0, 2, 7].into()),
            ..Terms::default()
        },
        ..Flags::default()
    };
    assert_eq!(flags, expected);
}

#[test]
fn all_forms_of_a_wish_mean_the_same() {
    let as_keys = Flags::of(
        &Dictionary::default()
            .with("SDES", list(&["off", "no-AEAD_AES_256_GCM"]))
            .with("codec", Dictionary::default().with("strip", list(&["G729"])))
            .with("endpoint learning", "immediate")
            .with("address family", "IP6"),
    );
    let flags = list(&[
        "SDES-off",
        "SDES-no-AEAD_AES_256_GCM",
        "codec-strip-G729",
        "endpoint-learning-immediate",
        "address-family=IP6",
    ]);
    let as_flags = Flags::of(&Dictionary::default().with("flags", flags));
    let text = "SDES=[off no-AEAD_AES_256_GCM] codec=[strip=[G729]] endpoint_learning-immediate address-family=IP6";
    let as_text = Flags::of(&Dictionary::default().with("rtpp_flags", text));
    let as_other_text = Flags::of(&Dictionary::default().with("rtpp-flags", text));
    assert!(as_keys.terms.keying.sdes.off && as_keys.undone == Undone::default());
    assert_eq!(as_keys, as_flags);
    assert_eq!(as_keys, as_text);
    assert_eq!(as_keys, as_other_text);
}

#[test]
fn words_of_a_string_name_the_transport_protocol_and_interfaces() {
    for (text, protocol) in [
        ("RTP/AVP", "RTP/AVP"),
        ("RTP/AVPF", "RTP/AVPF"),
        ("RTP/SAVP", "RTP/SAVP"),
        ("RTP/SAVPF", "RTP/SAVPF"),
        ("UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVP"),
        ("UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVPF"),
        ("RTP AVP", "RTP/AVP"),
        ("SRTP AVPF", "RTP/SAVPF"),
        ("SRTP AVPF RTP", "RTP/AVPF"),
        ("DTLS AVPF", "UDP/TLS/RTP/SAVPF"),
        ("UDP/TLS/RTP/SAVPF RTP/AVP", "RTP/AVP"),
    ] {
        let flags = Flags::of(&Dictionary::default().with("rtpp-flags", text));
        assert_eq!(
            flags.terms.protocol,
            Some(Protocol::Exactly(protocol.to_owned())),
            "{text}"
        );
        assert_eq!(flags.undone, Undone::default(), "{text}");
    }
    let flags = Flags::of(&Dictionary::default().with("rtpp-flags", "internal external ICE=remove"));
    assert_eq!(flags.terms.interfaces(), [Some("internal"), Some("external")]);
    assert_eq!((flags.terms.protocol, flags.undone), (None, Undone::default()));
}

#[test]
fn unknown_and_unsupported_flags_are_reported() {
    let flags = Flags::of(
        &Dictionary::default()
            .with("flags", list(&["frobnicate", "symmetric", "record call", "block-DTMF"]))
            .with("colour", "red"),
    );
    assert_eq!(flags.undone.unknown.kept, ["frobnicate", "colour"]);
    assert_eq!(flags.undone.ignored.kept, ["record-call", "block-dtmf"]);
    assert_eq!(
        flags.undone.warning().as_deref(),
        Some("Not done: record-call, block-dtmf; Unknown flags were ignored: frobnicate, colour")
    );
    for (text, feature) in [
        ("codec=[transcode=[PCMA PCMU]]", Feature::Transcode),
        ("codec-transcode-PCMA", Feature::Transcode),
        ("ptime=20", Feature::Ptime),
        ("T.38=[force no-ECM]", Feature::T38),
        ("T38-decode", Feature::T38),
        ("inject-DTMF", Feature::InjectDtmf),
    ] {
        let flags = Flags::of(&Dictionary::default().with("rtpp-flags", text));
        assert_eq!(flags.undone.features, [feature], "{text}");
    }
}

#[test]
fn flags_that_switch_a_feature_off_are_honoured() {
    for text in [
        "record-call=off",
        "bundle=none",
        "delay-buffer=0",
        "ptime=0",
        "T.38=stop",
        "drop-traffic=stop",
        "audio-player=default",
        "generate-RTCP=off",
    ] {
        let flags = Flags::of(&Dictionary::default().with("rtpp-flags", text));
        assert_eq!(flags.undone, Undone::default(), "{text}");
    }
}

#[test]
fn wide_spaces_around_a_word_are_none() {
    for word in [
        "\u{3000}\u{3000}only-AEAD_AES_128_GCM\u{3000}",
        "\u{a0}no-\u{e9}",
        "\u{3000}order:\u{e9}",
    ] {
        let flags = Flags::of(&Dictionary::default().with("SDES", list(&[word])));
        assert_eq!(flags.undone, Undone::default(), "{word}");
    }
    let flags = Flags::of(&Dictionary::default().with("SDES", list(&["\u{3000}only-X "])));
    assert_eq!(flags.terms.keying.sdes.only, ["X"]);
}

#[test]
fn many_names_are_counted_and_few_are_kept() {
    let names: Vec<String> = (0..1000).map(|number| format!("{number}{}", "x".repeat(100))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let flags = Flags::of(&Dictionary::default().with("flags", list(&names)));
    let unknown = &flags.undone.unknown;
    assert_eq!((unknown.count, unknown.kept.len()), (1000, crate::limits::UNDONE_MAX));
    assert!(
        unknown
            .kept
            .iter()
            .all(|name| name.len() == crate::limits::UNDONE_NAME_MAX)
    );
}

/// Every name has the effect stated in the table, and the operator's page agrees.
#[test]
fn the_table_of_flags_is_true() {
    let page = include_str!("../../../../../docs/operate/sip.md");
    for (fate, names) in table::FLAGS {
        let row = match fate {
            Fate::Done => "| done |",
            Fate::NoDifference => "| without a difference |",
            Fate::Ignored => "| not done, with a warning |",
            Fate::Refused => "| refused, or tolerated |",
        };
        let row = page
            .lines()
            .find(|line| line.starts_with(row))
            .expect("a row of the page");
        for name in *names {
            assert!(row.contains(&format!("`{name}`")), "{name} is in {row}");
            let spoken = name.replace('*', "AES_CM_128_HMAC_SHA1_80");
            let flags = Flags::of(&Dictionary::default().with("flags", list(&[&spoken])));
            let undone = &flags.undone;
            let found = match (undone.unknown.count, undone.ignored.count, undone.features.len()) {
                (0, 0, 0) => [Fate::Done, Fate::NoDifference].contains(fate),
                (0, 1, 0) => *fate == Fate::Ignored,
                (0, 0, 1) => *fate == Fate::Refused,
                _ => false,
            };
            assert!(found, "{name} is {fate:?}: {undone:?}");
        }
    }
    for (_, names) in table::COMMANDS {
        for name in *names {
            assert!(page.contains(&format!("`{name}`")), "the page has the command {name}");
        }
    }
}

#[test]
fn truncated_strings_of_flags_are_read() {
    let text = "a=[b=[c d]] [ ]] = =x [[ e=[f";
    for cut in 0..=text.len() {
        let _ = Flags::of(&Dictionary::default().with("rtpp-flags", &text[..cut]));
    }
    let _ = Flags::of(&Dictionary::default().with("rtpp-flags", "a=[".repeat(10_000)));
}
