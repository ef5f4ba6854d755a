//! The lines about the security of a side.

use wire::sdp::{HashFunction, Setup};

use super::Security;
use crate::call::Terms;
use crate::config::Config;
use crate::sdp::{Attributes, Crypto, CryptoForm};

impl Security {
    pub(in crate::call) fn offer_lines(&self, config: &Config, terms: &Terms) -> Attributes {
        match self {
            Self::Clear => Attributes::Strip,
            Self::Sdes { offered, or_dtls, .. } => {
                let keys = offered.iter().map(|ours| crypto_line(ours, terms));
                let dtls = or_dtls.map(|hash| dtls_lines(config, Setup::ActPass, hash));
                Attributes::Replace(keys.chain(dtls.into_iter().flatten()).collect())
            }
            Self::Dtls { hash, .. } => Attributes::Replace(dtls_lines(config, Setup::ActPass, *hash)),
        }
    }

    pub(in crate::call) fn answer_lines(&self, config: &Config, terms: &Terms) -> Attributes {
        match self {
            Self::Clear => Attributes::Strip,
            Self::Sdes { agreed, .. } => {
                Attributes::Replace(agreed.iter().map(|agreed| crypto_line(&agreed.ours, terms)).collect())
            }
            Self::Dtls { active, hash, .. } => {
                let setup = if *active { Setup::Active } else { Setup::Passive };
                Attributes::Replace(dtls_lines(config, setup, *hash))
            }
        }
    }
}

pub(in crate::call) fn crypto_line(ours: &Crypto, terms: &Terms) -> String {
    let form = CryptoForm {
        padded: terms.keying.sdes.padded,
        lifetime: terms.keying.sdes.lifetime,
    };
    format!("crypto:{}", ours.write(form))
}

fn dtls_lines(config: &Config, setup: Setup, hash: HashFunction) -> Vec<String> {
    let by = config.fingerprints.iter().find(|fingerprint| fingerprint.hash == hash);
    let fingerprint = by.or(config.fingerprints.first());
    let fingerprint = fingerprint.map(|fingerprint| format!("fingerprint:{fingerprint}"));
    let setup = format!("setup:{}", setup.name());
    [setup].into_iter().chain(fingerprint).collect()
}
