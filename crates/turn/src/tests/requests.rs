//! Requests of a client with credentials, attribute by attribute.

use ring::digest;

use super::*;
use crate::integrity::Algorithm;

/// EVEN-PORT without and with the next port kept, and RESERVATION-TOKEN.
const EVEN: [u8; 8] = [0, 0x18, 0, 1, 0, 0, 0, 0];
const EVEN_AND_NEXT: [u8; 8] = [0, 0x18, 0, 1, 0x80, 0, 0, 0];
const TOKEN: [u8; 12] = [0, 0x22, 0, 8, 7, 7, 7, 7, 7, 7, 7, 7];
const V4: [u8; 8] = [0, 0x17, 0, 4, 1, 0, 0, 0];
/// ADDITIONAL-ADDRESS-FAMILY.
const AND_V6: [u8; 8] = [0x80, 0, 0, 4, 2, 0, 0, 0];
const DONT_FRAGMENT: [u8; 4] = [0, 0x1a, 0, 0];

impl World {
    /// The code of the refusal of an allocation with these attributes.
    fn allocate_code(&mut self, more: &[&[u8]]) -> Option<u16> {
        let more = [&REQUESTED_UDP[..], &more.concat()].concat();
        self.ask_code(|world, id| world.allocate_with(id, &more))
    }

    fn with_both_families() -> Self {
        let mut world = World::new();
        let peers = vec![address(MEDIA), address("[2001:db8::1]:7882")];
        world.server = world.server.with_peers(peers);
        world
    }
}

/// The value of an attribute of an answer.
fn value(answer: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut at = 20;
    while at < answer.len() {
        let len = usize::from(u16::from_be_bytes([answer[at + 2], answer[at + 3]]));
        if answer[at..at + 2] == kind.to_be_bytes() {
            return Some(answer[at + 4..at + 4 + len].to_vec());
        }
        at += 4 + len.next_multiple_of(4);
    }
    None
}

#[test]
fn the_transport_is_udp() {
    let mut world = World::new();
    let tcp = [0, 0x19, 0, 4, 6, 0, 0, 0];
    let short = [0, 0x19, 0, 1, 17, 0, 0, 0];
    for (attributes, code) in [(&[][..], 400), (&tcp, 442), (&short, 400)] {
        assert_eq!(
            world.ask_code(|world, id| world.allocate_with(id, attributes)),
            Some(code)
        );
    }
    assert_eq!(world.opened, 0);
}

#[test]
fn a_request_is_refused_unless_all_of_it_is_understood() {
    let mut world = World::new();
    // CONNECTION-ID, and one that is optional.
    let unknown = [0, 0x2a, 0, 4, 0, 0, 0, 1, 0xc0, 0, 0, 0];
    let request = world.allocate_with(TransId::new(), &[&REQUESTED_UDP[..], &unknown].concat());
    let answer = world.answer(&request);
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code(), Some((420, "Unknown Attribute")));
    assert!(parsed.verify(&world.key(), hmac_sha1));
    assert_eq!(value(&answer, 0x000a), Some(vec![0, 0x2a]));
    assert_eq!(world.opened, 0);
    assert_eq!(world.allocate_code(&[&DONT_FRAGMENT]), None);
}

#[test]
fn a_refusal_has_its_reason() {
    let mut world = World::new();
    let request = world.permit(TransId::new(), MEDIA);
    let answer = world.answer(&request);
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code(), Some((437, "Allocation Mismatch")));
    assert_eq!(value(&answer, 0x8022).as_deref(), Some(&b"Weir"[..]));
}

