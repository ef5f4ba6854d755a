//! DTLS associations that a party names (RFC 8842).

use sip::ng::value::Dictionary;
use southbound::relay::Keys;

use super::{browser, section, with_certificate};
use crate::support::*;

#[test]
fn another_name_of_an_association_is_another_handshake() {
    let mut setup = with_certificate();
    let described = |name: &str| {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("a=tls-id:{name}\r\n")
        };
        browser("them", "passive", 1) + &name
    };
    let plain = || {
        Dictionary::default()
            .with("transport-protocol", "RTP/AVP")
            .with("ICE", "remove")
    };
    let mut associations = Vec::new();
    for name in [
        "",
        "abcabcabcabcabcabcabc",
        "",
        "abcabcabcabcabcabcabc",
        "xyzxyzxyzxyzxyzxyzxyz",
    ] {
        setup.describe("offer", &described(name), plain());
        let answer = setup.describe("answer", &section("RTP/AVP", "192.0.2.2", 6000, ""), answered());
        match setup.entries[&local(&answer)].ingress_protection {
            Keys::Dtls {
                association, active, ..
            } => associations.push((association, active)),
            ref other => panic!("{other:?}"),
        }
    }
    // One that a description does not name goes on.
    assert_eq!(associations, [(0, true), (0, true), (0, true), (0, true), (1, true)]);
}
