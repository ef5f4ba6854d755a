//! Answers to requests, and what is sent without one.

use std::net::{IpAddr, SocketAddr};

use crate::errors::ErrorCode;
use crate::integrity::{Algorithm, fingerprint};
use crate::kinds;
use crate::message::{COOKIE, HEADER_LEN, Message};

/// The name in answers to clients with credentials.
const SOFTWARE: &str = "Weir";
/// The most bytes of an answer to a sender that has proved nothing, for each of its request, with a
/// reason phrase. Without one an answer may be longer.
const REFLECTED_MAX: usize = 2;

/// An answer that is written, attribute by attribute.
pub(crate) struct Answer(Vec<u8>);

/// The key and the algorithm that an answer is proved by.
pub(crate) type Signer<'a> = (&'a [u8], Algorithm);

impl Answer {
    /// The answer that a request has succeeded.
    pub(crate) fn success(request: &Message<'_>) -> Self {
        Self::new(request, 0x00)
    }

    /// The answer that a request is refused.
    pub(crate) fn refusal(request: &Message<'_>, code: ErrorCode) -> Self {
        Self::new(request, 0x10).error(code, code.reason())
    }

    /// The same to a sender that has proved nothing. The reason phrase is there if the request was
    /// long enough: its sender may have been forged, and a longer answer reaches another.
    pub(crate) fn open_refusal(request: &Message<'_>, code: ErrorCode, challenge: Option<(&str, &str)>) -> Self {
        let with = |reason| {
            let answer = Self::new(request, 0x10).error(code, reason);
            match challenge {
                Some((realm, nonce)) => answer
                    .attribute(kinds::REALM, realm.as_bytes())
                    .attribute(kinds::NONCE, nonce.as_bytes()),
                None => answer,
            }
        };
        let answer = with(code.reason());
        match answer.0.len() <= REFLECTED_MAX * request.len() {
            true => answer,
            false => with(""),
        }
    }

    fn new(request: &Message<'_>, failed: u8) -> Self {
        let [high, low] = request.kind();
        let mut bytes = vec![high | 0x01, low | failed, 0, 0];
        bytes.extend(COOKIE);
        bytes.extend(request.id());
        Answer(bytes)
    }

    fn error(self, code: ErrorCode, reason: &str) -> Self {
        let number = code.number();
        let value = [&[0, 0, (number / 100) as u8, (number % 100) as u8], reason.as_bytes()].concat();
        self.attribute(kinds::ERROR_CODE, &value)
    }

    /// Adds UNKNOWN-ATTRIBUTES.
    pub(crate) fn unknown(self, kinds: &[u16]) -> Self {
        let value: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
        self.attribute(kinds::UNKNOWN_ATTRIBUTES, &value)
    }

    /// Adds an attribute.
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(kind.to_be_bytes());
        self.0.extend((value.len() as u16).to_be_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Adds an address that is combined with the cookie and the transaction's number.
    pub(crate) fn address(self, kind: u16, address: SocketAddr) -> Self {
        let (family, ip) = match address.ip() {
            IpAddr::V4(v4) => (1, v4.octets().to_vec()),
            IpAddr::V6(v6) => (2, v6.octets().to_vec()),
        };
        let mut value = vec![0, family];
        let combined = [&address.port().to_be_bytes()[..], &ip].concat();
        let port_mask = &self.0[4..6];
        let masks = port_mask.iter().chain(&self.0[4..HEADER_LEN]);
        value.extend(combined.iter().zip(masks).map(|(byte, mask)| byte ^ mask));
        self.attribute(kind, &value)
    }

    /// Ends it: with SOFTWARE and a proof for a client with credentials, and with FINGERPRINT if
    /// the request had one.
    pub(crate) fn finish(self, request: &Message<'_>, signer: Option<Signer<'_>>) -> Vec<u8> {
        let mut answer = self;
        if let Some((key, algorithm)) = signer {
            answer = answer.attribute(kinds::SOFTWARE, SOFTWARE.as_bytes());
            answer.set_len(4 + algorithm.len());
            let proof = algorithm.sign(key, &[&answer.0]);
            let kind = match algorithm {
                Algorithm::Sha1 => kinds::MESSAGE_INTEGRITY,
                Algorithm::Sha256 => kinds::MESSAGE_INTEGRITY_SHA256,
            };
            answer = answer.attribute(kind, proof.as_ref());
        }
        if request.has_fingerprint {
            answer.set_len(8);
            let sum = fingerprint(&[&answer.0]).to_be_bytes();
            answer = answer.attribute(kinds::FINGERPRINT, &sum);
        }
        answer.set_len(0);
        answer.0
    }

    /// Writes the length that the message has with so many bytes more.
    fn set_len(&mut self, more: usize) {
        let len = (self.0.len() - HEADER_LEN + more) as u16;
        self.0[2..4].copy_from_slice(&len.to_be_bytes());
    }
}
