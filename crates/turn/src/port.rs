//! The ports of allocations, as a client asks for them.

use std::net::SocketAddr;

use crate::errors::ErrorCode;
use crate::kinds::{
    ADDITIONAL_ADDRESS_FAMILY, ADDITIONAL_ADDRESS_FAMILY_DRAFT, EVEN_PORT, REQUESTED_ADDRESS_FAMILY, RESERVATION_TOKEN,
};
use crate::message::{Malformed, Message};
use crate::{Family, Server};

/// The name of a reserved port, which only the client that reserved it knows.
pub type Token = [u8; 8];

/// The port that an allocation is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRequest {
    /// One of this family.
    Any(Family),
    /// One of this family with an even number.
    Even {
        /// The family.
        family: Family,
        /// Whether the next number is kept, and the client is given a token for it.
        reserve_next: bool,
    },
    /// The one that was kept under this token.
    Reserved(Token),
}

/// A port that was opened for an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its address as clients and peers know it.
    pub relayed: SocketAddr,
    /// The token of the next port, if it was kept.
    pub token: Option<Token>,
}

/// Why a client gets no port for an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The user has as many allocations as one may have.
    Quota,
    /// There is no port, or none of that kind.
    NoPort,
}

impl Refusal {
    pub(crate) fn code(self) -> ErrorCode {
        match self {
            Refusal::Quota => ErrorCode::AllocationQuotaReached,
            Refusal::NoPort => ErrorCode::InsufficientCapacity,
        }
    }
}

/// The ports that an allocation asks for (RFC 8656 section 7.2): the second one, of IPv6, may be
/// missing on this server.
pub(crate) fn asked(server: &Server, message: &Message<'_>) -> Result<(PortRequest, bool), ErrorCode> {
    let bad = |Malformed| ErrorCode::BadRequest;
    let requested = message.exact::<4>(REQUESTED_ADDRESS_FAMILY).map_err(bad)?;
    let additional = message.exact::<4>(ADDITIONAL_ADDRESS_FAMILY).map_err(bad)?;
    let additional = match additional {
        None => message.exact::<4>(ADDITIONAL_ADDRESS_FAMILY_DRAFT).map_err(bad)?,
        additional => additional,
    };
    let even = message.exact::<1>(EVEN_PORT).map_err(bad)?;
    let token = message.exact(RESERVATION_TOKEN).map_err(bad)?;
    let reserves_next = even.is_some_and(|[bits]| bits & 0x80 != 0);
    if let Some(token) = token {
        let is_alone = requested.is_none() && additional.is_none() && even.is_none();
        return is_alone
            .then_some((PortRequest::Reserved(token), false))
            .ok_or(ErrorCode::BadRequest);
    }
    let is_dual = match additional {
        None => false,
        Some([2, ..]) if requested.is_none() && !reserves_next => true,
        Some(_) => return Err(ErrorCode::BadRequest),
    };
    let family = match requested {
        // A server without IPv4 has only one family to offer.
        None if !server.has_peer_of(Family::V4) && !is_dual => Some(Family::V6),
        None => Some(Family::V4),
        Some([number, ..]) => Family::from_number(number),
    };
    let family = family.ok_or(ErrorCode::AddressFamilyNotSupported)?;
    let port = match even {
        None => PortRequest::Any(family),
        Some(_) => PortRequest::Even {
            family,
            reserve_next: reserves_next,
        },
    };
    Ok((port, is_dual))
}
