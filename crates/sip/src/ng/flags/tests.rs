use super::*;
use crate::ng::value::{Dictionary, Value};

fn list(words: &[&str]) -> Value {
    Value::List(words.iter().map(|word| Value::from(*word)).collect())
}

#[test]
fn what_kamailio_sends_is_understood() {
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
        ice: Ice::Remove,
        trust_address: Some(true),
        strict_source: true,
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
    assert!(as_keys.sdes.off && as_keys.unknown == 0);
    assert_eq!(as_keys, as_flags);
    assert_eq!(as_keys, as_text);
    assert_eq!(as_keys, as_other_text);
}

#[test]
fn what_is_unknown_is_counted_and_what_cannot_be_done_is_said() {
    let flags = Flags::of(
        &Dictionary::default()
            .with("flags", list(&["frobnicate", "symmetric"]))
            .with("colour", "red"),
    );
    assert_eq!((flags.unknown, flags.ignored, flags.unsupported), (2, 1, None));
    let text = "codec=[transcode=[PCMA PCMU]]";
    let flags = Flags::of(&Dictionary::default().with("rtpp-flags", text));
    assert_eq!(flags.unsupported, Some("Transcoding is not supported"));
}

#[test]
fn strings_of_flags_end_wherever_they_are_cut() {
    let text = "a=[b=[c d]] [ ]] = =x [[ e=[f";
    for cut in 0..=text.len() {
        let _ = Flags::of(&Dictionary::default().with("rtpp-flags", &text[..cut]));
    }
    let _ = Flags::of(&Dictionary::default().with("rtpp-flags", "a=[".repeat(10_000)));
}
