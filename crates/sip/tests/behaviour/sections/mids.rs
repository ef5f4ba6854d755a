//! A section keeps the name that its party gave it or got.

use sip::ng::value::Dictionary;

use crate::support::*;

fn section(kind: &str, port: u16, mid: &str) -> String {
    let name = if mid.is_empty() {
        String::new()
    } else {
        format!("a=mid:{mid}\r\n")
    };
    format!("m={kind} {port} RTP/AVP 0\r\n{name}a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid\r\n")
}

/// The names of the sections of a description, `-` for none.
fn names(sdp: &str) -> Vec<String> {
    let sections = sdp.split("m=").skip(1);
    let name = |section: &str| {
        section
            .lines()
            .find_map(|line| line.strip_prefix("a=mid:"))
            .unwrap_or("-")
            .to_owned()
    };
    sections.map(name).collect()
}

fn from(tag: &str, to: &str) -> Dictionary {
    let flags = flags(&["generate-mid"]).with("from-tag", tag);
    if to.is_empty() { flags } else { flags.with("to-tag", to) }
}

#[test]
fn a_browser_that_called_a_phone_gets_its_names_in_changes_of_the_phone() {
    let mut setup = Setup::new();
    let browser = |sections: &[String]| described("192.0.2.1", &sections.concat());
    let phone = |sections: &[String]| described("192.0.2.2", &sections.concat());
    let offer = browser(&[section("audio", 6004, "0"), section("video", 6006, "one")]);
    assert_eq!(names(&setup.describe("offer", &offer, from("a", ""))), ["0", "one"]);
    let answer = phone(&[section("audio", 6000, ""), section("video", 0, "")]);
    assert_eq!(names(&setup.describe("answer", &answer, from("a", "b"))), ["0", "one"]);
    // An answer that leaves a section out has its name too.
    assert_eq!(
        names(&setup.describe("answer", &phone(&[section("audio", 6000, "")]), from("a", "b"))),
        ["0", "one"]
    );
    // A phone without names, and one with names of its own.
    for mids in [["", ""], ["x", "0"], ["one", "0"]] {
        let change = phone(&[section("audio", 6000, mids[0]), section("video", 6002, mids[1])]);
        let offer = setup.describe("offer", &change, from("b", "a"));
        assert_eq!(names(&offer), ["0", "one"], "{mids:?}");
        assert_eq!(offer.contains("sdes:mid"), mids[0].is_empty(), "{offer}");
        let answer = browser(&[section("audio", 6004, "0"), section("video", 6006, "one")]);
        let answer = setup.describe("answer", &answer, from("b", "a"));
        assert_eq!(
            names(&answer),
            mids.map(|mid| if mid.is_empty() { "-" } else { mid }),
            "{answer}"
        );
    }
    // A further section of the phone gets a name that is free.
    let more = phone(&[
        section("audio", 6000, "one"),
        section("video", 6002, "0"),
        section("video", 6010, "0"),
    ]);
    let offer = setup.describe("offer", &more, from("b", "a"));
    assert_eq!(names(&offer), ["0", "one", "3"]);
}

#[test]
fn a_browser_that_was_called_keeps_the_names_it_got() {
    let mut setup = Setup::new();
    let first = described("192.0.2.1", &section("audio", 6004, ""));
    assert_eq!(names(&setup.describe("offer", &first, from("a", ""))), ["1"]);
    let answer = described("192.0.2.2", &section("audio", 6000, "1"));
    assert_eq!(
        names(&setup.describe("answer", &answer, from("a", "b"))),
        ["-"],
        "the offer had none"
    );
    let change = described(
        "192.0.2.2",
        &(section("audio", 6000, "1") + &section("video", 6002, "v")),
    );
    assert_eq!(names(&setup.describe("offer", &change, from("b", "a"))), ["1", "v"]);
    let answer = described("192.0.2.1", &(section("audio", 6004, "") + &section("video", 6006, "")));
    assert_eq!(names(&setup.describe("answer", &answer, from("b", "a"))), ["1", "v"]);
    let change = described("192.0.2.1", &(section("audio", 6004, "x") + &section("video", 0, "y")));
    assert_eq!(names(&setup.describe("offer", &change, from("a", "b"))), ["1", "v"]);
    setup.replace();
    assert_eq!(
        names(&setup.describe("offer", &change, from("a", "b"))),
        ["1", "v"],
        "the next process knows"
    );
}

#[test]
fn groups_have_the_names_that_are_written() {
    let mut setup = Setup::new();
    let sections = |port: u16, mids: [&str; 2]| section("audio", port, mids[0]) + &section("video", port + 2, mids[1]);
    setup.describe(
        "offer",
        &described("192.0.2.1", &sections(6004, ["0", "1"])),
        from("a", ""),
    );
    setup.describe(
        "answer",
        &described("192.0.2.2", &sections(6000, ["0", "1"])),
        from("a", "b"),
    );
    let grouped = format!("a=group:BUNDLE a v\r\na=group:LS a v\r\n{}", sections(6000, ["a", "v"]));
    let offer = setup.describe("offer", &described("192.0.2.2", &grouped), from("b", "a"));
    assert!(
        offer.contains("a=group:LS 0 1\r\n") && !offer.contains("BUNDLE"),
        "{offer}"
    );
}
