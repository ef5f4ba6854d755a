//! SIGHUP: applies changes of the configuration, as far as that is possible during calls.

use tracing::{error, info, warn};

use crate::cli;
use crate::clients::places::Places;
use crate::config::{Config, changes, is_reloaded};
use crate::controller_task::Handle;
use crate::log::Log;
use crate::settings::{Current, Settings, api_keys};

/// Everything that a new configuration reaches.
pub(crate) struct Reload<'a> {
    /// The command line, which names the file.
    pub arguments: &'a cli::Serve,
    /// The log, which has a level.
    pub log: &'a Log,
    /// The settings of requests.
    pub settings: Current,
    /// Places of connections, and of clients behind proxies.
    pub places: [Places; 2],
    /// The controller, which signs refreshed tokens.
    pub controller: Handle,
    /// The configuration there is.
    pub config: Config,
}

impl Reload<'_> {
    /// Reads the configuration again. One that cannot be read or understood changes nothing.
    pub(crate) async fn run(&mut self) {
        let config = match Config::load(self.arguments) {
            Ok(config) => config,
            Err(error) => return error!(%error, "the configuration stays as it was: the new one cannot be used"),
        };
        if let Err(error) = self.log.set_level(&config.log.level) {
            return error!(%error, "the configuration stays as it was: the new one cannot be used");
        }
        config.warnings.iter().for_each(|warning| warn!("{warning}"));
        let names = changes(&self.config.written, &config.written);
        for name in names.iter().filter(|name| !is_reloaded(name)) {
            warn!(
                setting = name,
                "changed in the configuration, but only a restart takes it over"
            );
        }
        self.settings.replace(Settings::of(&config));
        self.places
            .iter()
            .for_each(|places| places.set_limits(config.limits.places()));
        self.controller.set_keys(api_keys(&config)).await;
        let (added, removed) = (
            config
                .keys
                .keys()
                .filter(|key| !self.config.keys.contains_key(*key))
                .count(),
            self.config
                .keys
                .keys()
                .filter(|key| !config.keys.contains_key(*key))
                .count(),
        );
        let replaced = config.keys.iter().filter(|(key, secret)| {
            let before = self.config.keys.get(*key);
            before.is_some_and(|before| before != *secret)
        });
        info!(
            keys_added = added,
            keys_removed = removed,
            keys_replaced = replaced.count(),
            log = config.log.level,
            "configuration reloaded"
        );
        self.config = config;
    }
}
