//! The configuration of a TURN server for clients.

use std::time::Duration;

use access::TurnSecret;
use controller::TurnServer;
use serde::Deserialize;

use super::ConfigError;
use super::secrets::Secret;
use super::sip::Seconds;

/// The most addresses that clients are told.
const URLS_MAX: usize = 8;
/// The shortest and the longest time that credentials may be valid. A client needs them as long as
/// it stays.
const VALID: std::ops::RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(7 * 86_400);

/// A TURN server that shares a secret with Weir. Only there when the file has a section `turn`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Turn {
    /// Its addresses as clients are told them: `turn:HOST:PORT?transport=udp`.
    pub urls: Vec<String>,
    /// The secret that both share.
    pub secret: Option<Secret>,
    /// How long credentials are valid.
    pub ttl: Seconds,
}

impl Default for Turn {
    fn default() -> Self {
        Turn {
            urls: Vec::new(),
            secret: None,
            ttl: Seconds(Duration::from_secs(14_400)),
        }
    }
}

impl Turn {
    /// The server as the controller knows it.
    ///
    /// Errors: an address or the secret is missing or unusable, or credentials would be valid for
    /// too short or too long a time.
    pub(super) fn complete(&self) -> Result<TurnServer, ConfigError> {
        let is_turn = |url: &String| {
            let host = url.strip_prefix("turns:").or_else(|| url.strip_prefix("turn:"));
            host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '?']))
        };
        if self.urls.is_empty() || self.urls.len() > URLS_MAX || !self.urls.iter().all(is_turn) {
            return Err(ConfigError::Turn(
                "needs one to eight `urls`, each as \"turn:HOST:PORT?transport=udp\"",
            ));
        }
        let secret = self.secret.as_ref().filter(|secret| !secret.is_empty());
        let secret = secret.ok_or(ConfigError::Turn("needs the `secret` that it shares with Weir"))?;
        if !VALID.contains(&self.ttl.0) {
            return Err(ConfigError::Turn("needs a `ttl` of 60 seconds to a week"));
        }
        Ok(TurnServer {
            urls: self.urls.clone(),
            secret: TurnSecret::new(secret),
            valid_for: self.ttl.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn completed(text: &str) -> Result<TurnServer, String> {
        let file = File::parse("weir.yaml", text).expect("a configuration");
        let turn = file.turn.expect("a TURN server");
        turn.complete().map_err(|error| error.to_string())
    }

    #[test]
    fn a_turn_server_has_addresses_and_a_secret() {
        let turn = completed("turn: {urls: ['turn:turn.example.net:3478'], secret: north}").unwrap();
        assert_eq!(turn.urls, ["turn:turn.example.net:3478"]);
        assert_eq!(turn.valid_for, Duration::from_secs(14_400));
        let tls = completed("turn: {urls: ['turns:turn.example.net:443?transport=tcp'], secret: north, ttl: 60}");
        assert_eq!(tls.unwrap().valid_for, Duration::from_secs(60));
        for (text, part) in [
            ("turn: {secret: north}", "urls"),
            ("turn: {urls: ['turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['turn://turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['stun:turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['turn:turn.example.net']}", "secret"),
            ("turn: {urls: ['turn:turn.example.net'], secret: ''}", "secret"),
            ("turn: {urls: ['turn:turn.example.net'], secret: north, ttl: 5}", "ttl"),
        ] {
            let error = completed(text).unwrap_err();
            assert!(error.contains("`turn:`") && error.contains(part), "{error}");
            assert!(!error.contains("north"), "{error}");
        }
    }
}
