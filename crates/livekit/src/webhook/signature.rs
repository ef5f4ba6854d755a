//! The token that comes with a message.

use std::time::Duration;

use access::{ApiKeys, Claims};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

/// How long a token is valid.
const VALID: Duration = Duration::from_secs(300);

/// The value of `Authorization` for a body: a token with the body's SHA-256 in base64, signed for
/// `key` at `unix` (since 1970). There is no `Bearer` before it. `None` when the key is not among
/// `keys`.
pub fn sign(body: &[u8], key: &str, keys: &ApiKeys, unix: Duration) -> Option<String> {
    let claims = Claims {
        iss: key.to_owned(),
        nbf: Some(unix.as_secs()),
        exp: Some((unix + VALID).as_secs()),
        sha256: STANDARD.encode(digest::digest(&digest::SHA256, body)),
        ..Claims::default()
    };
    access::sign(&claims, keys)
}
