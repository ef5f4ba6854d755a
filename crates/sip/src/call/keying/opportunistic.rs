//! Keys with a protocol without protection, which an answer may accept or decline (RFC 8643).

use crate::call::security::Security;
use crate::call::{Dtls, Media, Terms};
use crate::sdp::{Keying, Section};

impl Media {
    /// The keying of the party that gets an offer, if the proxy or an earlier answer has decided it
    /// apart from that of the party at `end`: keys of ours beside a protocol without protection.
    pub(super) fn keying_apart(&self, end: usize, section: &Section<'_>, terms: &Terms) -> Option<Keying> {
        if !self.protocols.iter().all(|protocol| need_not(protocol)) || !need_not(section.protocol) {
            return None;
        }
        let [speaker, other] = [end, 1 - end].map(|end| self.sides[end].security.keying());
        if terms.keying.osrtp.offer && section.keying() == Keying::Plain {
            Some(if other == Keying::Dtls {
                Keying::Dtls
            } else {
                Keying::Sdes
            })
        } else {
            let is_agreed = self
                .sides
                .iter()
                .all(|side| side.security.egress_protection().is_some());
            (is_agreed && speaker != other).then_some(other)
        }
    }

    /// Handles an answer that declines optional keys: then neither party is protected, unless its
    /// protocol demands it (RFC 8643 section 3.1).
    pub(super) fn decline_keys(&mut self, end: usize, section: &Section<'_>) {
        if !self.declines(end, section) || self.sides[end].security.keying() == Keying::Plain {
            return;
        }
        for (side, protocol) in self.sides.iter_mut().zip(&self.protocols) {
            if need_not(protocol) {
                side.security = Security::Clear;
            }
        }
    }

    /// Handles the same answer if the proxy wants the keys accepted: then the party that offered
    /// them is protected by us.
    pub(super) fn accept_keys(&mut self, end: usize, section: &Section<'_>, terms: &Terms) {
        if !self.declines(end, section) {
            return;
        }
        self.sides[end].security = Security::Clear;
        let passed = self.choice.as_ref().filter(|choice| choice.end != end);
        let usable = passed.filter(|choice| choice.speaker.keying() != Keying::Dtls || terms.keying.dtls != Dtls::Off);
        if let Some(choice) = usable {
            self.sides[1 - end].security = choice.speaker.clone();
        }
    }

    /// Whether the answer of the party at `end` has no keys, and need not have any.
    fn declines(&self, end: usize, section: &Section<'_>) -> bool {
        let has_keys = !section.cryptos.is_empty() || section.fingerprint.is_some();
        !has_keys && need_not(&self.protocols[end])
    }
}

/// Whether media may go without protection under this protocol.
fn need_not(protocol: &str) -> bool {
    Keying::of(protocol, false, false) == Keying::Plain
}

/// Whether we can be the other end of the offered keying.
pub(super) fn is_usable(speaks: Keying, section: &Section<'_>, has_certificate: bool) -> bool {
    match speaks {
        Keying::Plain => true,
        Keying::Sdes => section.cryptos.iter().any(|theirs| !theirs.unsupported),
        Keying::Dtls => has_certificate,
    }
}
