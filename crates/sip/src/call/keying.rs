//! Protection of each side of a section, and the lines about it in descriptions.
//!
//! If both parties use the same protection, their keys pass through and packets are relayed
//! unopened. Otherwise each side is protected separately: we are the other end of its keys.

mod choice;
mod opportunistic;

use environment::Random;
use wire::sdp::{HashFunction, Setup};
use wire::srtp::{SessionParameters, SrtpProfile};

use super::security::{Agreed, Peer, Security, is_answer, offered_again};
use super::{Context, Dtls, Media, Refused, Terms};
use crate::config::Config;
use crate::sdp::{Attributes, Crypto, Keying, SUITES, Section, suite_name};

use opportunistic::is_usable;

impl Media {
    /// Secures an offer of the party at `end`, which may have moved, with the protocol of the other
    /// side. Returns the attributes for the other party.
    pub(super) fn secure_offer(
        &mut self,
        end: usize,
        section: &Section<'_>,
        moved: bool,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<Attributes, Refused> {
        let before = self.choice.take();
        if !self.is_rtp {
            return Ok(self.pass(Attributes::Keep));
        }
        let speaks = section.keying();
        let has_certificate = !context.config.fingerprints.is_empty();
        let other = self.keying_of_other(end, section, terms, has_certificate);
        if self.may_pass_keys(end, section, terms, context.config) {
            let passed = match speaks {
                // Media that may go past us cannot be opened and sealed here.
                _ if self.passes_ice || section.has_other_keys() => Some(Attributes::Keep),
                Keying::Sdes => self.offer_choice(end, section, moved, before, terms, context.random),
                Keying::Dtls if section.is_opportunistic() && has_certificate => {
                    self.keep_certificate(end, section, moved, terms, context.random);
                    Some(Attributes::Keep)
                }
                Keying::Plain | Keying::Dtls => Some(Attributes::Keep),
            };
            if let Some(passed) = passed {
                return Ok(self.pass(passed));
            }
            // If no offered key may pass, we encrypt again.
        }
        let speaks = if has_certificate {
            accepted(section, &self.sides[end].security, terms)
        } else {
            speaks
        };
        let (speaks, other) = if section.is_opportunistic() && !is_usable(speaks, section, has_certificate) {
            // An offer is not refused for keys that its answer may decline.
            (
                Keying::Plain,
                Keying::of(&self.protocols[1 - end], !terms.keying.sdes.off, has_certificate),
            )
        } else {
            (speaks, other)
        };
        if !has_certificate && [speaks, other].contains(&Keying::Dtls) {
            return Err(Refused::Keys);
        }
        let speaker = answer_to(speaks, section, &self.sides[end].security, moved, terms, context.random)?;
        let offered = offer_to(
            other,
            section,
            &self.sides[1 - end].security,
            has_certificate && terms.keying.dtls != Dtls::Off,
            terms,
            context.random,
        )?;
        let lines = offered.offer_lines(context.config, terms);
        self.sides[end].security = speaker;
        self.sides[1 - end].security = offered;
        Ok(lines)
    }

    /// Whether the keys offered by the party at `end` may pass to the other party.
    pub(super) fn may_pass_keys(&self, end: usize, section: &Section<'_>, terms: &Terms, config: &Config) -> bool {
        let speaks = section.keying();
        // Media that was decrypted and encrypted here stays so: both sides have keys of ours.
        let recrypts = terms.keying.recrypt || self.sides.iter().all(|side| side.security.keying() != Keying::Plain);
        let other = self.keying_of_other(end, section, terms, !config.fingerprints.is_empty());
        !self.is_rtp || speaks == other && !(recrypts && speaks != Keying::Plain)
    }

    /// Both ends protect their media with each other.
    fn pass(&mut self, attributes: Attributes) -> Attributes {
        self.sides.iter_mut().for_each(|side| side.security = Security::Clear);
        attributes
    }

    /// The keying of the party that gets an offer.
    fn keying_of_other(&self, end: usize, section: &Section<'_>, terms: &Terms, has_certificate: bool) -> Keying {
        if let Some(keying) = self.keying_apart(end, section, terms) {
            return keying;
        }
        let protocol = &self.protocols[1 - end];
        let speaks = section.keying();
        let takes_dtls = has_certificate && terms.keying.dtls != Dtls::Off;
        let unchanged = protocol.eq_ignore_ascii_case(section.protocol);
        if unchanged && !(terms.keying.sdes.off && takes_dtls && speaks == Keying::Sdes) {
            return speaks;
        }
        match self.sides[1 - end].security.keying() {
            // One protocol may mean both, and an agreed keying stays.
            Keying::Dtls if takes_dtls => Keying::of(protocol, false, true),
            _ => Keying::of(protocol, !terms.keying.sdes.off, takes_dtls),
        }
    }

    /// Secures an answer of the party at `end`, which may have moved. Returns the attributes for
    /// the party that offered.
    pub(super) fn secure_answer(
        &mut self,
        end: usize,
        section: &Section<'_>,
        moved: bool,
        terms: &Terms,
        context: &mut Context<'_>,
    ) -> Result<Attributes, Refused> {
        self.choose(end, section);
        if terms.keying.osrtp.accept {
            self.accept_keys(end, section, terms);
        } else {
            self.decline_keys(end, section);
        }
        if let Security::Dtls { instead, .. } = &mut self.sides[1 - end].security
            && terms.keying.dtls == Dtls::Off
            && let Some(instead) = instead.take()
        {
            self.sides[1 - end].security = *instead;
        }
        let keyings = [end, 1 - end].map(|end| self.sides[end].security.keying());
        if keyings == [Keying::Plain; 2] {
            return Ok(Attributes::Keep);
        }
        match &mut self.sides[end].security {
            Security::Clear => {}
            Security::Sdes {
                offered,
                agreed,
                or_dtls,
            } => {
                let usable = section.cryptos.iter().filter(|theirs| !theirs.unsupported);
                let mut pairs =
                    usable.filter_map(|theirs| Some((theirs, offered.iter().find(|ours| is_answer(theirs, ours))?)));
                match (pairs.next(), Peer::of(section, &Security::Clear), *or_dtls) {
                    (Some((theirs, ours)), ..) => {
                        *agreed = Some(Agreed::answered(agreed.as_ref(), ours.clone(), theirs.clone(), moved));
                    }
                    (None, Some(peer), Some(hash)) => {
                        self.sides[end].security = Security::Dtls {
                            peer: Some(peer),
                            active: section.setup == Some(Setup::Passive),
                            hash,
                            instead: None,
                        };
                    }
                    _ => return Err(Refused::Keys),
                }
            }
            before @ Security::Dtls { .. } => {
                let described = Peer::of(section, before).ok_or(Refused::Keys)?;
                if let Security::Dtls { peer, active, .. } = before {
                    *peer = Some(described);
                    *active = section.setup == Some(Setup::Passive);
                }
            }
        }
        Ok(self.sides[1 - end].security.answer_lines(context.config, terms))
    }
}

/// The keying that is accepted of an offer: the earlier one, or DTLS rather than SDES.
fn accepted(section: &Section<'_>, before: &Security, terms: &Terms) -> Keying {
    match section.keying() {
        Keying::Sdes if before.keying() == Keying::Sdes => Keying::Sdes,
        Keying::Sdes
            if section.fingerprint.is_some() && terms.keying.dtls != Dtls::Off && !terms.keying.sdes.prefer =>
        {
            Keying::Dtls
        }
        speaks => speaks,
    }
}

/// The security of the offering party.
fn answer_to(
    speaks: Keying,
    section: &Section<'_>,
    before: &Security,
    moved: bool,
    terms: &Terms,
    random: &mut Random,
) -> Result<Security, Refused> {
    match speaks {
        Keying::Plain => Ok(Security::Clear),
        Keying::Sdes => {
            let usable = section.cryptos.iter().filter(|theirs| !theirs.unsupported);
            // A suite that we would not offer is not accepted either, unless there is no other.
            let preferred = usable.min_by_key(|theirs| {
                let suite = theirs.key.profile();
                (
                    !terms.keying.sdes.offers(suite),
                    terms.keying.sdes.rank_for_offerer(suite_name(suite)),
                )
            });
            let theirs = preferred.ok_or(Refused::Keys)?.clone();
            let ours = match before {
                Security::Sdes {
                    agreed: Some(agreed), ..
                } if agreed.stays(&theirs, moved) => agreed.ours.clone(),
                _ => {
                    let parameters = SessionParameters {
                        mki: None,
                        ..theirs.key.parameters()
                    };
                    Crypto::fresh(theirs.tag, theirs.key.profile(), parameters, random)
                }
            };
            Ok(Security::Sdes {
                offered: vec![ours.clone()],
                agreed: Some(Agreed::new(ours, theirs)),
                or_dtls: None,
            })
        }
        Keying::Dtls => {
            let described = Peer::of(section, before).ok_or(Refused::Keys)?;
            let fingerprint = &described.fingerprint;
            let active = match (section.setup, before) {
                (Some(Setup::Active), _) => false,
                (Some(Setup::Passive), _) => true,
                // An association that is there keeps its roles (RFC 8842 section 5.3).
                (_, Security::Dtls { peer, active, .. })
                    if peer.as_ref().is_some_and(|peer| peer.fingerprint == *fingerprint) =>
                {
                    *active
                }
                _ => terms.keying.dtls_reverse.unwrap_or(terms.keying.dtls) == Dtls::Active,
            };
            // A peer supports the hash function that it uses itself.
            let hash = terms.keying.fingerprint.or(before.hash()).unwrap_or(fingerprint.hash);
            Ok(Security::Dtls {
                instead: answer_to(Keying::Sdes, section, before, moved, terms, random)
                    .ok()
                    .map(Box::new),
                peer: Some(described),
                active,
                hash,
            })
        }
    }
}

/// The security of the party that gets an offer, once it answers.
fn offer_to(
    keying: Keying,
    section: &Section<'_>,
    before: &Security,
    takes_dtls: bool,
    terms: &Terms,
    random: &mut Random,
) -> Result<Security, Refused> {
    let sdes = &terms.keying.sdes;
    let hash = terms
        .keying
        .fingerprint
        .or(before.hash())
        .unwrap_or(HashFunction::Sha256);
    match (keying, before) {
        (Keying::Plain, _) => Ok(Security::Clear),
        (
            Keying::Sdes,
            Security::Sdes {
                offered,
                agreed,
                or_dtls,
            },
        ) => {
            let (offered, agreed) = offered_again(offered, agreed.as_ref(), random);
            Ok(Security::Sdes {
                offered,
                agreed,
                or_dtls: or_dtls.filter(|_| takes_dtls),
            })
        }
        (Keying::Dtls, Security::Dtls { peer, active, .. }) => Ok(Security::Dtls {
            peer: peer.clone(),
            active: *active,
            hash,
            instead: None,
        }),
        (Keying::Dtls, _) => Ok(Security::Dtls {
            peer: None,
            active: false,
            hash,
            instead: None,
        }),
        (Keying::Sdes, _) => {
            let is_new = |suite: &SrtpProfile| section.cryptos.iter().all(|theirs| theirs.key.profile() != *suite);
            let suites = SUITES.into_iter().filter(|suite| match sdes.nonew {
                true => !is_new(suite),
                false => sdes.offers(*suite),
            });
            let mut offered: Vec<Crypto> = (1..)
                .zip(suites)
                .map(|(tag, suite)| Crypto::fresh(tag, suite, sdes.parameters(suite), random))
                .collect();
            offered.sort_by_key(|ours| sdes.rank(suite_name(ours.key.profile())));
            if offered.is_empty() {
                Err(Refused::Keys)
            } else {
                Ok(Security::Sdes {
                    offered,
                    agreed: None,
                    or_dtls: takes_dtls.then_some(hash),
                })
            }
        }
    }
}
