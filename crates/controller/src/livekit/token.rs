//! Access tokens: JSON Web Tokens signed with HMAC-SHA256 (RFC 7519, RFC 7515).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use serde::{Deserialize, Serialize};

/// JWTs have no padding, but some issuers write it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How far the clocks of issuer and server may be apart.
const LEEWAY: Duration = Duration::from_secs(60);

/// API keys and the secrets that sign for them.
#[derive(Clone, Default)]
pub struct ApiKeys(BTreeMap<String, String>);

impl ApiKeys {
    /// Adds a key, or replaces its secret.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, secret: impl Into<String>) -> Self {
        self.0.insert(key.into(), secret.into());
        self
    }

    fn secret(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

impl fmt::Debug for ApiKeys {
    // Secrets have no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What a token says of its bearer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Claims {
    /// The API key that signed.
    pub iss: String,
    /// The identity.
    pub sub: String,
    /// The identity in old tokens that have no `sub`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jti: String,
    /// When it expires, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<u64>,
    /// When it becomes valid, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Metadata of the participant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metadata: String,
    /// Attributes of the participant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// What sort of participant: `standard`, `agent`, `egress`, `ingress`, `sip`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What the bearer may do.
    pub video: VideoGrant,
    /// Claims for others, kept so that a refreshed token says the same.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// What the bearer of a token may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VideoGrant {
    /// May join [`room`](Self::room).
    pub room_join: bool,
    /// The room's name.
    pub room: String,
    /// May publish media; `None` is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_publish: Option<bool>,
    /// May receive media; `None` is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_subscribe: Option<bool>,
    /// May send data; `None` is as `can_publish`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_publish_data: Option<bool>,
    /// Sources it may publish: `camera`, `microphone`, `screen_share`, `screen_share_audio`. Empty is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub can_publish_sources: Vec<String>,
    /// May change its own name, metadata and attributes; `None` is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_update_own_metadata: Option<bool>,
    /// Others do not see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// It records the room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorder: bool,
    /// It is an agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
    /// Grants of other services, kept so that a refreshed token says the same.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

impl Claims {
    /// Who the bearer is: `sub`, or `jti` in old tokens.
    pub fn identity(&self) -> &str {
        if self.sub.is_empty() { &self.jti } else { &self.sub }
    }
}

/// Why a token is no good. The client, or whoever issued the token, must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not three parts of base64url, or not the JSON of claims.
    Malformed,
    /// Not signed with HS256.
    Algorithm,
    /// Signed for an API key this server does not have.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It has no expiry time, which tokens must have.
    NoExpiry,
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
            Self::NoExpiry => "invalid token: it has no expiry time",
            Self::Expired => "invalid token: it has expired",
            Self::NotYetValid => "invalid token: it is not valid yet",
        })
    }
}

impl std::error::Error for TokenError {}

/// Checks a token's signature, in constant time, and its validity at `unix` (since 1970).
///
/// Errors: any [`TokenError`].
pub fn verify(token: &str, keys: &ApiKeys, unix: Duration) -> Result<Claims, TokenError> {
    let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let (header, body) = signed.split_once('.').ok_or(TokenError::Malformed)?;
    let header: Header = decode(header)?;
    if header.alg != "HS256" {
        return Err(TokenError::Algorithm);
    }
    let claims: Claims = decode(body)?;
    let secret = keys.secret(&claims.iss).ok_or(TokenError::UnknownKey)?;
    let signature = BASE64.decode(signature).map_err(|_| TokenError::Malformed)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::verify(&key, signed.as_bytes(), &signature).map_err(|_| TokenError::Signature)?;
    check_times(&claims, unix)?;
    Ok(claims)
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

#[derive(Deserialize)]
struct Header {
    alg: String,
}

fn decode<T: for<'a> Deserialize<'a>>(part: &str) -> Result<T, TokenError> {
    let bytes = BASE64.decode(part).map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Malformed)
}

fn check_times(claims: &Claims, unix: Duration) -> Result<(), TokenError> {
    let expiry = Duration::from_secs(claims.exp.ok_or(TokenError::NoExpiry)?);
    if expiry.saturating_add(LEEWAY) <= unix {
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
        let endless = sign(&Claims { exp: None, ..claims() }, &keys()).unwrap();
        assert_eq!(verify(&endless, &keys(), NOW), Err(TokenError::NoExpiry));
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
}
