//! The party's end of a DTLS association, as it described it.

use southbound::relay::Keys;
use wire::sdp::Fingerprint;

use super::Security;
use crate::sdp::Section;

/// The certificate of a party, and which of its associations is meant.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) fingerprint: Fingerprint,
    /// Its name for the association, if it has said one (RFC 8842 section 4).
    tls_id: Option<String>,
    /// Rises with each new name: with the same certificate another association is to begin.
    association: u32,
}

impl Peer {
    /// The party of a description, `None` if it names no certificate.
    pub(in crate::call) fn of(section: &Section<'_>, before: &Security) -> Option<Self> {
        let before = before.peer();
        let known = before.and_then(|before| before.tls_id.as_deref());
        let said = section.tls_id.or(known);
        let is_new = known.is_some() && said != known;
        Some(Self {
            fingerprint: section.fingerprint.clone()?,
            tls_id: said.map(str::to_owned),
            association: before.map_or(0, |before| before.association.wrapping_add(u32::from(is_new))),
        })
    }

    pub(in crate::call) fn keys(&self, active: bool) -> Keys {
        Keys::Dtls {
            fingerprint: self.fingerprint.clone(),
            active,
            association: self.association,
        }
    }
}

impl Security {
    fn peer(&self) -> Option<&Peer> {
        match self {
            Self::Dtls { peer, .. } => peer.as_ref(),
            Self::Clear | Self::Sdes { .. } => None,
        }
    }
}
