//! The part of the configuration that may change while requests are served.

use std::sync::{Arc, PoisonError, RwLock};

use access::{ApiKeys, RoomNames};
use controller::PinnedRooms;

use crate::config::{self, Config, Network, Regions};

/// The settings at one moment.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Keys that sign good tokens.
    pub keys: ApiKeys,
    /// The key the page's tokens are signed with; only in development.
    pub dev_key: Option<String>,
    /// Access to metrics.
    pub metrics: config::Metrics,
    /// Proxies whose forwarding headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// Rooms that anybody may watch.
    pub watch: whip::Watch,
    /// The regions of clients.
    pub regions: Regions,
}

/// The settings there are now. Cheap to clone; all clones change together.
#[derive(Clone, Debug)]
pub(crate) struct Current(Arc<RwLock<Arc<Settings>>>);

impl Settings {
    /// Those of a configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Settings {
            keys: api_keys(config),
            dev_key: config.dev_key.clone(),
            metrics: config.metrics.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
            watch: whip::Watch::new(config.room.watch.clone()),
            regions: config
                .cluster
                .as_ref()
                .map(|cluster| cluster.regions.clone())
                .unwrap_or_default(),
        }
    }
}

impl Current {
    /// These.
    pub(crate) fn new(settings: Settings) -> Self {
        Current(Arc::new(RwLock::new(Arc::new(settings))))
    }

    /// The settings that hold now.
    pub(crate) fn get(&self) -> Arc<Settings> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has others hold from now on.
    pub(crate) fn replace(&self, settings: Settings) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}

/// The rooms that may only be in some regions, as the controller wants them.
pub(crate) fn pinned(config: &Config) -> Vec<PinnedRooms> {
    config
        .cluster
        .as_ref()
        .map(|cluster| cluster.pinned.clone())
        .unwrap_or_default()
}

/// The keys as the controller wants them.
pub(crate) fn api_keys(config: &Config) -> ApiKeys {
    let pairs = config.keys.iter();
    let keys = pairs.fold(ApiKeys::default(), |keys, (key, secret)| {
        keys.with(key.as_str(), &**secret)
    });
    let rooms = config.key_rooms.iter();
    rooms.fold(keys, |keys, (key, names)| {
        keys.with_rooms(key.as_str(), RoomNames::new(names.clone()))
    })
}
