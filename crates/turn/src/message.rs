//! Messages of clients.

use std::net::SocketAddr;

use wire::stun::xored_address;

use crate::integrity::{Algorithm, fingerprint, is_equal};
use crate::kinds::{self, FINGERPRINT, MESSAGE_INTEGRITY, MESSAGE_INTEGRITY_SHA256};
use crate::limits::UNKNOWN_MAX;

/// The cookie that begins each transaction (RFC 8489 section 5).
pub(crate) const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// A message without attributes.
pub(crate) const HEADER_LEN: usize = 20;

/// The part of a message in its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Request,
    Indication,
    /// The answer to one, which is never answered.
    Answer,
}

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Binding,
    Allocate,
    Refresh,
    Send,
    CreatePermission,
    ChannelBind,
}

/// The value of an attribute has another form than it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A message whose attributes are whole.
///
/// Of attributes of one type only the first is read, but for XOR-PEER-ADDRESS (RFC 8489 section
/// 14).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub class: Class,
    pub method: Method,
    bytes: &'a [u8],
    /// The attributes in front of the first proof. Later ones are not covered by it.
    attributes: &'a [u8],
    proof: Option<Proof<'a>>,
    pub has_fingerprint: bool,
}

/// A proof that the sender of a message has the key.
#[derive(Clone, Copy, Debug)]
struct Proof<'a> {
    algorithm: Algorithm,
    /// The beginning of the attribute.
    at: usize,
    value: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// Errors: `None` for a malformed one, for one with a wrong FINGERPRINT, and for one with a
    /// method that is not served. None of them is to be answered (RFC 8489 section 6.3).
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[4..8] != COOKIE || HEADER_LEN + len != bytes.len() || !len.is_multiple_of(4) {
            return None;
        }
        let (class, method) = kind([header[0], header[1]])?;
        let mut message = Message {
            class,
            method,
            bytes,
            attributes: &bytes[HEADER_LEN..],
            proof: None,
            has_fingerprint: false,
        };
        let mut at = HEADER_LEN;
        while at < bytes.len() {
            let (kind, value, next) = attribute(bytes, at)?;
            message.note(kind, value, at)?;
            at = next;
        }
        Some(message)
    }

    /// Notes an attribute that ends the ones which are read.
    fn note(&mut self, kind: u16, value: &'a [u8], at: usize) -> Option<()> {
        let algorithm = match kind {
            MESSAGE_INTEGRITY if value.len() == Algorithm::Sha1.len() => Algorithm::Sha1,
            MESSAGE_INTEGRITY_SHA256 if matches!(value.len(), 16 | 20 | 24 | 28 | 32) => Algorithm::Sha256,
            MESSAGE_INTEGRITY | MESSAGE_INTEGRITY_SHA256 => return None,
            FINGERPRINT => return self.check_fingerprint(value, at),
            _ => return Some(()),
        };
        match self.proof.map(|proof| proof.algorithm) {
            None => self.attributes = &self.bytes[HEADER_LEN..at],
            // The stronger one counts. Nothing but FINGERPRINT is read behind it.
            Some(Algorithm::Sha1) if algorithm == Algorithm::Sha256 => {}
            Some(_) => return Some(()),
        }
        self.proof = Some(Proof { algorithm, at, value });
        Some(())
    }

    fn check_fingerprint(&mut self, value: &[u8], at: usize) -> Option<()> {
        let is_last = at + 8 == self.bytes.len();
        let expected = fingerprint(&[&self.bytes[..at]]).to_be_bytes();
        self.has_fingerprint = is_last && value == expected;
        if self.proof.is_none() {
            self.attributes = &self.bytes[HEADER_LEN..at];
        }
        self.has_fingerprint.then_some(())
    }

    /// The transaction's number.
    pub(crate) fn id(&self) -> [u8; 12] {
        self.bytes[8..HEADER_LEN].try_into().expect("it is in the header")
    }

    /// The first two bytes.
    pub(crate) fn kind(&self) -> [u8; 2] {
        [self.bytes[0], self.bytes[1]]
    }

    /// The length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How the message is proved to be of somebody with the key, if it is.
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        self.proof.map(|proof| proof.algorithm)
    }

    /// Whether the message is of somebody with this key.
    pub(crate) fn is_signed_by(&self, key: &[u8]) -> bool {
        let Some(Proof { algorithm, at, value }) = self.proof else {
            return false;
        };
        let len = (at + 4 + value.len() - HEADER_LEN) as u16;
        let parts = [&self.bytes[..2], &len.to_be_bytes(), &self.bytes[4..at]];
        let expected = algorithm.sign(key, &parts);
        is_equal(value, &expected.as_ref()[..value.len()])
    }

    /// The value of the first attribute of this type.
    pub(crate) fn first(&self, kind: u16) -> Option<&'a [u8]> {
        self.each(kind).next()
    }

    /// Whether there is an attribute of this type.
    pub(crate) fn has(&self, kind: u16) -> bool {
        self.first(kind).is_some()
    }

    /// The first attribute of this type, whose value has this length.
    pub(crate) fn exact<const LEN: usize>(&self, kind: u16) -> Result<Option<[u8; LEN]>, Malformed> {
        let value = self.first(kind).map(|value| value.try_into().map_err(|_| Malformed));
        value.transpose()
    }

    /// All peers.
    pub(crate) fn peers(&self) -> impl Iterator<Item = Result<SocketAddr, Malformed>> {
        let id = self.id();
        let peers = self.each(kinds::XOR_PEER_ADDRESS);
        peers.map(move |value| xored_address(value, &id).ok_or(Malformed))
    }

    /// The types that have to be understood and are not: the first few, each once.
    pub(crate) fn unknown(&self) -> Vec<u16> {
        let mut unknown = Vec::new();
        for (kind, _) in self.attributes() {
            if kinds::is_unknown(kind) && unknown.len() < UNKNOWN_MAX && !unknown.contains(&kind) {
                unknown.push(kind);
            }
        }
        unknown
    }

    fn each(&self, kind: u16) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.attributes()
            .filter_map(move |(found, value)| (found == kind).then_some(value))
    }

    fn attributes(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let (bytes, mut at) = (self.attributes, 0);
        std::iter::from_fn(move || {
            let (kind, value, next) = attribute(bytes, at)?;
            at = next;
            Some((kind, value))
        })
    }
}

/// The type and the value of the attribute that begins here, and where the next one does.
fn attribute(bytes: &[u8], at: usize) -> Option<(u16, &[u8], usize)> {
    let ([first, second, high, low], rest) = bytes.get(at..)?.split_first_chunk()?;
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    let padded = len.next_multiple_of(4);
    let value = rest.get(..padded)?.get(..len)?;
    Some((u16::from_be_bytes([*first, *second]), value, at + 4 + padded))
}

/// Class and method of a message's type (RFC 8489 section 5).
fn kind([high, low]: [u8; 2]) -> Option<(Class, Method)> {
    let class = match (high & 0x01, low & 0x10) {
        (0, 0) => Class::Request,
        (0, _) => Class::Indication,
        _ => Class::Answer,
    };
    let method = match (high & !0x01, low & !0x10) {
        (0, 0x01) => Method::Binding,
        (0, 0x03) => Method::Allocate,
        (0, 0x04) => Method::Refresh,
        (0, 0x06) => Method::Send,
        (0, 0x08) => Method::CreatePermission,
        (0, 0x09) => Method::ChannelBind,
        _ => return None,
    };
    Some((class, method))
}
