//! SDES: SRTP keys in the description.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use environment::Random;
use wire::srtp::{MasterKey, Mki, SessionParameters, SrtpProfile};

use crate::limits::SDES_KEYS_MAX;

/// One `a=crypto` line with a suite known to Weir.
///
/// Source: RFC 4568 section 9.1, RFC 6188 section 4 and RFC 7714 section 14.2 for the suites; NULL
/// ones are rtpengine's, which has them from a draft of RFC 4568.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crypto {
    /// Its number, by which the answer names it.
    pub tag: u32,
    /// The key, with its suite and its session parameters.
    pub key: MasterKey,
    /// It has an unsupported parameter, so it can only be passed: a key derivation rate, a separate
    /// key for forward error correction, an unknown parameter, or AEAD without encryption or
    /// authentication.
    pub unsupported: bool,
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CryptoForm {
    /// Keep the `=` at the end of the key; RFC 4568 has none, and some phones need them.
    pub padded: bool,
    /// State the lifetime of the key: 2^31 packets.
    pub lifetime: bool,
}

/// The suites that can be opened and sealed, in rtpengine's order.
pub(crate) const SUITES: [SrtpProfile; 12] = [
    SrtpProfile::AeadAes256Gcm,
    SrtpProfile::AeadAes128Gcm,
    SrtpProfile::AesCm256HmacSha1_80,
    SrtpProfile::AesCm256HmacSha1_32,
    SrtpProfile::AesCm192HmacSha1_80,
    SrtpProfile::AesCm192HmacSha1_32,
    SrtpProfile::AesCm128HmacSha1_80,
    SrtpProfile::AesCm128HmacSha1_32,
    SrtpProfile::F8_128HmacSha1_80,
    SrtpProfile::F8_128HmacSha1_32,
    SrtpProfile::NullHmacSha1_80,
    SrtpProfile::NullHmacSha1_32,
];

/// The suite's name in descriptions.
pub(crate) const fn suite_name(suite: SrtpProfile) -> &'static str {
    match suite {
        SrtpProfile::AeadAes128Gcm => "AEAD_AES_128_GCM",
        SrtpProfile::AeadAes256Gcm => "AEAD_AES_256_GCM",
        SrtpProfile::AesCm128HmacSha1_80 => "AES_CM_128_HMAC_SHA1_80",
        SrtpProfile::AesCm128HmacSha1_32 => "AES_CM_128_HMAC_SHA1_32",
        SrtpProfile::NullHmacSha1_80 => "NULL_HMAC_SHA1_80",
        SrtpProfile::NullHmacSha1_32 => "NULL_HMAC_SHA1_32",
        other => other.name(),
    }
}

impl Crypto {
    /// A new key of ours.
    pub(crate) fn fresh(tag: u32, suite: SrtpProfile, parameters: SessionParameters, random: &mut Random) -> Self {
        let bytes: [u8; 46] = random.bytes();
        let (key, rest) = bytes.split_at(suite.key_len());
        let key = MasterKey::new(suite, key, &rest[..suite.salt_len()]).expect("the lengths are the suite's");
        Self {
            tag,
            key: key.with_parameters(parameters),
            unsupported: false,
        }
    }

    /// Reads the text after `a=crypto:`; `None` for unknown suites and keys of a wrong length.
    ///
    /// Packets name one of several keys by their identifiers. Hints (`WSH`, `FEC_ORDER`) and
    /// extensions that may be ignored (`-name`) are ignored.
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split_ascii_whitespace();
        let tag = words.next()?.parse().ok()?;
        let name = words.next()?;
        let suite = SUITES
            .into_iter()
            .find(|suite| suite_name(*suite).eq_ignore_ascii_case(name))?;
        let mut keys = words.next()?.split(';');
        let (key, mki) = read_key(suite, keys.next()?)?;
        let mut parameters = SessionParameters {
            mki,
            ..SessionParameters::default()
        };
        let mut takes = true;
        for word in words {
            takes &= take_parameter(word, &mut parameters);
        }
        let leaves_out = parameters.unencrypted_rtp || parameters.unencrypted_rtcp || parameters.unauthenticated_rtp;
        Some(Self {
            tag,
            key: key
                .with_parameters(parameters)
                .with_others(other_keys(suite, keys, parameters)),
            unsupported: !takes || leaves_out && suite.is_aead(),
        })
    }

    /// The value after `a=crypto:`.
    pub fn write(&self, form: CryptoForm) -> String {
        let bytes = [self.key.key(), self.key.salt()].concat();
        let text = if form.padded {
            STANDARD.encode(bytes)
        } else {
            STANDARD_NO_PAD.encode(bytes)
        };
        let lifetime = if form.lifetime { "|2^31" } else { "" };
        let parameters = self.key.parameters();
        let said = [
            (parameters.unencrypted_rtp, " UNENCRYPTED_SRTP"),
            (parameters.unencrypted_rtcp, " UNENCRYPTED_SRTCP"),
            (parameters.unauthenticated_rtp, " UNAUTHENTICATED_SRTP"),
        ];
        let said: String = said.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        format!(
            "{} {} inline:{text}{lifetime}{said}",
            self.tag,
            suite_name(self.key.profile())
        )
    }
}

/// Reads one key with its salt, and its identifier if it has one.
fn read_key(suite: SrtpProfile, text: &str) -> Option<(MasterKey, Option<Mki>)> {
    let (method, key) = text.split_once(':')?;
    if !method.eq_ignore_ascii_case("inline") {
        return None;
    }
    let mut parts = key.split('|');
    let bytes = STANDARD_NO_PAD.decode(parts.next()?.trim_end_matches('=')).ok()?;
    let (key, salt) = bytes.split_at_checked(suite.key_len())?;
    let mki = match parts.find_map(|part| part.split_once(':')) {
        Some((value, len)) => Some(Mki::new(value.parse().ok()?, len.parse().ok()?)?),
        None => None,
    };
    Some((MasterKey::new(suite, key, salt)?, mki))
}

/// The keys of a line behind the first, which is used as `parameters` say. Their identifiers are
/// unique and equally long (RFC 4568 section 6.1); a key without such a one is left out.
fn other_keys<'a>(
    suite: SrtpProfile,
    texts: impl Iterator<Item = &'a str>,
    parameters: SessionParameters,
) -> Vec<MasterKey> {
    let mut known: Vec<Mki> = parameters.mki.into_iter().collect();
    let mut others = Vec::new();
    for (key, mki) in texts.filter_map(|text| read_key(suite, text)) {
        let fits = |mki: &Mki| known.iter().all(|other| other.len() == mki.len() && other != mki);
        let Some(mki) = mki.filter(fits).filter(|_| (1..SDES_KEYS_MAX).contains(&known.len())) else {
            continue;
        };
        known.push(mki);
        others.push(key.with_parameters(SessionParameters {
            mki: Some(mki),
            ..parameters
        }));
    }
    others
}

/// Applies one session parameter; returns whether the line can still be used here.
fn take_parameter(word: &str, parameters: &mut SessionParameters) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    match name.to_ascii_uppercase().as_str() {
        "UNENCRYPTED_SRTP" => parameters.unencrypted_rtp = true,
        "UNENCRYPTED_SRTCP" => parameters.unencrypted_rtcp = true,
        "UNAUTHENTICATED_SRTP" => parameters.unauthenticated_rtp = true,
        // Keys that are derived once are derived at rate 0.
        "KDR" => return value == "0",
        "WSH" | "FEC_ORDER" => {}
        other => return other.starts_with('-'),
    }
    true
}
