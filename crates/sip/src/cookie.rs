//! Cookies, under which proxies repeat their requests, in both protocols.

use crate::limits::COOKIE_MAX;

/// Divides a message into its cookie and its payload; `None` when it has no cookie, or too long a
/// one.
pub fn split(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = message.iter().take(COOKIE_MAX + 1).position(|byte| *byte == b' ')?;
    (space > 0).then(|| (&message[..space], &message[space + 1..]))
}

/// Whether a cookie is one of a proxy, and not part of a packet of media.
pub(crate) fn is_usable(cookie: &[u8]) -> bool {
    cookie.iter().all(u8::is_ascii_graphic)
}
