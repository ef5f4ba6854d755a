//! The limits of API keys.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ConfigError;
use super::secrets::Keys;

/// The limits of all keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Quotas {
    /// Of keys that are not listed.
    default: Quota,
    /// By key.
    keys: BTreeMap<String, Quota>,
}

/// The limits of one key.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Quota {
    /// Rooms at once.
    rooms: Option<usize>,
    /// Participants at once, in all rooms.
    participants: Option<usize>,
    /// Bits per second that all participants together are sent at most.
    bitrate: Option<u64>,
}

impl Quotas {
    /// Checks that each limited key is one of these.
    ///
    /// Errors: one is not, so its limit would bound nobody.
    pub(super) fn check(&self, keys: &Keys) -> Result<(), ConfigError> {
        let unknown: Vec<String> = self
            .keys
            .keys()
            .filter(|key| !keys.contains_key(*key))
            .cloned()
            .collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::Quotas(unknown)),
        }
    }
}

impl From<Quota> for controller::Quota {
    fn from(quota: Quota) -> Self {
        let Quota {
            rooms,
            participants,
            bitrate,
        } = quota;
        Self {
            rooms,
            participants,
            bitrate,
        }
    }
}

impl From<&Quotas> for controller::Quotas {
    fn from(quotas: &Quotas) -> Self {
        let keys = quotas.keys.iter();
        Self {
            keys: keys.map(|(key, quota)| (key.clone(), (*quota).into())).collect(),
            default: quotas.default.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_limits_of_their_own_or_those_of_all_others() {
        let text = "default: {participants: 100}\nkeys: {big: {rooms: 50, bitrate: 1000000000}}";
        let quotas: Quotas = serde_saphyr::from_str(text).unwrap();
        let expected = controller::Quotas {
            keys: [(
                "big".to_owned(),
                controller::Quota {
                    rooms: Some(50),
                    participants: None,
                    bitrate: Some(1_000_000_000),
                },
            )]
            .into(),
            default: controller::Quota {
                participants: Some(100),
                ..controller::Quota::default()
            },
        };
        assert_eq!(controller::Quotas::from(&quotas), expected);
        assert!(serde_saphyr::from_str::<Quotas>("default: {room: 1}").is_err());
    }

    #[test]
    fn a_limited_key_is_one_of_the_keys() {
        let quotas: Quotas = serde_saphyr::from_str("keys: {one: {rooms: 1}, oen: {rooms: 2}}").unwrap();
        let keys = |names: &[&str]| {
            names
                .iter()
                .map(|name| ((*name).to_owned(), "".into()))
                .collect::<Keys>()
        };
        assert!(quotas.check(&keys(&["one", "oen"])).is_ok());
        let error = quotas.check(&keys(&["one", "two"])).unwrap_err().to_string();
        assert!(error.contains("oen") && !error.contains("one"), "{error}");
        assert!(Quotas::default().check(&keys(&[])).is_ok());
    }
}
