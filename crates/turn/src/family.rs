//! The families of addresses.

use std::net::SocketAddr;

/// The family of a relayed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The family of an address.
    pub fn of(address: SocketAddr) -> Self {
        match address.is_ipv4() {
            true => Family::V4,
            false => Family::V6,
        }
    }

    /// The family with this number in attributes (RFC 8656 section 18.4).
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Family::V4),
            2 => Some(Family::V6),
            _ => None,
        }
    }
}
