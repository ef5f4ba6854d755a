//! Answers and indications as bytes.

use std::net::SocketAddr;
use std::time::Duration;

use is::stun::{Method, StunMessage, StunMessageBuilder, TransId};
use ring::hmac;

use crate::limits::{DATA_MAX, MESSAGE_MAX};

/// HMAC-SHA-1 of several parts.
pub(crate) fn hmac_sha1(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key);
    let mut context = hmac::Context::with_key(&key);
    parts.iter().for_each(|part| context.update(part));
    let mut digest = [0; 20];
    digest.copy_from_slice(context.sign().as_ref());
    digest
}

/// The answer that an allocation was made, or is there.
pub(crate) fn allocated(
    id: TransId,
    relayed: SocketAddr,
    client: SocketAddr,
    lifetime: Duration,
    key: &[u8],
) -> Vec<u8> {
    let message = StunMessageBuilder::new()
        .allocate()
        .success()
        .xor_relayed_address(relayed)
        .xor_mapped_address(client)
        .lifetime(lifetime.as_secs() as u32)
        .build(id);
    encode(message, Some(key))
}

/// The answer that an allocation has this lifetime.
pub(crate) fn refreshed(id: TransId, lifetime: Duration, key: &[u8]) -> Vec<u8> {
    let message = StunMessageBuilder::new()
        .refresh()
        .success()
        .lifetime(lifetime.as_secs() as u32)
        .build(id);
    encode(message, Some(key))
}

/// The answer that a peer is permitted.
pub(crate) fn permitted(id: TransId, key: &[u8]) -> Vec<u8> {
    encode(
        StunMessageBuilder::new().create_permission().success().build(id),
        Some(key),
    )
}

/// The answer that a channel is bound.
pub(crate) fn bound(id: TransId, key: &[u8]) -> Vec<u8> {
    encode(StunMessageBuilder::new().channel_bind().success().build(id), Some(key))
}

/// A refusal. With a realm and a nonce it asks for credentials, and is not authenticated.
pub(crate) fn refused(
    method: Method,
    id: TransId,
    code: u16,
    challenge: Option<(&str, &str)>,
    key: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let builder = match method {
        Method::Allocate => StunMessageBuilder::new().allocate(),
        Method::Refresh => StunMessageBuilder::new().refresh(),
        Method::CreatePermission => StunMessageBuilder::new().create_permission(),
        Method::ChannelBind => StunMessageBuilder::new().channel_bind(),
        _ => return None,
    };
    // Without a reason: an answer to anybody is to be short.
    let mut builder = builder.failure().error_code(code, "");
    if let Some((realm, nonce)) = challenge {
        builder = builder.realm(realm).nonce(nonce);
    }
    Some(encode(builder.build(id), key))
}

/// The refusal of a request with attributes that are not understood (RFC 8489 section 6.3.1).
///
/// Errors: `None` when the request is no STUN message.
pub(crate) fn not_understood(request: &[u8], attributes: &[u16], key: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = request.split_first_chunk::<20>()?;
    let mut answer = header.to_vec();
    answer[0] |= 0x01;
    answer[1] |= 0x10;
    // ERROR-CODE 420, without a reason, and UNKNOWN-ATTRIBUTES.
    answer.extend([0x00, 0x09, 0, 4, 0, 0, 4, 20, 0x00, 0x0a]);
    answer.extend((2 * attributes.len() as u16).to_be_bytes());
    answer.extend(attributes.iter().flat_map(|kind| kind.to_be_bytes()));
    answer.resize(answer.len().next_multiple_of(4), 0);
    sign(&mut answer, key);
    Some(answer)
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
