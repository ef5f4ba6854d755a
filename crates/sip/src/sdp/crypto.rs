//! SDES: SRTP keys in the description.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use wire::srtp::{MasterKey, SrtpProfile};

/// One `a=crypto` line whose suite Weir knows.
///
/// Source: RFC 4568 section 4, RFC 6188 and RFC 7714 section 14.2 for the suites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crypto {
    /// Its number, by which the answer names it.
    pub tag: u32,
    /// The key, with its suite.
    pub key: MasterKey,
    /// Session parameters.
    pub parameters: CryptoParameters,
}

/// What of protection a line leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CryptoParameters {
    /// `UNENCRYPTED_SRTP`, `UNENCRYPTED_SRTCP`, `UNAUTHENTICATED_SRTP` or a master key identifier: none of them is done here, so
    /// the line can only be passed through.
    pub unsupported: bool,
}

/// The suites that can be opened and sealed, the one most phones know first.
pub const SUITES: [SrtpProfile; 3] = [
    SrtpProfile::AesCm128HmacSha1_80,
    SrtpProfile::AeadAes256Gcm,
    SrtpProfile::AeadAes128Gcm,
];

/// The suite's name in descriptions.
pub const fn suite_name(suite: SrtpProfile) -> &'static str {
    match suite {
        SrtpProfile::AeadAes128Gcm => "AEAD_AES_128_GCM",
        SrtpProfile::AeadAes256Gcm => "AEAD_AES_256_GCM",
        SrtpProfile::AesCm128HmacSha1_80 => "AES_CM_128_HMAC_SHA1_80",
    }
}

impl Crypto {
    /// Reads what follows `a=crypto:`; `None` for suites that are not known and keys of a wrong length.
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split_ascii_whitespace();
        let tag = words.next()?.parse().ok()?;
        let name = words.next()?;
        let suite = SUITES
            .into_iter()
            .find(|suite| suite_name(*suite).eq_ignore_ascii_case(name))?;
        let inline = words.next()?;
        let (method, key) = inline.split_once(':')?;
        if !method.eq_ignore_ascii_case("inline") {
            return None;
        }
        let mut parts = key.split('|');
        let text = parts.next()?.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(text).ok()?;
        let (key, salt) = bytes.split_at_checked(suite.key_len())?;
        let has_identifier = parts.any(|part| part.contains(':'));
        let leaves_out = words.any(|word| word.to_ascii_uppercase().starts_with("UN"));
        Some(Self {
            tag,
            key: MasterKey::new(suite, key, salt)?,
            parameters: CryptoParameters {
                unsupported: has_identifier || leaves_out,
            },
        })
    }

    /// What follows `a=crypto:`.
    ///
    /// `padded` keeps the `=` at the end of the key; RFC 4568 has none, and some phones want them.
    pub fn write(&self, padded: bool) -> String {
        let bytes = [self.key.key(), self.key.salt()].concat();
        let text = if padded {
            STANDARD.encode(bytes)
        } else {
            STANDARD_NO_PAD.encode(bytes)
        };
        format!("{} {} inline:{text}", self.tag, suite_name(self.key.profile()))
    }
}