#[test]
fn a_port_may_be_even_and_the_next_one_kept() {
    let mut world = World::new();
    let more = [&REQUESTED_UDP[..], &EVEN_AND_NEXT].concat();
    let request = world.allocate_with(TransId::new(), &more);
    let answer = world.answer(&request);
    assert_eq!(value(&answer, 0x0022), Some(vec![7; 8]));
    world.client = Client::new(address(CLIENT));
    let request = world.allocate_with(TransId::new(), &[&REQUESTED_UDP[..], &TOKEN].concat());
    assert_eq!(value(&world.answer(&request), 0x0022), None);
    world.client = Client::new(address(CLIENT));
    assert_eq!(world.allocate_code(&[&EVEN]), None);
    let even = |reserve_next| PortRequest::Even {
        family: Family::V4,
        reserve_next,
    };
    assert_eq!(world.asked, [even(true), PortRequest::Reserved([7; 8]), even(false)]);

    let mut world = World::with_both_families();
    let mut wrong = TOKEN;
    wrong[11] = 8;
    for (more, code) in [
        (&[&TOKEN[..], &EVEN][..], 400),
        (&[&TOKEN, &V4], 400),
        (&[&TOKEN, &AND_V6], 400),
        (&[&EVEN_AND_NEXT, &AND_V6], 400),
        (&[&V4, &AND_V6], 400),
        (&[&[0x80, 0, 0, 4, 1, 0, 0, 0]], 400),
        (&[&[0, 0x18, 0, 0]], 400),
        (&[&[0, 0x17, 0, 4, 3, 0, 0, 0]], 440),
        (&[&wrong], 508),
    ] {
        assert_eq!(world.allocate_code(more), Some(code), "{more:?}");
    }
}

#[test]
fn an_allocation_may_have_an_address_of_each_family() {
    let mut world = World::with_both_families();
    let v6_peer = "[2001:db8::1]:7882";
    assert_eq!(world.allocate_code(&[&AND_V6]), None);
    assert_eq!(world.client.relayed().len(), 2);
    assert_eq!(world.ask_code(|world, id| world.permit(id, v6_peer)), None);
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4000, MEDIA)), None);
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4001, v6_peer)), None);
    let end = |world: &World, id| {
        let message = StunMessageBuilder::new().refresh().request().lifetime(0);
        world.signed(message.build(id), &V4)
    };
    assert_eq!(world.ask_code(end), None);
    assert_eq!(world.client.relayed(), [address("[2001:db8::1]:50000")]);
    assert_eq!(world.ask_code(end), Some(443));
    assert_eq!(world.ask_code(|world, id| world.permit(id, MEDIA)), Some(443));
    assert_eq!(
        world.receive(&[0x40, 0, 0, 0]),
        Outcome::Nothing,
        "its channel has no port"
    );
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 0)), None);
    assert!(world.client.relayed().is_empty());

    let mut world = World::with_both_families();
    let draft = [0x80, 0x32, 0, 4, 2, 0, 0, 0];
    assert_eq!(world.allocate_code(&[&draft, &EVEN]), None);
    assert_eq!(world.client.relayed().len(), 2);

    // A server without IPv6 says so.
    let mut world = World::new();
    let request = world.allocate_with(TransId::new(), &[&REQUESTED_UDP[..], &AND_V6].concat());
    let missing = value(&world.answer(&request), 0x8001).unwrap();
    assert!(missing.starts_with(&[2, 0, 4, 40]));
    assert_eq!(world.client.relayed(), [address(RELAYED)]);
}

#[test]
fn a_channel_has_a_number_of_its_range_and_one_peer() {
    let mut world = World::allocated();
    for (number, code) in [
        (0x3fff, Some(400)),
        (0x8000, Some(400)),
        (0x7fff, None),
        (0x4000, Some(400)),
    ] {
        assert_eq!(world.ask_code(|world, id| world.bind(id, number, MEDIA)), code);
    }
    world.server = world.server.with_peers(vec![address(MEDIA), address("192.0.2.1:7883")]);
    let other = "192.0.2.1:7883";
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x7fff, other)), Some(400));
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4001, other)), None);
}

