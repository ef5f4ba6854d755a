//! Reasons to close a connection.

use slots::Full;

/// Why we closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Closed {
    /// Its address had its share, and it was the oldest of it or one too many.
    AddressLimit,
    /// The server had as many as it takes.
    ServerLimit,
    /// The client took longer than it may.
    Slow,
    /// The client sent more frames of HTTP/2 than it may.
    Flood,
}

impl From<Full> for Closed {
    fn from(full: Full) -> Self {
        match full {
            Full::Holder => Closed::AddressLimit,
            Full::All => Closed::ServerLimit,
        }
    }
}

impl Closed {
    /// All of them, with their names in metrics.
    pub(crate) const NAMES: [(Self, &'static str); 4] = [
        (Closed::AddressLimit, "address_limit"),
        (Closed::ServerLimit, "server_limit"),
        (Closed::Slow, "slow"),
        (Closed::Flood, "flood"),
    ];
}
