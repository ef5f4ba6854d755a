//! SDES: SRTP keys in the description.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use wire::srtp::{MasterKey, Mki, SessionParameters, SrtpProfile};

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
pub const SUITES: [SrtpProfile; 12] = [
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
pub const fn suite_name(suite: SrtpProfile) -> &'static str {
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
    /// Reads the text after `a=crypto:`; `None` for unknown suites and keys of a wrong length.
    ///
    /// Of several keys with identifiers the first counts. Hints (`WSH`, `FEC_ORDER`) and extensions
    /// that may be ignored (`-name`) are ignored.
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split_ascii_whitespace();
        let tag = words.next()?.parse().ok()?;
        let name = words.next()?;
        let suite = SUITES
            .into_iter()
            .find(|suite| suite_name(*suite).eq_ignore_ascii_case(name))?;
        let (method, key) = words.next()?.split(';').next()?.split_once(':')?;
        if !method.eq_ignore_ascii_case("inline") {
            return None;
        }
        let mut parts = key.split('|');
        let text = parts.next()?.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(text).ok()?;
        let (key, salt) = bytes.split_at_checked(suite.key_len())?;
        let identifier = parts.find_map(|part| part.split_once(':'));
        let mut parameters = SessionParameters {
            mki: match identifier {
                Some((value, len)) => Some(Mki::new(value.parse().ok()?, len.parse().ok()?)?),
                None => None,
            },
            ..SessionParameters::default()
        };
        let mut takes = true;
        for word in words {
            takes &= take_parameter(word, &mut parameters);
        }
        let leaves_out = parameters.unencrypted_rtp || parameters.unencrypted_rtcp || parameters.unauthenticated_rtp;
        Some(Self {
            tag,
            key: MasterKey::new(suite, key, salt)?.with_parameters(parameters),
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
