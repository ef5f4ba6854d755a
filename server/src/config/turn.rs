//! The configuration of a TURN server for clients: Weir's own, another one, or both.

use std::time::Duration;

use access::TurnSecret;
use controller::TurnServer;
use serde::Deserialize;

use super::secrets::Secret;
use super::sip::Seconds;
use super::{ConfigError, Tls};

/// The most addresses that clients are told.
pub(crate) const URLS_MAX: usize = 8;
/// The shortest and the longest time that credentials may be valid. A client needs them as long as
/// it stays.
const VALID: std::ops::RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(7 * 86_400);

/// The file's form of a TURN server. Only there when the file has a section `turn`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TurnFile {
    /// The UDP and TCP port of Weir's own.
    pub port: Option<u16>,
    /// Whether Weir's own is at the port of HTTPS. With neither there is none.
    pub tls: bool,
    /// Its addresses as clients are told them: `turn:HOST:PORT?transport=udp`.
    pub urls: Vec<String>,
    /// The secret that both share.
    pub secret: Option<Secret>,
    /// How long credentials are valid.
    pub ttl: Seconds,
}

/// A TURN server for clients.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The server as clients get to know it. Without addresses it is at those of media.
    pub server: TurnServer,
    /// The UDP and TCP port of Weir's own.
    pub port: Option<u16>,
    /// Whether Weir's own is at the port of HTTPS.
    pub tls: bool,
}

impl Turn {
    /// Whether it is Weir's own.
    pub(crate) fn is_own(&self) -> bool {
        self.port.is_some() || self.tls
    }
}

impl Default for TurnFile {
    fn default() -> Self {
        TurnFile {
            port: None,
            tls: false,
            urls: Vec::new(),
            secret: None,
            ttl: Seconds(Duration::from_secs(14_400)),
        }
    }
}

impl TurnFile {
    /// The complete settings. Weir's own server needs neither addresses nor a secret: it is where
    /// media is, and makes a secret.
    ///
    /// Errors: an address or the secret is missing or unusable, credentials would be valid for too
    /// short or too long a time, the port is 0, or it is to be at the port of HTTPS and there is
    /// none.
    pub(super) fn complete(&self, https: Option<&Tls>) -> Result<Turn, ConfigError> {
        if self.port == Some(0) {
            return Err(ConfigError::Turn("needs a `port` that clients can be told, not 0"));
        }
        // Clients look for the name of a certificate.
        let has_name = |https: &Tls| https.acme.is_some() || self.urls.iter().any(|url| url.starts_with("turns:"));
        if self.tls && !https.is_some_and(has_name) {
            return Err(ConfigError::Turn(
                "needs `tls:` for `tls: true`, and a name: in its `acme`, or in `urls` as \"turns:HOST:443?transport=tcp\"",
            ));
        }
        let is_turn = |url: &String| {
            let host = url.strip_prefix("turns:").or_else(|| url.strip_prefix("turn:"));
            host.is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '?']))
        };
        let is_own = self.port.is_some() || self.tls;
        let has_urls = is_own || !self.urls.is_empty();
        if !has_urls || self.urls.len() > URLS_MAX || !self.urls.iter().all(is_turn) {
            return Err(ConfigError::Turn(
                "needs one to eight `urls`, each as \"turn:HOST:PORT?transport=udp\"",
            ));
        }
        let secret = match self.secret.as_ref().filter(|secret| !secret.is_empty()) {
            Some(secret) => TurnSecret::new(secret),
            None if is_own => made_up()?,
            None => return Err(ConfigError::Turn("needs the `secret` that it shares with Weir")),
        };
        if !VALID.contains(&self.ttl.0) {
            return Err(ConfigError::Turn("needs a `ttl` of 60 seconds to a week"));
        }
        let server = TurnServer {
            urls: self.urls.clone(),
            secret,
            valid_for: self.ttl.0,
        };
        Ok(Turn {
            server,
            port: self.port,
            tls: self.tls,
        })
    }
}

/// A secret of this process alone.
fn made_up() -> Result<TurnSecret, ConfigError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| ConfigError::Turn("gets no randomness from the operating system"))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(TurnSecret::new(&digits))
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn completed(text: &str) -> Result<Turn, String> {
        let file = File::parse(text).whole("weir.yaml").expect("a configuration");
        let turn = file.turn.expect("a TURN server");
        turn.complete(None).map_err(|error| error.to_string())
    }

    #[test]
    fn a_turn_server_has_addresses_and_a_secret() {
        let turn = completed("turn: {urls: ['turn:turn.example.net:3478'], secret: north}").unwrap();
        assert_eq!(turn.server.urls, ["turn:turn.example.net:3478"]);
        assert_eq!((turn.server.valid_for, turn.port), (Duration::from_secs(14_400), None));
        let own = completed("turn: {port: 3478}").unwrap();
        assert_eq!((own.server.urls.len(), own.port), (0, Some(3478)));
        let tls = completed("turn: {urls: ['turns:turn.example.net:443?transport=tcp'], secret: north, ttl: 60}");
        assert_eq!(tls.unwrap().server.valid_for, Duration::from_secs(60));
        for (text, part) in [
            ("turn: {secret: north}", "urls"),
            ("turn: {urls: ['turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['turn://turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['stun:turn.example.net'], secret: north}", "urls"),
            ("turn: {urls: ['turn:turn.example.net']}", "secret"),
            ("turn: {urls: ['turn:turn.example.net'], secret: ''}", "secret"),
            ("turn: {urls: ['turn:turn.example.net'], secret: north, ttl: 5}", "ttl"),
            ("turn: {tls: true}", "tls"),
            ("turn: {port: 0}", "port"),
        ] {
            let error = completed(text).unwrap_err();
            assert!(error.contains("`turn:`") && error.contains(part), "{error}");
            assert!(!error.contains("north"), "{error}");
        }
    }
}
