//! The types of attributes (RFC 8489 section 18.3, RFC 8656 section 18).

pub(crate) const USERNAME: u16 = 0x0006;
pub(crate) const MESSAGE_INTEGRITY: u16 = 0x0008;
pub(crate) const ERROR_CODE: u16 = 0x0009;
pub(crate) const UNKNOWN_ATTRIBUTES: u16 = 0x000a;
pub(crate) const CHANNEL_NUMBER: u16 = 0x000c;
pub(crate) const LIFETIME: u16 = 0x000d;
pub(crate) const XOR_PEER_ADDRESS: u16 = 0x0012;
pub(crate) const DATA: u16 = 0x0013;
pub(crate) const REALM: u16 = 0x0014;
pub(crate) const NONCE: u16 = 0x0015;
pub(crate) const XOR_RELAYED_ADDRESS: u16 = 0x0016;
pub(crate) const REQUESTED_ADDRESS_FAMILY: u16 = 0x0017;
pub(crate) const EVEN_PORT: u16 = 0x0018;
pub(crate) const REQUESTED_TRANSPORT: u16 = 0x0019;
pub(crate) const DONT_FRAGMENT: u16 = 0x001a;
pub(crate) const MESSAGE_INTEGRITY_SHA256: u16 = 0x001c;
pub(crate) const PASSWORD_ALGORITHM: u16 = 0x001d;
pub(crate) const USERHASH: u16 = 0x001e;
pub(crate) const XOR_MAPPED_ADDRESS: u16 = 0x0020;
pub(crate) const RESERVATION_TOKEN: u16 = 0x0022;
pub(crate) const ADDITIONAL_ADDRESS_FAMILY: u16 = 0x8000;
/// The same before it had a number (draft-martinsen-tram-ssoda), as coturn's client sends it.
pub(crate) const ADDITIONAL_ADDRESS_FAMILY_DRAFT: u16 = 0x8032;
pub(crate) const ADDRESS_ERROR_CODE: u16 = 0x8001;
pub(crate) const SOFTWARE: u16 = 0x8022;
pub(crate) const FINGERPRINT: u16 = 0x8028;

/// Types that have to be understood, and are. MAPPED-ADDRESS is among them, which no request needs.
const UNDERSTOOD: [u16; 21] = [
    0x0001,
    USERNAME,
    MESSAGE_INTEGRITY,
    ERROR_CODE,
    UNKNOWN_ATTRIBUTES,
    CHANNEL_NUMBER,
    LIFETIME,
    XOR_PEER_ADDRESS,
    DATA,
    REALM,
    NONCE,
    XOR_RELAYED_ADDRESS,
    REQUESTED_ADDRESS_FAMILY,
    EVEN_PORT,
    REQUESTED_TRANSPORT,
    DONT_FRAGMENT,
    MESSAGE_INTEGRITY_SHA256,
    PASSWORD_ALGORITHM,
    USERHASH,
    XOR_MAPPED_ADDRESS,
    RESERVATION_TOKEN,
];

/// The first type that need not be understood (RFC 8489 section 14).
const OPTIONAL: u16 = 0x8000;

/// Whether a message with an attribute of this type has to be refused.
pub(crate) fn is_unknown(kind: u16) -> bool {
    kind < OPTIONAL && !UNDERSTOOD.contains(&kind)
}
