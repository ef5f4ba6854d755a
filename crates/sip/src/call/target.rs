//! Which of several offers an answer is to, if the proxy does not name the branch.

use super::{Dialogue, Ice, Protocol, Terms};
use crate::sdp::{Description, Keying};

/// The kind of party that an offer is for. A proxy that offers a call to several parties may not
/// name the branch of each.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The transport protocol.
    pub(crate) protocol: String,
    pub(crate) ice: Ice,
    pub(crate) interface: usize,
    /// Whether the proxy's flags name the kind. Without, an offer in a call that is answered
    /// changes nothing of it.
    pub(crate) is_named: bool,
}

impl Target {
    /// The party that this offer is for, at an interface of ours.
    pub(crate) fn of(offer: &Description<'_>, terms: &Terms, interface: usize) -> Option<Self> {
        let said = offer.sections.iter().find(|section| section.is_rtp())?.protocol;
        let protocol = match &terms.protocol {
            Some(Protocol::Exactly(wanted)) => wanted,
            Some(Protocol::Accept) | None => said,
        };
        Some(Self {
            protocol: protocol.to_ascii_uppercase(),
            ice: terms.ice,
            interface,
            is_named: terms.protocol.is_some() || terms.ice != Ice::Default || terms.interfaces()[1].is_some(),
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        (&self.protocol, self.ice, self.interface) == (&other.protocol, other.ice, other.interface)
    }
}

impl Dialogue {
    /// Whether an offer to a party of this kind may be about it.
    pub(super) fn is_for(&self, target: &Target) -> bool {
        let is_change = || self.is_established() && !target.is_named;
        self.target
            .as_ref()
            .is_none_or(|known| known.is_like(target) || is_change())
    }

    /// How well the last offer to the party at `end` fits an answer: by protocol, then by
    /// protection, then by ICE.
    pub(super) fn likeness(&self, end: usize, answer: &Description<'_>) -> u8 {
        let mut both = self.media.iter().zip(&answer.sections);
        let Some((media, section)) = both.find(|(media, section)| media.is_rtp && section.port != 0) else {
            return 0;
        };
        let side = &media.sides[end];
        let keying = match side.security.keying() {
            Keying::Plain => Keying::of(&media.protocols[end], false, false),
            keying => keying,
        };
        let has_ice = side.ice.is_some() || media.passes_ice;
        4 * u8::from(media.protocols[end].eq_ignore_ascii_case(section.protocol))
            + 2 * u8::from(keying == section.keying())
            + u8::from(has_ice == section.ice.is_some())
    }
}
