//! Media before there is an answer.

mod forks;

use sip::ng::value::{Dictionary, Value};
use southbound::relay::Accept;

use crate::support::*;

#[test]
fn early_media_goes_to_the_party_that_offered_from_any_address() {
    let mut setup = Setup::new();
    let offer = setup.describe("offer", &phone("192.0.2.1", 6004), Dictionary::default());
    let facing_b = local(&offer);
    assert_eq!(
        setup.entries.keys().copied().collect::<Vec<_>>(),
        [facing_b, above(facing_b)]
    );
    let early = setup.entries[&facing_b].clone();
    assert_eq!(early.rtp.expect("a way").to, at("192.0.2.1:6004"));
    assert!(matches!(early.accept, Accept::Learn { within: None, .. }));
    let control = setup.entries[&above(facing_b)].rtcp.clone();
    assert_eq!(control.expect("a way").to, at("192.0.2.1:6005"));
    // Sources that were told are told again, as they are learned from then on.
    setup.describe("answer", &phone("192.0.2.2", 6000), answered());
    assert_ne!(setup.entries[&facing_b].accept, early.accept);
}

#[test]
fn there_is_no_early_media_where_sources_are_not_learned_or_keys_not_known() {
    let offered = |protocol: &str, name: &str, value: Value| {
        let mut setup = Setup::new();
        let offer = phone("192.0.2.1", 6004).replace("RTP/AVP", protocol);
        setup.describe("offer", &offer, Dictionary::default().with(name, value));
        setup.entries.len()
    };
    assert_eq!(offered("RTP/AVP", "endpoint-learning", "off".into()), 0);
    let flags = vec![Value::from("strict-source")];
    assert_eq!(offered("RTP/AVP", "flags", flags.into()), 0);
    assert_eq!(offered("RTP/AVP", "transport-protocol", "RTP/SAVP".into()), 0);
    assert_eq!(offered("RTP/AVP", "ICE", "force".into()), 0);
}

/// The other end of a fax may send before the 200 for T.38, as it may send audio.
#[test]
fn early_media_of_a_new_section_goes_to_the_party_that_offered_it() {
    let mut setup = Setup::new();
    setup.call();
    let before = setup.entries.clone();
    let again = Dictionary::default().with("to-tag", "b");
    let fax = phone("192.0.2.1", 6004) + "m=image 6010 udptl t38\r\n";
    let offer = setup.describe("offer", &fax, again);
    let port: u16 = offer
        .lines()
        .find_map(|line| line.strip_prefix("m=image "))
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .expect("a port");
    let early = &setup.entries[&(local(&offer).ip(), port).into()];
    assert_eq!(early.rtp.as_ref().expect("a way").to, at("192.0.2.1:6010"));
    assert!(early.rtcp.is_none() && matches!(early.accept, Accept::Learn { within: None, .. }));
    assert_eq!(
        setup.entries.len(),
        before.len() + 1,
        "the other party has no port for it yet"
    );
}
