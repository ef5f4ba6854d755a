//! SIGHUP of a media node applies changes of the configuration, as far as that is possible during
//! calls.

use ::cluster::MediaRecord;
use tokio::sync::watch;
use tracing::{info, warn};

use super::entry;
use crate::cli;
use crate::clients::connection_slots::ConnectionSlots;
use crate::cluster::tls::FollowedFiles;
use crate::config::Config;
use crate::log::Log;
use crate::serve::reload::read_changes;
use crate::settings::{Current, Settings};

/// Everything that a new configuration reaches.
pub(super) struct Reload<'a> {
    /// The command line, which names the file.
    pub arguments: &'a cli::Serve,
    /// The log, which has a level.
    pub log: &'a Log,
    /// The settings of requests.
    pub settings: Current,
    /// The places of connections.
    pub slots: ConnectionSlots,
    /// The certificate of this machine.
    pub certificates: FollowedFiles,
    /// The record in the store.
    pub record: watch::Sender<MediaRecord>,
    /// The configuration there is.
    pub config: Config,
}

impl Reload<'_> {
    /// Reads the configuration again. One that cannot be read or understood changes nothing.
    pub(super) async fn run(&mut self) {
        let Some(config) = read_changes(self.arguments, self.log, &self.config) else {
            return;
        };
        self.settings.replace(Settings::of(&config));
        self.slots.set_limits((&config.limits).into());
        if let (Some(before), Some(cluster)) = (&self.config.cluster, &config.cluster) {
            // The file that is kept to compare with has no secrets, and no store.
            if before.store != cluster.store {
                warn!(
                    setting = "cluster.store",
                    "changed in the configuration, but only a restart takes it over"
                );
            }
            let (capacity, region) = (entry::capacity(cluster, &config), entry::region(cluster));
            let move_within = entry::move_within(cluster, &config);
            self.record.send_if_modified(|record| {
                let before = record.clone();
                (record.capacity, record.region) = (capacity, region);
                record.move_within = move_within;
                record.calls_only = entry::calls_only(cluster);
                *record != before
            });
            self.certificates.set_files(cluster.files.clone()).await;
        }
        info!(log = config.log.level, "configuration reloaded");
        self.config = config;
    }
}