#[test]
fn a_request_is_proved_by_either_hmac_and_answered_by_the_same() {
    let mut world = World::new();
    let TurnCredentials { username, password } = world.credentials.clone();
    let text = format!("{username}:weir:{password}");
    let sha256_key = digest::digest(&digest::SHA256, text.as_bytes()).as_ref().to_vec();
    let md5_key = world.key().to_vec();
    let password_sha256 = [0, 0x1d, 0, 4, 0, 2, 0, 0];
    for (key, more, len) in [
        (&md5_key, &[][..], 32),
        (&md5_key, &[], 16),
        (&sha256_key, &password_sha256, 32),
    ] {
        world.client = Client::new(address(CLIENT));
        let signed = world.allocate_with(TransId::new(), &[&REQUESTED_UDP[..], more].concat());
        // Without MESSAGE-INTEGRITY.
        let mut bytes = signed[..signed.len() - 24].to_vec();
        let total = (bytes.len() - 20 + 4 + len) as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        let proof = Algorithm::Sha256.sign(key, &[&bytes]);
        bytes.extend([0, 0x1c, 0, len as u8]);
        bytes.extend(&proof.as_ref()[..len]);
        let answer = world.answer(&bytes);
        assert!(answer.starts_with(&[1, 3]), "{answer:?}");
        let (covered, last) = answer.split_at(answer.len() - 36);
        assert_eq!(last[..4], [0, 0x1c, 0, 32]);
        assert_eq!(&last[4..], Algorithm::Sha256.sign(key, &[covered]).as_ref());
        *bytes.last_mut().unwrap() ^= 1;
        assert!(matches!(world.receive(&bytes), Outcome::OpenAnswer(_)));
    }
    let other = [0, 0x1d, 0, 4, 0, 9, 0, 0];
    world.client = Client::new(address(CLIENT));
    assert_eq!(world.allocate_code(&[&other]), Some(400));
}

#[test]
fn a_proof_needs_a_name_a_realm_and_a_nonce() {
    let mut world = World::new();
    let mut bytes = encode(
        StunMessageBuilder::new().allocate().request().build(TransId::new()),
        None,
    );
    bytes.truncate(20);
    sign(&mut bytes, &world.key());
    let Outcome::OpenAnswer(answer) = world.receive(&bytes) else {
        panic!("no answer");
    };
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code().map(|(code, _)| code), Some(400));
    assert_eq!((parsed.realm(), parsed.nonce()), (None, None));
    // A name by its hash is nobody's.
    let mut bytes = encode(
        StunMessageBuilder::new().allocate().request().build(TransId::new()),
        None,
    );
    bytes.truncate(20);
    bytes.extend([0, 0x1e, 0, 4, 1, 2, 3, 4, 0, 0x14, 0, 4]);
    bytes.extend(b"weir");
    bytes.extend([0, 0x15, 0, 4, 1, 2, 3, 4]);
    sign(&mut bytes, &world.key());
    let answer = world.answer(&bytes);
    let parsed = StunMessage::parse(&answer).unwrap();
    assert_eq!(parsed.error_code().map(|(code, _)| code), Some(401));
}

#[test]
fn of_attributes_of_one_type_the_first_counts() {
    let mut world = World::allocated();
    let message = StunMessageBuilder::new().refresh().request().lifetime(600);
    let end = [0, 0x0d, 0, 4, 0, 0, 0, 0];
    let request = world.signed(message.build(TransId::new()), &end);
    assert_eq!(
        StunMessage::parse(&world.answer(&request)).unwrap().lifetime(),
        Some(600)
    );
    // Behind the proof nothing counts.
    let mut request = world.signed(StunMessageBuilder::new().refresh().request().build(TransId::new()), &[]);
    request.extend(end);
    let len = (request.len() - 20) as u16;
    request[2..4].copy_from_slice(&len.to_be_bytes());
    assert_eq!(
        StunMessage::parse(&world.answer(&request)).unwrap().lifetime(),
        Some(600)
    );
}
