//! SIGHUP applies changes of the configuration, as far as that is possible during calls. Files of
//! keys and of certificates are also read when they change.

use std::fmt::Display;

use access::ApiKeys;
use tracing::{error, info, warn};

use crate::cli;
use crate::clients::connection_slots::{ConnectionSlots, Limits};
use crate::config::{ApiSecrets, Config, Keys, changes, is_reloaded};
use crate::controller_task::Handle;
use crate::frontends::Handles;
use crate::log::Log;
use crate::os::refused;
use crate::settings::{Current, Settings, api_keys, pinned};
use crate::tls;
use crate::webhooks::Webhooks;

/// Everything that a new configuration reaches.
pub(crate) struct Reload<'a> {
    /// The command line, which names the file.
    pub arguments: &'a cli::Serve,
    /// The log, which has a level.
    pub log: &'a Log,
    /// The settings of requests.
    pub settings: Current,
    /// Places of connections, and of clients behind proxies.
    pub slots: [ConnectionSlots; 2],
    /// The controller, which signs refreshed tokens.
    pub controller: Handle,
    /// Its front ends.
    pub front_ends: Handles,
    /// The sender of webhooks.
    pub webhooks: Webhooks,
    /// The certificates in files, if there is HTTPS.
    pub certificates: Option<tls::Files>,
    /// The configuration there is.
    pub config: Config,
    /// The reason why the file of keys cannot be used, for the log.
    pub key_error: Option<String>,
}

impl Reload<'_> {
    /// Reads the configuration again. One that cannot be read or understood changes nothing.
    pub(crate) async fn run(&mut self) {
        let Some(config) = read_changes(self.arguments, self.log, &self.config) else {
            return;
        };
        self.settings.replace(Settings::of(&config));
        let limits = Limits::from(&config.limits);
        self.slots.iter().for_each(|slots| slots.set_limits(limits));
        self.front_ends.whip.set_limits(limits.sessions()).await;
        self.set_keys(api_keys(&config)).await;
        self.controller.set_quotas((&config.quotas).into()).await;
        self.controller.set_pinned(pinned(&config)).await;
        self.configure_webhooks(&config).await;
        self.read_certificates_of(&config).await;
        let [added, removed, replaced] = differences(&self.config.keys, &config.keys);
        info!(
            keys_added = added,
            keys_removed = removed,
            keys_replaced = replaced,
            log = config.log.level,
            "configuration reloaded"
        );
        self.config = config;
    }

    /// Reads the files that may change without a signal.
    pub(crate) async fn read_files(&mut self) {
        if self.config.key_sources.file.is_some() {
            self.read_keys().await;
        }
        if let Some(certificates) = &mut self.certificates {
            certificates.follow().await;
        }
    }

    /// Serves the certificates that a configuration names.
    async fn read_certificates_of(&mut self, config: &Config) {
        match (&mut self.certificates, &config.tls) {
            (Some(certificates), Some(tls)) => certificates.set_paths(tls.certificates.clone()).await,
            (None, None) => {}
            _ => warn!(
                setting = "tls",
                "changed in the configuration, but only a restart takes it over"
            ),
        }
    }

    /// Has tokens of these keys known.
    async fn set_keys(&self, keys: ApiKeys) {
        self.controller.set_keys(keys.clone()).await;
        self.front_ends.agents.set_keys(keys).await;
    }

    /// Begins to send webhooks, if the configuration has any.
    pub(crate) async fn start_webhooks(&self) {
        self.configure_webhooks(&self.config).await;
    }

    /// Has webhooks sent as a configuration says.
    async fn configure_webhooks(&self, config: &Config) {
        let settings = config.webhook.settings();
        let wanted = !settings.receivers.is_empty();
        self.webhooks.configure(settings, api_keys(config)).await;
        self.front_ends.webhooks.set_wanted(wanted).await;
    }

    /// Reads the file of keys again. One that cannot be used changes nothing: it may be half
    /// written.
    async fn read_keys(&mut self) {
        let sources = self.config.key_sources.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || sources.read()).await else {
            return;
        };
        let ApiSecrets { keys, dev_key } = match read {
            Ok(read) => read,
            Err(error) => {
                if let Some(error) = refused::new_error(&mut self.key_error, Some(error.to_string())) {
                    error!(error, "the API keys stay as they were");
                }
                return;
            }
        };
        self.key_error = None;
        let [added, removed, replaced] = differences(&self.config.keys, &keys);
        if added + removed + replaced == 0 {
            return;
        }
        (self.config.keys, self.config.dev_key) = (keys, dev_key);
        self.settings.replace(Settings::of(&self.config));
        self.set_keys(api_keys(&self.config)).await;
        self.configure_webhooks(&self.config).await;
        info!(
            keys_added = added,
            keys_removed = removed,
            keys_replaced = replaced,
            "API keys reloaded"
        );
    }
}

/// Reads the configuration again, with the log's level. Settings that wait for a restart are named
/// in the log. `None`, also with a line in the log, where the file cannot be used.
pub(super) fn read_changes(arguments: &cli::Serve, log: &Log, before: &Config) -> Option<Config> {
    let unusable =
        |error: &dyn Display| error!(%error, "the configuration stays as it was: the new one cannot be used");
    let config = Config::load(arguments).inspect_err(|error| unusable(error)).ok()?;
    log.set_level(&config.log.level)
        .inspect_err(|error| unusable(error))
        .ok()?;
    config.warnings.iter().for_each(|warning| warn!("{warning}"));
    let names = changes(&before.written, &config.written);
    for name in names.iter().filter(|name| !is_reloaded(name)) {
        warn!(
            setting = name,
            "changed in the configuration, but only a restart takes it over"
        );
    }
    Some(config)
}

/// The number of keys that are new, gone, and have another secret.
fn differences(before: &Keys, after: &Keys) -> [usize; 3] {
    let added = after.keys().filter(|key| !before.contains_key(*key));
    let removed = before.keys().filter(|key| !after.contains_key(*key));
    let replaced = after
        .iter()
        .filter(|(key, secret)| before.get(*key).is_some_and(|before| before != *secret));
    [added.count(), removed.count(), replaced.count()]
}
