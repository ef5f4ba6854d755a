//! An offer between two ends with SDES that leaves to its answer whether keys pass or are ours.

use environment::Random;
use wire::srtp::SrtpProfile;

use super::answer_to;
use crate::call::security::{Choice, Security, crypto_line, is_answer};
use crate::call::{Media, Sdes, Terms};
use crate::sdp::{Attributes, Crypto, Keying, SUITES, Section, suite_name};

impl Media {
    /// Passes the keys of an offer, as far as suite flags allow, followed by keys of ours for the
    /// missing suites. So ends without a common suite can communicate too.
    pub(super) fn offer_choice(
        &mut self,
        end: usize,
        section: &Section<'_>,
        moved: bool,
        before: Option<Choice>,
        terms: &Terms,
        random: &mut Random,
    ) -> Option<Attributes> {
        let sdes = &terms.keying.sdes;
        let theirs = section.lines.iter().filter_map(|line| match line.attribute() {
            Some(("crypto", value)) => Some((value.split_ascii_whitespace().nth(1).unwrap_or_default(), value)),
            _ => None,
        });
        let theirs: Vec<(&str, &str)> = theirs.filter(|(suite, _)| sdes.wants(suite)).collect();
        if theirs.is_empty() {
            return None;
        }
        let tag = |value: &str| value.split_ascii_whitespace().next().and_then(|tag| tag.parse().ok());
        let passing: Vec<u32> = theirs.iter().filter_map(|(_, value)| tag(value)).collect();
        let last = passing.iter().copied().max().unwrap_or(0);
        let speaker = answer_to(Keying::Sdes, section, &self.sides[end].security, moved, terms, random);
        self.choice = match speaker {
            Ok(speaker) if !sdes.nonew => {
                let before = before.filter(|choice| choice.end == end);
                Some(Choice {
                    end,
                    offered: more_keys(section, last, sdes, before, random),
                    passing,
                    speaker,
                })
            }
            _ => None,
        };
        let ours = self.choice.iter().flat_map(|choice| &choice.offered);
        let ours = ours.map(|ours| (suite_name(ours.key.profile()), crypto_line(ours, terms)));
        let theirs = theirs
            .into_iter()
            .map(|(suite, value)| (suite, format!("crypto:{value}")));
        let mut lines: Vec<(&str, String)> = theirs.chain(ours).collect();
        lines.sort_by_key(|(suite, _)| sdes.rank(suite));
        let others = section.lines.iter().filter_map(|line| line.attribute());
        let others = others.filter(|(name, _)| matches!(*name, "fingerprint" | "setup" | "tls-id"));
        let others = others.map(|(name, value)| format!("{name}:{value}"));
        Some(Attributes::Replace(
            lines.into_iter().map(|(_, line)| line).chain(others).collect(),
        ))
    }

    /// Passes the certificate of an offer, which its answer may decline, and remembers how we would
    /// be the other end.
    pub(super) fn keep_certificate(
        &mut self,
        end: usize,
        section: &Section<'_>,
        moved: bool,
        terms: &Terms,
        random: &mut Random,
    ) {
        let speaker = answer_to(Keying::Dtls, section, &self.sides[end].security, moved, terms, random);
        self.choice = speaker.ok().map(|speaker| Choice {
            end,
            passing: Vec::new(),
            speaker,
            offered: Vec::new(),
        });
    }

    /// Takes the answer to a choice: whether a key of ours was chosen, so that both ends are
    /// protected by us from now on.
    pub(super) fn choose(&mut self, end: usize, section: &Section<'_>) {
        let Some(choice) = self.choice.as_ref().filter(|choice| choice.end != end) else {
            return;
        };
        let chosen = section.cryptos.first();
        let is_ours = |theirs: &&Crypto| {
            !choice.passing.contains(&theirs.tag) && choice.offered.iter().any(|ours| is_answer(theirs, ours))
        };
        if chosen.filter(is_ours).is_some() {
            self.sides[1 - end].security = choice.speaker.clone();
            self.sides[end].security = Security::Sdes {
                offered: choice.offered.clone(),
                agreed: None,
                or_dtls: None,
            };
        }
    }
}

/// Keys of ours for the suites that an offer lacks, numbered after `last`, the last passed key.
/// Keys offered earlier stay.
fn more_keys(
    section: &Section<'_>,
    last: u32,
    sdes: &Sdes,
    before: Option<Choice>,
    random: &mut Random,
) -> Vec<Crypto> {
    let lacks = |suite: &SrtpProfile| section.cryptos.iter().all(|theirs| theirs.key.profile() != *suite);
    let before = before.map(|choice| choice.offered).unwrap_or_default();
    let suites = SUITES.into_iter().filter(|suite| lacks(suite) && sdes.offers(*suite));
    let tags = (1..).map(|number| last.saturating_add(number));
    tags.zip(suites)
        .map(|(tag, suite)| {
            let known = before
                .iter()
                .find(|ours| (ours.tag, ours.key.profile()) == (tag, suite));
            let fresh = || Crypto::fresh(tag, suite, sdes.parameters(suite), random);
            known.cloned().unwrap_or_else(fresh)
        })
        .collect()
}
