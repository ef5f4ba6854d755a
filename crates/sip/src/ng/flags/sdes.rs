//! Options for SRTP keys in descriptions.

use super::Flags;
use crate::limits::SUITES_NAMED_MAX;

impl Flags {
    pub(super) fn choice_of_sdes(&mut self, value: &str, word: &str) {
        // It is as long as the word, which was trimmed.
        let value = value.trim();
        let sdes = &mut self.terms.keying.sdes;
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
