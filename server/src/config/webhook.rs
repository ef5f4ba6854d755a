//! Settings of webhooks.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use axum::http::Uri;
use livekit::webhook::{ABSENT_EVENTS, EVENTS, Receiver, Settings};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::ConfigError;
use super::secrets::Keys;
use super::sip::Seconds;

/// The most receivers.
const RECEIVERS_MAX: usize = 16;

/// Settings of webhooks. Without URLs there are none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Webhook {
    /// The receivers: URLs, or URLs with keys of their own.
    pub urls: Vec<Target>,
    /// The API key that signs for receivers without a key of their own.
    pub api_key: Option<String>,
    /// The names of the events that are sent; none for all of them.
    pub include_events: Vec<String>,
    /// The names of the events that are not sent, unless `include_events` names any.
    pub exclude_events: Vec<String>,
    /// How old an event may be when it is sent.
    pub max_age: Seconds,
    /// The most events of one room that wait for a receiver.
    pub max_depth: usize,
}

/// A receiver.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// With the key of all.
    Url(String),
    /// With a key of its own.
    Keyed(KeyedTarget),
}

/// A receiver with a key of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyedTarget {
    pub url: String,
    pub api_key: String,
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TargetVisitor)
    }
}

struct TargetVisitor;

impl<'de> Visitor<'de> for TargetVisitor {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL, or its `url` and `api_key`")
    }

    fn visit_str<E: de::Error>(self, url: &str) -> Result<Target, E> {
        Ok(Target::Url(url.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Target, A::Error> {
        KeyedTarget::deserialize(MapAccessDeserializer::new(map)).map(Target::Keyed)
    }
}

impl Default for Webhook {
    fn default() -> Self {
        Webhook {
            urls: Vec::new(),
            api_key: None,
            include_events: Vec::new(),
            exclude_events: Vec::new(),
            max_age: Seconds(Duration::from_secs(60)),
            max_depth: 200,
        }
    }
}

impl Webhook {
    pub(super) fn check(&self, keys: &Keys) -> Result<(), ConfigError> {
        let invalid = |why: String| Err(ConfigError::Webhook(why));
        if self.urls.len() > RECEIVERS_MAX {
            return invalid(format!("there are more than {RECEIVERS_MAX} `urls`"));
        }
        if self.max_depth == 0 || self.max_age.0.is_zero() {
            return invalid("`max_depth` and `max_age` need values above 0".to_owned());
        }
        let mut filters = self.include_events.iter().chain(&self.exclude_events);
        let is_known = |name: &str| EVENTS.contains(&name) || ABSENT_EVENTS.contains(&name);
        if let Some(unknown) = filters.find(|name| !is_known(name.as_str())) {
            return invalid(format!("there is no event {unknown}: there are {}", EVENTS.join(", ")));
        }
        let mut seen = BTreeSet::new();
        for target in &self.urls {
            let (url, key) = self.parts(target);
            if !is_url(url) {
                // The part before `@` may be a password.
                let shown = url.rsplit('@').next().unwrap_or_default();
                return invalid(format!(
                    "{shown} is no `http:` or `https:` URL of a host, without a user name"
                ));
            }
            if !seen.insert(url) {
                return invalid(format!("{url} is listed twice"));
            }
            match key {
                None => return invalid(format!("{url} needs an `api_key` that signs")),
                Some(key) if !keys.contains_key(key) => {
                    return invalid(format!("there is no API key {key} to sign for {url}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The same in the form of the queue.
    pub(crate) fn settings(&self) -> Settings {
        let receivers = self.urls.iter().map(|target| {
            let (url, key) = self.parts(target);
            Receiver {
                url: url.to_owned(),
                key: key.unwrap_or_default().to_owned(),
            }
        });
        Settings {
            receivers: receivers.collect(),
            include: self.include_events.clone(),
            exclude: self.exclude_events.clone(),
            age_max: self.max_age.0,
            depth_max: self.max_depth,
        }
    }

    fn parts<'a>(&'a self, target: &'a Target) -> (&'a str, Option<&'a str>) {
        match target {
            Target::Url(url) => (url, self.api_key.as_deref()),
            Target::Keyed(keyed) => (&keyed.url, Some(&keyed.api_key)),
        }
    }
}

/// Whether webhooks can be sent to this address.
pub(crate) fn is_url(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_plain = |host: &str| !host.is_empty() && !host.contains('@');
    is_http && uri.authority().is_some_and(|authority| is_plain(authority.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Webhook, String> {
        let keys = Keys::from([("one".to_owned(), "x".into()), ("two".to_owned(), "y".into())]);
        let webhook: Webhook = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        webhook.check(&keys).map_err(|error| error.to_string())?;
        Ok(webhook)
    }

    #[test]
    fn receivers_have_the_key_of_all_or_one_of_their_own() {
        let text = "
api_key: one
urls: ['http://localhost:8080/hook', {url: 'https://[::1]/?a=b', api_key: two}]
exclude_events: [track_published, egress_started]
max_age: 0.5
";
        let settings = check(text).unwrap().settings();
        let receivers = settings.receivers.iter();
        let receivers: Vec<_> = receivers
            .map(|receiver| (receiver.url.as_str(), receiver.key.as_str()))
            .collect();
        assert_eq!(
            receivers,
            [("http://localhost:8080/hook", "one"), ("https://[::1]/?a=b", "two")]
        );
        assert_eq!(
            (settings.age_max, settings.depth_max),
            (Duration::from_millis(500), 200)
        );
        assert!(check("{}").unwrap().settings().receivers.is_empty());
    }

    #[test]
    fn settings_that_cannot_be_meant_are_errors() {
        for (text, named) in [
            ("urls: ['http://a/']", "api_key"),
            ("{api_key: three, urls: ['http://a/']}", "three"),
            ("{api_key: one, urls: ['http://a/', 'http://a/']}", "twice"),
            ("{api_key: one, urls: ['ftp://a/']}", "ftp://a/"),
            ("{api_key: one, urls: ['/hook']}", "/hook"),
            ("{api_key: one, urls: ['http://user:password@a/']}", "user name"),
            ("{include_events: [room_begun]}", "room_begun"),
            ("{max_depth: 0}", "max_depth"),
            ("{max_age: 0}", "max_age"),
            ("{url: 'http://a/'}", "url"),
        ] {
            let error = check(text).map(|_| ()).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        let urls: Vec<_> = (0..=RECEIVERS_MAX)
            .map(|number| format!("'http://a/{number}'"))
            .collect();
        let many = check(&format!("{{api_key: one, urls: [{}]}}", urls.join(", ")));
        assert!(many.map(|_| ()).unwrap_err().contains("16"));
    }
}
