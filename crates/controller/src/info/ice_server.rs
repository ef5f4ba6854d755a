//! A server that helps a client with ICE, as the client is told of it.

use std::fmt;

/// A server that helps a client with ICE (RFC 8656).
#[derive(Clone, PartialEq, Eq)]
pub struct IceServer {
    /// `stun:` and `turn:` addresses.
    pub urls: Vec<String>,
    /// User name, empty for STUN.
    pub username: String,
    /// Password, empty for STUN.
    pub credential: String,
}

impl fmt::Debug for IceServer {
    // Passwords have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IceServer")
            .field("urls", &self.urls)
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}
