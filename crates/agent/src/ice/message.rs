//! The STUN messages of ICE.

use is::stun::StunMessage;
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use ring::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key};
use ring::rand::{SecureRandom, SystemRandom};
use southbound::IceCredentials;
use wire::stun::BindingSuccess;

/// The largest answer: a header, one address, integrity and fingerprint.
const REPLY_MAX: usize = 128;

/// MESSAGE-INTEGRITY with its 20 bytes, then FINGERPRINT with its 4: how every connectivity check
/// ends.
const TRAILER: usize = 24 + 8;

const HEADER: usize = 20;

/// The priority of a peer-reflexive candidate (RFC 8445 section 5.1.2), for an address of ours that
/// the peer was not told.
const PRIORITY: u32 = (110 << 24) | (65_535 << 8) | 255;

/// The transaction id of a check.
pub(crate) type CheckId = [u8; 12];

/// A new transaction id. Only a party that the check reaches can know it, so it comes from the
/// operating system.
pub(super) fn new_id() -> CheckId {
    let mut id = CheckId::default();
    SystemRandom::new()
        .fill(&mut id)
        .expect("the operating system has random numbers");
    id
}

/// A connectivity check of ours, in the controlled role. The tie-breaker is zero, so that a peer in
/// the same role takes the other one (RFC 8445 section 7.3.1.1).
pub(super) fn request(local: &str, remote: &IceCredentials, id: &CheckId) -> Vec<u8> {
    let username = format!("{}:{local}", remote.ufrag);
    let mut bytes = vec![0x00, 0x01, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    bytes.extend(id);
    attribute(&mut bytes, 0x0006, username.as_bytes());
    attribute(&mut bytes, 0x0024, &PRIORITY.to_be_bytes());
    attribute(&mut bytes, 0x8029, &[0; 8]);
    let integrity = integrity(remote.password.as_bytes(), &bytes);
    attribute(&mut bytes, 0x0008, &integrity);
    set_len(&mut bytes, 8);
    let fingerprint = fingerprint(&bytes);
    attribute(&mut bytes, 0x8028, &fingerprint);
    bytes
}

/// Whether an answer is of the holder of this password.
pub(super) fn is_answer_of(answer: &BindingSuccess<'_>, password: &str) -> bool {
    let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    let mut covered = answer.covered.to_vec();
    set_len(&mut covered, 24);
    ring::hmac::verify(&key, &covered, &answer.integrity).is_ok()
}

/// Encodes an answer to a check.
pub(super) fn encode(message: StunMessage<'_>, password: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; REPLY_MAX];
    let len = message
        .to_bytes(Some(password), &mut bytes, hmac)
        .expect("answers are shorter than the buffer");
    bytes.truncate(len);
    bytes
}

/// Whether a datagram ends in MESSAGE-INTEGRITY and a right FINGERPRINT. ICE requires both in every
/// check, and attributes after the integrity would not be covered by it.
pub(super) fn ends_in_fingerprint(datagram: &[u8]) -> bool {
    let Some(start) = datagram.len().checked_sub(TRAILER) else {
        return false;
    };
    let (covered, trailer) = datagram.split_at(datagram.len() - 8);
    datagram[start..start + 4] == [0x00, 0x08, 0x00, 20]
        && trailer[..4] == [0x80, 0x28, 0x00, 4]
        && trailer[4..] == fingerprint(covered)
}

pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

/// MESSAGE-INTEGRITY of what stands in front of it, with a length that includes it (RFC 8489
/// section 14.5).
fn integrity(password: &[u8], covered: &[u8]) -> [u8; 20] {
    let mut covered = covered.to_vec();
    set_len(&mut covered, 24);
    hmac(password, &[&covered])
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(kind.to_be_bytes());
    bytes.extend((value.len() as u16).to_be_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    set_len(bytes, 0);
}

/// Writes the length of a message that `more` bytes follow.
fn set_len(bytes: &mut [u8], more: usize) {
    let len = (bytes.len() - HEADER + more) as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
}

fn fingerprint(covered: &[u8]) -> [u8; 4] {
    (crc32(covered) ^ 0x5354_554e).to_be_bytes()
}

/// CRC-32 of ISO 3309, bit by bit: a check is a hundred bytes, and there are few.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}
