//! Options for SRTP keys in descriptions.

use wire::srtp::{SessionParameters, SrtpProfile};

use super::Flags;
use crate::limits::SUITES_NAMED_MAX;
use crate::sdp::suite_name;

/// SDES towards the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sdes {
    /// None.
    pub off: bool,
    /// Keys are padded.
    pub padded: bool,
    /// Keys state their lifetime.
    pub lifetime: bool,
    /// Keys in the description are accepted rather than DTLS, where both are offered.
    pub prefer: bool,
    /// No suites beyond the offered ones.
    pub nonew: bool,
    /// Suites not to offer.
    pub without: Vec<String>,
    /// The only suites to offer.
    pub only: Vec<String>,
    /// Suites to put first, in this order.
    pub order: Vec<String>,
    /// Suites to accept rather than others, in this order.
    pub offerer_order: Vec<String>,
    /// The protection to leave out.
    pub leaves_out: SessionParameters,
}

impl Sdes {
    /// Whether a suite may pass.
    pub(crate) fn wants(&self, suite: &str) -> bool {
        match self.only.is_empty() {
            _ if self.nonew => true,
            true => !names(&self.without, suite),
            false => names(&self.only, suite),
        }
    }

    /// Whether a suite is offered, and accepted before others. One without encryption is where the
    /// proxy names it: nobody is to have it because of a list that it is the end of.
    pub(crate) fn offers(&self, suite: SrtpProfile) -> bool {
        let name = suite_name(suite);
        let is_named = || names(&self.only, name) || names(&self.order, name) || names(&self.offerer_order, name);
        self.wants(name) && (!suite.is_null() || is_named())
    }

    /// The position of a suite: the first is 0.
    pub(crate) fn rank(&self, suite: &str) -> usize {
        place(&self.order, suite)
    }

    /// The same for accepting.
    pub(crate) fn rank_for_offerer(&self, suite: &str) -> usize {
        place(&self.offerer_order, suite)
    }

    /// The session parameters of an offered key. AEAD has none of these omissions.
    pub(crate) fn parameters(&self, suite: SrtpProfile) -> SessionParameters {
        if suite.is_aead() {
            SessionParameters::default()
        } else {
            self.leaves_out
        }
    }
}

impl Flags {
    pub(super) fn choice_of_sdes(&mut self, value: &str, word: &str) {
        // It is as long as the word, which was trimmed.
        let value = value.trim();
        let sdes = &mut self.sdes;
        match word {
            "off" | "no" | "disable" | "disabled" => sdes.off = true,
            "pad" => sdes.padded = true,
            "lifetime" => sdes.lifetime = true,
            "prefer" => sdes.prefer = true,
            "nonew" => sdes.nonew = true,
            // A party that changes its suite is given the other side's key again, if that side is
            // decrypted here.
            "static" => self.undone.ignored.push("SDES-static"),
            "unencrypted-srtp" => sdes.leaves_out.unencrypted_rtp = true,
            "unencrypted-srtcp" => sdes.leaves_out.unencrypted_rtcp = true,
            "unauthenticated-srtp" => sdes.leaves_out.unauthenticated_rtp = true,
            "encrypted-srtp" => sdes.leaves_out.unencrypted_rtp = false,
            "encrypted-srtcp" => sdes.leaves_out.unencrypted_rtcp = false,
            "authenticated-srtp" => sdes.leaves_out.unauthenticated_rtp = false,
            _ => match (word.split_once(':'), value.split_once(':')) {
                (Some(("order", _)), Some((_, suites))) => sdes.order = list(suites),
                (Some(("offerer-pref", _)), Some((_, suites))) => sdes.offerer_order = list(suites),
                _ if word.starts_with("no-") => push(&mut sdes.without, &value[3..]),
                _ if word.starts_with("only-") => push(&mut sdes.only, &value[5..]),
                _ => self.undone.unknown.push(&format!("SDES-{value}")),
            },
        }
    }
}

fn list(suites: &str) -> Vec<String> {
    let suites = suites.split([';', ',']).filter(|suite| !suite.is_empty());
    suites.take(SUITES_NAMED_MAX).map(str::to_owned).collect()
}

fn push(list: &mut Vec<String>, suite: &str) {
    if list.len() < SUITES_NAMED_MAX {
        list.push(suite.to_owned());
    }
}

fn names(list: &[String], suite: &str) -> bool {
    list.iter().any(|other| other.eq_ignore_ascii_case(suite))
}

fn place(list: &[String], suite: &str) -> usize {
    let place = list.iter().position(|other| other.eq_ignore_ascii_case(suite));
    place.unwrap_or(list.len())
}
