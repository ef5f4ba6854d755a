//! Messages of the STUN library as bytes: those to clients without a channel, and those of clients
//! in tests.

use std::net::SocketAddr;

use is::stun::{StunMessage, StunMessageBuilder, TransId};

use crate::integrity::Algorithm;
use crate::limits::{DATA_MAX, MESSAGE_MAX};

/// HMAC-SHA-1 of several parts.
pub(crate) fn hmac_sha1(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    let mut digest = [0; 20];
    digest.copy_from_slice(Algorithm::Sha1.sign(key, parts).as_ref());
    digest
}

/// Ends a message of whole attributes with MESSAGE-INTEGRITY.
pub fn sign(message: &mut Vec<u8>, key: &[u8]) {
    let len = (message.len() - 20 + 24) as u16;
    message[2..4].copy_from_slice(&len.to_be_bytes());
    let digest = hmac_sha1(key, &[message]);
    message.extend([0x00, 0x08, 0, 20]);
    message.extend(digest);
}

/// Data of a peer without a channel.
pub(crate) fn data(peer: SocketAddr, data: &[u8]) -> Option<Vec<u8>> {
    let message = StunMessageBuilder::new()
        .data()
        .indication()
        .xor_peer_address(peer)
        .data(data)
        .build(TransId::new());
    (data.len() <= DATA_MAX).then(|| encode(message, None))
}

/// The bytes of a message, with MESSAGE-INTEGRITY if there is a key, and with FINGERPRINT.
pub fn encode(message: StunMessage<'_>, key: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0; MESSAGE_MAX];
    let len = message
        .to_bytes(key, &mut bytes, hmac_sha1)
        .expect("messages are shorter than the buffer");
    bytes.truncate(len);
    bytes
}
