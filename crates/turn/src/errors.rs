//! The errors of answers (RFC 8489 section 14.8, RFC 8656 section 19).

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    BadRequest,
    Unauthenticated,
    Forbidden,
    UnknownAttribute,
    AllocationMismatch,
    StaleNonce,
    AddressFamilyNotSupported,
    WrongCredentials,
    UnsupportedTransportProtocol,
    PeerAddressFamilyMismatch,
    AllocationQuotaReached,
    InsufficientCapacity,
}

impl ErrorCode {
    /// The number, of three digits.
    pub(crate) fn number(self) -> u16 {
        match self {
            ErrorCode::BadRequest => 400,
            ErrorCode::Unauthenticated => 401,
            ErrorCode::Forbidden => 403,
            ErrorCode::UnknownAttribute => 420,
            ErrorCode::AllocationMismatch => 437,
            ErrorCode::StaleNonce => 438,
            ErrorCode::AddressFamilyNotSupported => 440,
            ErrorCode::WrongCredentials => 441,
            ErrorCode::UnsupportedTransportProtocol => 442,
            ErrorCode::PeerAddressFamilyMismatch => 443,
            ErrorCode::AllocationQuotaReached => 486,
            ErrorCode::InsufficientCapacity => 508,
        }
    }

    /// The reason phrase that the RFCs recommend.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            ErrorCode::BadRequest => "Bad Request",
            ErrorCode::Unauthenticated => "Unauthenticated",
            ErrorCode::Forbidden => "Forbidden",
            ErrorCode::UnknownAttribute => "Unknown Attribute",
            ErrorCode::AllocationMismatch => "Allocation Mismatch",
            ErrorCode::StaleNonce => "Stale Nonce",
            ErrorCode::AddressFamilyNotSupported => "Address Family not Supported",
            ErrorCode::WrongCredentials => "Wrong Credentials",
            ErrorCode::UnsupportedTransportProtocol => "Unsupported Transport Protocol",
            ErrorCode::PeerAddressFamilyMismatch => "Peer Address Family Mismatch",
            ErrorCode::AllocationQuotaReached => "Allocation Quota Reached",
            ErrorCode::InsufficientCapacity => "Insufficient Capacity",
        }
    }
}
