//! ICE in a section: of each party with us, or of the two parties with each other.

use wire::sdp::IceCredentials;

use super::super::{Context, Heard, Ice, Media, Side, Terms};
use super::Role;
use crate::config::Config;
use crate::sdp::{Attributes, Candidate, Section};

impl Media {
    /// Whether the ICE of an offer may pass with our addresses beside the sender's. Media may then
    /// bypass us, so both parties must use the same protection, and a party with ICE to us keeps
    /// that.
    pub(super) fn may_pass_ice(&self, end: usize, section: &Section<'_>, terms: &Terms, config: &Config) -> bool {
        let other = &self.sides[1 - end];
        let is_ours = || self.sides.iter().any(|side| side.ice.is_some() && side.has_ice());
        let wanted = match terms.ice {
            Ice::Optional | Ice::ForceRelay => terms.reset || !is_ours(),
            Ice::Default => self.passes_ice && !terms.reset && (other.heard.is_none() || other.has_ice()),
            Ice::Remove | Ice::Force => false,
        };
        wanted && !terms.ice_reject && section.ice.is_some() && self.may_pass_keys(end, section, terms, config)
    }

    /// An offer with new credentials restarts ICE, and the answer must have new ones too (RFC 8839
    /// section 4.4.1.1.1). Addresses proved with the old ones count until one is proved with the
    /// new ones.
    pub(super) fn restart_ice(&mut self, end: usize, role: Role, heard: &Heard, context: &mut Context<'_>) {
        let side = &mut self.sides[end];
        let before = side.heard.as_ref().and_then(|before| before.ice.as_ref());
        let restarts = before.is_some() && heard.ice.is_some() && before != heard.ice.as_ref();
        if role == Role::Offer && restarts && side.ice.is_some() {
            side.ice = Some(context.random.credentials());
        }
    }

    /// The ICE lines for the other party, and our addresses beside candidates that pass.
    pub(super) fn set_ice(
        &mut self,
        end: usize,
        role: Role,
        section: &Section<'_>,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> (Attributes<(IceCredentials, Vec<Candidate>)>, Vec<Candidate>) {
        let passed = self.passes_ice;
        let passes = passed && section.ice.is_some() && terms.ice != Ice::Remove;
        if passed {
            self.sides.iter_mut().for_each(|side| side.ice = None);
        }
        let [speaker, other] = self.sides_from(end);
        if role == Role::Offer {
            speaker.ice_rejected = terms.ice_reject;
        }
        if passes {
            return (Attributes::Keep, other.candidates(section, terms));
        }
        if section.ice.is_none() {
            speaker.ice = None;
        }
        let wanted = match (terms.ice, role) {
            (Ice::Remove, _) => false,
            (Ice::Force | Ice::Optional | Ice::ForceRelay, Role::Offer) => true,
            // A party with ICE to us keeps it, and one that has described itself without ICE stays
            // without.
            (Ice::Default, Role::Offer) if other.heard.is_some() && !terms.reset => {
                other.ice.is_some() && other.has_ice()
            }
            (Ice::Default, Role::Offer) => section.ice.is_some(),
            // The passed credentials are the other party's, not ours, so an answer without ICE ends
            // it.
            (_, Role::Answer) => !passed && other.has_ice() && !other.ice_rejected,
        };
        if !wanted {
            other.ice = None;
            return (Attributes::Strip, Vec::new());
        }
        let credentials = other.ice.get_or_insert_with(|| context.random.credentials()).clone();
        (
            Attributes::Replace((credentials, other.candidates(section, terms))),
            Vec::new(),
        )
    }
}

impl Side {
    fn has_ice(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| heard.ice.is_some())
    }

    /// Our addresses towards the party, for it to try.
    fn candidates(&self, section: &Section<'_>, terms: &Terms) -> Vec<Candidate> {
        let Some(pair) = &self.local else { return Vec::new() };
        let address = terms.media_address.unwrap_or(pair.advertised);
        let mut candidates = vec![Candidate {
            component: 1,
            address,
            port: pair.rtp().port(),
        }];
        if !self.mux && section.is_rtp() {
            candidates.push(Candidate {
                component: 2,
                address,
                port: pair.rtcp().port(),
            });
        }
        candidates
    }
}
