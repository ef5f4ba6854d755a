//! Keys with a protocol without protection, which an answer may accept or decline (RFC 8643).

use crate::call::Media;
use crate::call::security::Security;
use crate::sdp::{Keying, Section};

impl Media {
    /// Handles an answer that declines optional keys: then neither party is protected, unless its
    /// protocol demands it (RFC 8643 section 3.1).
    pub(super) fn decline_keys(&mut self, end: usize, section: &Section<'_>) {
        let need_not = |protocol: &str| Keying::of(protocol, false, false) == Keying::Plain;
        let has_keys = !section.cryptos.is_empty() || section.fingerprint.is_some();
        if has_keys || !need_not(&self.protocols[end]) || self.sides[end].security.keying() == Keying::Plain {
            return;
        }
        for (side, protocol) in self.sides.iter_mut().zip(&self.protocols) {
            if need_not(protocol) {
                side.security = Security::Clear;
            }
        }
    }
}

/// Whether we can be the other end of the offered keying.
pub(super) fn is_usable(speaks: Keying, section: &Section<'_>, has_certificate: bool) -> bool {
    match speaks {
        Keying::Plain => true,
        Keying::Sdes => section.cryptos.iter().any(|theirs| !theirs.unsupported),
        Keying::Dtls => has_certificate,
    }
}
