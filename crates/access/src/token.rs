//! Access tokens: JSON Web Tokens signed with HMAC-SHA256 (RFC 7519, RFC 7515).
//!
//! Libraries for tokens read the system's clock and the claims as serde does, so what is left of
//! them here would be one HMAC.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use zeroize::Zeroizing;

use crate::reading::{self, Unreadable};
use crate::{Claims, RoomNames};

/// JWTs have no padding, but some issuers write it. Bits behind the last byte are not looked at, as
/// Go's decoder does not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// How far the clocks of issuer and server may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// API keys and the secrets that sign for them, which are overwritten when they are dropped.
#[derive(Clone, Default)]
pub struct ApiKeys {
    secrets: BTreeMap<String, Zeroizing<String>>,
    /// Of keys that are not for all rooms.
    rooms: BTreeMap<String, RoomNames>,
}

impl ApiKeys {
    /// Adds a key, or replaces its secret.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, secret: impl Into<String>) -> Self {
        self.secrets.insert(key.into(), Zeroizing::new(secret.into()));
        self
    }

    /// Restricts a key to rooms.
    #[must_use]
    pub fn with_rooms(mut self, key: impl Into<String>, rooms: RoomNames) -> Self {
        self.rooms.insert(key.into(), rooms);
        self
    }

    /// The rooms of a key.
    pub fn rooms(&self, key: &str) -> RoomNames {
        self.rooms.get(key).cloned().unwrap_or_default()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    fn secret(&self, key: &str) -> Option<&str> {
        self.secrets
            .get(key)
            .map(|secret| secret.as_str())
            .filter(|secret| !secret.is_empty())
    }
}

impl fmt::Debug for ApiKeys {
    // Secrets have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.secrets.keys()).finish()
    }
}

/// Why a token is no good. The client, or whoever issued the token, must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not three parts of base64url, or not the JSON of claims.
    Malformed,
    /// Not signed with HS256, or with an extension that must be understood.
    Algorithm,
    /// Signed for an API key this server does not have.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// Its room is not one of its API key.
    Room,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "invalid token: malformed",
            Self::Algorithm => "invalid token: not signed with HS256",
            Self::UnknownKey => "invalid API key",
            Self::Signature => "invalid token: wrong signature",
            Self::Room => "the room is not one of the API key",
            Self::Expired => "invalid token: it has expired",
            Self::NotYetValid => "invalid token: it is not valid yet",
        })
    }
}

impl std::error::Error for TokenError {}

impl From<Unreadable> for TokenError {
    fn from(_: Unreadable) -> Self {
        Self::Malformed
    }
}

/// Checks a token's signature, in constant time, and its validity at `unix` (since 1970).
///
/// Errors: any [`TokenError`].
pub fn verify(token: &str, keys: &ApiKeys, unix: Duration) -> Result<Claims, TokenError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, body) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    if reading::algorithm(&decode(header)?)?.as_deref() != Some("HS256") {
        return Err(TokenError::Algorithm);
    }
    let mut claims = reading::claims(&decode(body)?)?;
    let secret = keys.secret(&claims.iss).ok_or(TokenError::UnknownKey)?;
    let signature = decode(signature)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::verify(&key, signed.as_bytes(), &signature).map_err(|_| TokenError::Signature)?;
    check_times(&claims, unix)?;
    claims.key_rooms = keys.rooms(&claims.iss);
    match claims.video.room.is_empty() || claims.key_rooms.admits(&claims.video.room) {
        true => Ok(claims),
        false => Err(TokenError::Room),
    }
}

/// Writes a token for `claims.iss`; `None` when that key is not among `keys`.
pub fn sign(claims: &Claims, keys: &ApiKeys) -> Option<String> {
    let secret = keys.secret(&claims.iss)?;
    let body = serde_json::to_vec(claims).expect("claims are strings, numbers and maps with string keys");
    let mut token = BASE64.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
    token.push('.');
    BASE64.encode_string(body, &mut token);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = hmac::sign(&key, token.as_bytes());
    token.push('.');
    BASE64.encode_string(signature, &mut token);
    Some(token)
}

/// Line breaks, which files and shells leave in tokens, are not looked at.
fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    let part: String = part.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    BASE64.decode(part).map_err(|_| TokenError::Malformed)
}

