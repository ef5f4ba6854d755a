//! Senders that have proved nothing.

use super::*;
use crate::integrity::fingerprint;

/// A message of this type with these attributes.
fn message(kind: u16, attributes: &[u8]) -> Vec<u8> {
    let len = attributes.len() as u16;
    let header = [&kind.to_be_bytes()[..], &len.to_be_bytes(), &[0x21, 0x12, 0xa4, 0x42]].concat();
    [&header[..], &[9; 12], attributes].concat()
}

/// The same with FINGERPRINT.
fn with_fingerprint(kind: u16, attributes: &[u8]) -> Vec<u8> {
    let mut bytes = message(kind, attributes);
    bytes[3] += 8;
    let sum = fingerprint(&[&bytes]).to_be_bytes();
    bytes.extend([0x80, 0x28, 0, 4]);
    bytes.extend(sum);
    bytes
}

/// The answer to somebody at an address.
fn answer_to(from: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let server = World::new().server;
    let times = World::new().times;
    let mut client = Client::new(address(from));
    match client.receive(&server, times, bytes, |_, _| panic!("nobody has credentials")) {
        Outcome::OpenAnswer(answer) => Some(answer),
        Outcome::Nothing => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everybody_is_told_the_own_address() {
    for from in [CLIENT, "[2001:db8::7]:4000"] {
        let answer = answer_to(from, &message(0x0001, &[])).unwrap();
        let mapped = wire::stun::mapped_address(&answer, &[9; 12]);
        assert_eq!(mapped, Some(address(from)));
    }
    assert_eq!(answer_to(CLIENT, &message(0x0001, &[])).unwrap().len(), 32);
    // SOFTWARE, and attributes of other purposes.
    let more = [0x80, 0x22, 0, 3, b'a', b'b', b'c', 0, 0, 0x0d, 0, 4, 0, 0, 0, 1];
    assert!(answer_to(CLIENT, &message(0x0001, &more)).unwrap().starts_with(&[1, 1]));
    // During an allocation as well.
    let mut world = World::allocated();
    let answer = world.answer(&message(0x0001, &[]));
    assert_eq!(wire::stun::mapped_address(&answer, &[9; 12]), Some(address(CLIENT)));
}

#[test]
fn an_answer_has_a_fingerprint_if_the_request_has_one() {
    for kind in [0x0001, 0x0003] {
        let answer = answer_to(CLIENT, &with_fingerprint(kind, &[])).unwrap();
        let (covered, last) = answer.split_at(answer.len() - 8);
        assert_eq!(last[..4], [0x80, 0x28, 0, 4]);
        assert_eq!(last[4..], fingerprint(&[covered]).to_be_bytes());
        let mut wrong = with_fingerprint(kind, &[]);
        *wrong.last_mut().unwrap() ^= 1;
        assert_eq!(answer_to(CLIENT, &wrong), None);
    }
}

#[test]
fn only_requests_are_answered() {
    let challenge = answer_to(CLIENT, &message(0x0003, &[])).unwrap();
    let mapped = answer_to(CLIENT, &message(0x0001, &[])).unwrap();
    for answer in [challenge, mapped] {
        assert_eq!(answer_to(CLIENT, &answer), None);
    }
    // Indications, answers, and methods that are not there: Send and Data as requests, Connect, and
    // shared secrets.
    for kind in [
        0x0011, 0x0016, 0x0017, 0x0101, 0x0111, 0x0113, 0x0103, 0x0006, 0x0007, 0x000a, 0x0002, 0x0000,
    ] {
        assert_eq!(answer_to(CLIENT, &message(kind, &[])), None, "{kind:#06x}");
    }
    let mut old = message(0x0001, &[]);
    old[4] = 0;
    for bytes in [
        &b""[..],
        b"x",
        b"GET / HTTP/1.1",
        &[0; 20],
        &[0x40, 0, 0, 4, 1, 2, 3, 4],
        &old,
    ] {
        assert_eq!(answer_to(CLIENT, bytes), None, "{bytes:?}");
    }
    for cut in 0..24 {
        let bytes = message(0x0001, &[0x80, 0x22, 0, 4, 1, 2, 3]);
        assert_eq!(answer_to(CLIENT, &bytes[..cut]), None);
    }
}

#[test]
fn unknown_attributes_are_named() {
    let unknown = [0, 0x03, 0, 4, 0, 0, 0, 6, 0, 0x25, 0, 0, 0, 0x03, 0, 0, 0xc0, 1, 0, 0];
    let answer = answer_to(CLIENT, &message(0x0001, &unknown)).unwrap();
    assert!(answer.starts_with(&[1, 0x11]));
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code().map(|(code, _)| code), Some(420));
    let named = [0, 0x0a, 0, 4, 0, 0x03, 0, 0x25];
    assert!(answer.windows(named.len()).any(|part| part == named));

    let many: Vec<u8> = (0x30..0x70).flat_map(|kind| [0, kind, 0, 0]).collect();
    assert!(answer_to(CLIENT, &message(0x0001, &many)).unwrap().len() <= 84);
}

#[test]
fn an_answer_is_short_unless_the_request_is_long() {
    let requested = &REQUESTED_UDP[..];
    let long = [&[0x80, 0x22, 0, 40][..], &[b'a'; 40], requested].concat();
    for (attributes, len, reason) in [(&[][..], 52, ""), (requested, 52, ""), (&long, 68, "Unauthenticated")] {
        let answer = answer_to(CLIENT, &message(0x0003, attributes)).unwrap();
        assert_eq!(answer.len(), len);
        let parsed = StunMessage::parse(&answer).unwrap();
        assert_eq!(parsed.error_code(), Some((401, reason)));
        assert_eq!(parsed.nonce().map(str::len), Some(12));
    }
}

#[test]
fn a_nonce_is_of_one_address_and_nobody_else_makes_it() {
    let mut world = World::new();
    let nonce = world.nonce.clone();
    let request = world.allocate(TransId::new());
    world.client = Client::new(address("198.51.100.7:4001"));
    let Outcome::OpenAnswer(answer) = world.receive(&request) else {
        panic!("nonce of another port");
    };
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code(), Some((438, "Stale Nonce")));
    world.client = Client::new(address(CLIENT));
    for at in 0..nonce.len() {
        let mut forged = nonce.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        world.nonce = String::from_utf8(forged).unwrap();
        assert_eq!(world.ask_code(|world, id| world.allocate(id)), Some(438));
    }
    for wrong in [
        "",
        "A",
        "\u{e9}\u{e9}",
        &nonce[..11],
        &format!("{nonce}A"),
        &"A".repeat(200),
    ] {
        world.nonce = wrong.to_owned();
        assert_eq!(world.ask_code(|world, id| world.allocate(id)), Some(438), "{wrong}");
    }
    world.nonce = nonce;
    world.times.unix += Duration::from_secs(64 * 55);
    assert_eq!(world.ask_code(|world, id| world.allocate(id)), None);
    world.times.unix += Duration::from_secs(64);
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), Some(438));
}
