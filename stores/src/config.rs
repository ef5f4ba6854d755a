//! The section of the configuration that names the store.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::store::DEADLINE;

/// The store of a cluster, as the configuration names it: `memory`, `etcd: {…}` or `redis: {…}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    /// In this process, for one machine alone.
    #[default]
    Memory,
    /// etcd, version 3.4 or newer.
    Etcd(EtcdConfig),
    /// Redis, version 6.2 or newer.
    Redis(RedisConfig),
}

/// The way to etcd.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EtcdConfig {
    /// URLs of the members, `http://` or `https://`.
    pub endpoints: Vec<String>,
    /// A file in PEM with the authorities that sign the members' certificates.
    pub ca: Option<PathBuf>,
    /// A file in PEM with the certificate that is shown to the members.
    pub certificate: Option<PathBuf>,
    /// A file in PEM with the certificate's key.
    pub key: Option<PathBuf>,
    /// The user's name, which needs a password.
    pub username: Option<String>,
    /// The user's password, which no log shows.
    pub password: Option<String>,
    /// The time in which a call answers or fails, in milliseconds; 2000 by default.
    pub deadline_ms: Option<u64>,
}

/// The way to Redis, in the words of LiveKit's section `redis`.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedisConfig {
    /// `host:port` of the server; not read where there are Sentinels.
    pub address: String,
    /// The user's name, which needs a password.
    pub username: Option<String>,
    /// The user's password, which no log shows.
    pub password: Option<String>,
    /// The number of the database.
    pub db: i64,
    /// Whether the connection is TLS, with the system's authorities.
    pub use_tls: bool,
    /// The name under which Sentinels know the master.
    pub sentinel_master_name: Option<String>,
    /// `host:port` of the Sentinels, asked in this order.
    pub sentinel_addresses: Vec<String>,
    /// The user at the Sentinels.
    pub sentinel_username: Option<String>,
    /// The password at the Sentinels.
    pub sentinel_password: Option<String>,
    /// `host:port` of the nodes of a Redis Cluster, which is refused.
    pub cluster_addresses: Vec<String>,
    /// The word in braces with which all keys begin; `weir` by default.
    pub prefix: Option<String>,
    /// The time in which a call answers or fails, in milliseconds; 2000 by default.
    pub deadline_ms: Option<u64>,
}

// A password is in no log.
impl fmt::Debug for EtcdConfig {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("EtcdConfig")
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = to.debug_struct("RedisConfig");
        shown
            .field("address", &self.address)
            .field("sentinel_addresses", &self.sentinel_addresses);
        shown.finish_non_exhaustive()
    }
}

/// A configuration that makes no store, in a sentence for the operator.
#[derive(Debug)]
pub struct OpenError(pub(crate) String);

impl OpenError {
    pub(crate) fn file(name: &str, path: &Path, error: impl fmt::Display) -> Self {
        Self(format!("cannot read {} of `{name}`: {error}", path.display()))
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "cluster store: {}", self.0)
    }
}

impl Error for OpenError {}

pub(crate) fn deadline(ms: Option<u64>) -> Result<Duration, OpenError> {
    match ms {
        None => Ok(DEADLINE),
        Some(ms @ 10..=60_000) => Ok(Duration::from_millis(ms)),
        Some(_) => Err(OpenError("`deadline_ms` has to be from 10 to 60000".into())),
    }
}