/// A token without an expiry time does not expire.
fn check_times(claims: &Claims, unix: Duration) -> Result<(), TokenError> {
    let expiry = claims.exp.map(Duration::from_secs);
    if expiry.is_some_and(|expiry| expiry.saturating_add(LEEWAY) <= unix) {
        return Err(TokenError::Expired);
    }
    match claims.nbf {
        Some(start) if Duration::from_secs(start) > unix + LEEWAY => Err(TokenError::NotYetValid),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VideoGrant;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn keys() -> ApiKeys {
        ApiKeys::default().with("devkey", "secret").with("other", "another")
    }

    fn claims() -> Claims {
        Claims {
            iss: "devkey".to_owned(),
            sub: "ada".to_owned(),
            exp: Some(NOW.as_secs() + 600),
            video: VideoGrant {
                room_join: true,
                room: "lobby".to_owned(),
                ..VideoGrant::default()
            },
            ..Claims::default()
        }
    }

    #[test]
    fn a_signed_token_is_verified_and_read_back() {
        let token = sign(&claims(), &keys()).unwrap();
        assert_eq!(verify(&token, &keys(), NOW), Ok(claims()));
    }

    #[test]
    fn a_token_of_another_implementation_is_read() {
        // Made with Python's hmac module and the secret "secret".
        let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJkZXZrZXkiLCJzdWIiOiJhZGEiLCJleHAiOjE4MDAwMDA2MDAsInZpZGVvIjp7InJvb21Kb2luIjp0cnVlLCJyb29tIjoibG9iYnkifX0.myJ1F8NeYDepnn7Otop5DwKnyTM7DNjEiBXe7yS5cBU";
        match verify(token, &keys(), NOW) {
            Ok(read) => assert_eq!(read, claims()),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn tokens_that_are_no_good_are_told_apart() {
        let token = sign(&claims(), &keys()).unwrap();
        let swapped = sign(
            &Claims {
                iss: "other".to_owned(),
                ..claims()
            },
            &keys(),
        )
        .unwrap();
        let forged = format!(
            "{}.{}",
            token.rsplit_once('.').unwrap().0,
            swapped.rsplit_once('.').unwrap().1
        );
        assert_eq!(verify(&forged, &keys(), NOW), Err(TokenError::Signature));
        assert_eq!(verify(&token, &ApiKeys::default(), NOW), Err(TokenError::UnknownKey));
        assert_eq!(
            verify(&token, &keys(), NOW + Duration::from_secs(661)),
            Err(TokenError::Expired)
        );
        let early = sign(
            &Claims {
                nbf: Some(NOW.as_secs() + 61),
                ..claims()
            },
            &keys(),
        )
        .unwrap();
        assert_eq!(verify(&early, &keys(), NOW), Err(TokenError::NotYetValid));
        let unsigned = format!(
            "{}.{}.",
            BASE64.encode(br#"{"alg":"none"}"#),
            token.split('.').nth(1).unwrap()
        );
        assert_eq!(verify(&unsigned, &keys(), NOW), Err(TokenError::Algorithm));
        for malformed in ["", ".", "..", "a.b.c", "e30.e30"] {
            assert!(verify(malformed, &keys(), NOW).is_err(), "{malformed:?}");
        }
    }

    /// A token of any header and any claims, signed with the secret.
    fn signed(header: &str, body: &str, algorithm: hmac::Algorithm) -> String {
        let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(body));
        let signature = hmac::sign(&hmac::Key::new(algorithm, b"secret"), signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature))
    }

    #[test]
    fn only_one_algorithm_is_taken_and_no_extension() {
        let body = r#"{"iss":"devkey","sub":"ada"}"#;
        let outcome = |header, algorithm| verify(&signed(header, body, algorithm), &keys(), NOW).map(|_| ());
        for good in [
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"HS256","typ":"x","kid":"../x","jku":"http://x/"}"#,
        ] {
            assert_eq!(outcome(good, hmac::HMAC_SHA256), Ok(()), "{good}");
        }
        assert_eq!(
            outcome(r#"{"alg":"HS384"}"#, hmac::HMAC_SHA384),
            Err(TokenError::Algorithm)
        );
        assert_eq!(
            outcome(r#"{"alg":"HS512"}"#, hmac::HMAC_SHA512),
            Err(TokenError::Algorithm)
        );
        for bad in [
            r#"{"alg":"hs256"}"#,
            r#"{"alg":"RS256"}"#,
            r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
        ] {
            assert_eq!(outcome(bad, hmac::HMAC_SHA256), Err(TokenError::Algorithm), "{bad}");
        }
        for bad in [r#"{"typ":"JWT"}"#, r#"{"alg":null}"#, "null", "[]"] {
            assert_eq!(outcome(bad, hmac::HMAC_SHA256), Err(TokenError::Malformed), "{bad}");
        }
    }

    #[test]
    fn times_have_fractions_and_may_be_missing() {
        let outcome = |times: &str| {
            let body = format!(r#"{{"iss":"devkey","sub":"ada"{times}}}"#);
            let token = signed(r#"{"alg":"HS256"}"#, &body, hmac::HMAC_SHA256);
            verify(&token, &keys(), NOW).map(|_| ())
        };
        for good in [
            "",
            r#","exp":1900000000.25"#,
            r#","exp":1799999941"#,
            r#","nbf":1799999999.5"#,
            r#","exp":1,"exp":1.9e9"#,
        ] {
            assert_eq!(outcome(good), Ok(()), "{good}");
        }
        assert_eq!(outcome(r#","exp":1799999939.9"#), Err(TokenError::Expired));
        assert_eq!(outcome(r#","exp":-1"#), Err(TokenError::Expired));
        assert_eq!(outcome(r#","nbf":1800000061"#), Err(TokenError::NotYetValid));
    }

    #[test]
    fn line_breaks_do_not_matter_and_an_empty_secret_signs_nothing() {
        let token = sign(&claims(), &keys()).unwrap();
        assert_eq!(verify(&format!("{token}\n"), &keys(), NOW), Ok(claims()));
        let empty = ApiKeys::default().with("devkey", "");
        assert_eq!(verify(&token, &empty, NOW), Err(TokenError::UnknownKey));
        assert_eq!(sign(&claims(), &empty), None);
    }

    #[test]
    fn a_key_signs_for_its_rooms_only() {
        let keys = ApiKeys::default().with("shop", "secret").with("all", "secret");
        let keys = keys.with_rooms("shop", RoomNames::new(vec!["shop-*".to_owned()]));
        let verified = |key: &str, room: &str| {
            let mut claims = Claims {
                iss: key.to_owned(),
                ..Claims::default()
            };
            claims.video.room = room.to_owned();
            verify(&sign(&claims, &keys).unwrap(), &keys, Duration::ZERO)
        };
        assert!(verified("shop", "shop-1").unwrap().key_rooms.admits("shop-2"));
        assert_eq!(verified("shop", "school").unwrap_err(), TokenError::Room);
        assert!(
            !verified("shop", "").unwrap().key_rooms.admits("school"),
            "of other grants"
        );
        assert!(verified("all", "school").unwrap().key_rooms.admits("shop-1"));
    }
}
