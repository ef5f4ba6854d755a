//! The answer of a peer to a connectivity check.

use std::net::SocketAddr;

use is::stun::StunMessage;
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};

/// The answer to `check`, which came from `from`, by the peer with this password; `None` where it
/// is not a check of somebody who knows the password.
pub fn answer(check: &[u8], from: SocketAddr, password: &str) -> Option<Vec<u8>> {
    let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
    let message = StunMessage::parse(check).ok()?;
    if !message.is_binding_request() || !message.verify(password.as_bytes(), hmac) {
        return None;
    }
    let mut bytes = vec![0; 128];
    let answer = StunMessage::binding_reply(message.trans_id(), from);
    let len = answer.to_bytes(Some(password.as_bytes()), &mut bytes, hmac).ok()?;
    bytes.truncate(len);
    Some(bytes)
}
