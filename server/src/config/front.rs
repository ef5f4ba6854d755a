//! Settings of the HTTP port: limits, signalling, and access to metrics.

use std::time::Duration;

use livekit::Pings;
use serde::Deserialize;

use super::ConfigError;
use super::secrets::Secret;
use super::sip::Seconds;

/// Settings of `/metrics` and of what else only operators see.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Metrics {
    /// The bearer token of requests. Without one, requests from this machine are answered.
    pub token: Option<Secret>,
    /// Whether there are lines for each receiver, with its room and identity.
    pub names: bool,
    /// Whether anybody who reaches the port may read `/metrics`.
    pub open: bool,
}

impl Metrics {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let guarded = self.token.as_ref().is_some_and(|token| token.len() >= 16);
        if self.names && !guarded {
            return Err(ConfigError::NamesForEverybody);
        }
        if self.open && self.token.is_some() {
            return Err(ConfigError::OpenAndGuarded);
        }
        Ok(())
    }
}

/// Limits of the HTTP port.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Connections at once, signalling included.
    pub connections: usize,
    /// Of those, from one address; for IPv6 from one /64.
    pub connections_per_address: usize,
    /// Of those, by clients that have not joined.
    pub requests_per_address: usize,
    /// How long a client may take for a request's header, for the whole request, and to take any
    /// part of the answer.
    pub request_timeout: Seconds,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 16_384,
            connections_per_address: 4_096,
            requests_per_address: 1_024,
            request_timeout: Seconds(Duration::from_secs(10)),
        }
    }
}

impl Limits {
    /// An error for each limit of zero.
    pub(super) fn check(&self) -> Vec<ConfigError> {
        let limits = [
            ("limits.connections", self.connections == 0),
            ("limits.connections_per_address", self.connections_per_address == 0),
            ("limits.requests_per_address", self.requests_per_address == 0),
            ("limits.request_timeout", self.request_timeout.0.is_zero()),
        ];
        let zeros = limits.into_iter().filter(|(_, is_zero)| *is_zero);
        zeros.map(|(name, _)| ConfigError::Zero(name)).collect()
    }
}

/// Settings of the connections of signalling.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Signalling {
    /// Seconds between two pings of a client.
    ping_interval: u16,
    /// Seconds without a message after which a client connects again.
    ping_timeout: u16,
}

impl Default for Signalling {
    fn default() -> Self {
        let Pings { interval, timeout } = Pings::default();
        Signalling {
            ping_interval: interval,
            ping_timeout: timeout,
        }
    }
}

impl Signalling {
    pub(super) fn check(self) -> Result<(), ConfigError> {
        match 0 < self.ping_interval && self.ping_interval < self.ping_timeout {
            true => Ok(()),
            false => Err(ConfigError::Pings(self.ping_interval, self.ping_timeout)),
        }
    }

    /// The same for the front end.
    pub(crate) fn pings(self) -> Pings {
        Pings {
            interval: self.ping_interval,
            timeout: self.ping_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_with_names_need_a_token_and_open_ones_have_none() {
        let check = |text: &str| serde_saphyr::from_str::<Metrics>(text).unwrap().check();
        assert!(check("{}").is_ok() && check("{open: true}").is_ok());
        for unguarded in [
            "{names: true}",
            "{names: true, token: short}",
            "{names: true, open: true}",
        ] {
            assert!(matches!(check(unguarded), Err(ConfigError::NamesForEverybody)));
        }
        assert!(check("{names: true, token: 0123456789abcdef}").is_ok());
        assert!(matches!(
            check("{open: true, token: a}"),
            Err(ConfigError::OpenAndGuarded)
        ));
    }

    #[test]
    fn a_client_pings_before_it_gives_up() {
        let check = |text: &str| serde_saphyr::from_str::<Signalling>(text).unwrap().check();
        assert!(check("{}").is_ok() && check("{ping_interval: 1, ping_timeout: 2}").is_ok());
        for text in ["{ping_interval: 0}", "{ping_interval: 2, ping_timeout: 2}"] {
            assert!(matches!(check(text), Err(ConfigError::Pings(..))), "{text}");
        }
    }

    #[test]
    fn each_limit_of_zero_is_an_error() {
        let check = |text: &str| {
            let errors = serde_saphyr::from_str::<Limits>(text).unwrap().check();
            errors.iter().filter_map(ConfigError::key).collect::<Vec<_>>()
        };
        assert!(check("{}").is_empty() && check("{request_timeout: 2.5}").is_empty());
        assert_eq!(check("{request_timeout: 0}"), ["limits.request_timeout"]);
        assert_eq!(
            check("{connections: 0, requests_per_address: 0}"),
            ["limits.connections", "limits.requests_per_address"]
        );
    }
}
