//! The configuration: defaults, then the file, then the environment, then flags.

mod changes;
mod cluster;
mod error;
mod filter;
mod front;
mod keys;
mod log;
mod media;
mod ports;
mod quotas;
mod recorder;
mod regions;
mod report;
mod rooms;
mod secrets;
mod sip;
mod stun_server;
mod tls;
mod turn;
mod webhook;
mod yaml;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub(crate) use changes::{changes, is_reloaded};
#[cfg(test)]
pub(crate) use cluster::TrunkEncryption;
pub(crate) use cluster::{Cluster, ClusterFiles, Listener};
pub(crate) use error::ConfigError;
pub(crate) use filter::Filter;
pub(crate) use front::{Limits, Metrics, Signalling};
pub(crate) use keys::{ApiSecrets, KeySources, read as read_keys};
pub(crate) use log::Log;
use media::RtcFile;
pub(crate) use media::{Crypto, Rtc};
pub(crate) use ports::services;
pub(crate) use quotas::Quotas;
pub(crate) use recorder::Recorder;
pub(crate) use regions::{Regions, is_region};
pub(crate) use report::{Problem, Report};
pub(crate) use rooms::{Audio, Room};
pub(crate) use secrets::Keys;
use sip::Seconds;
pub(crate) use sip::{Network, PortRange, Sip};
pub(crate) use stun_server::StunServer;
pub(crate) use tls::Tls;
use turn::TurnFile;
pub(crate) use turn::{Turn, URLS_MAX};
pub(crate) use webhook::{Webhook, is_url};

use crate::cli;

/// The key that development mode brings along where there is no other, and its secret.
pub(crate) const DEV_KEY: &str = "devkey";
pub(crate) const DEV_SECRET: &str = "secret";

/// The settings that are secrets, or have them in it.
const SECRETS: [&str; 6] = [
    "keys",
    "metrics.token",
    "turn.secret",
    "webhook.urls",
    "tls.acme",
    "cluster.store",
];

/// The whole configuration, complete and checked.
#[derive(Debug)]
pub(crate) struct Config {
    /// Development mode.
    pub dev: bool,
    /// The key the page's tokens are signed with, in development. Only where that is the one
    /// development mode brings along.
    pub dev_key: Option<String>,
    /// Addresses to listen on.
    pub bind: Vec<IpAddr>,
    /// HTTP and WebSocket.
    pub port: u16,
    /// The same over TLS, if there is to be any.
    pub tls: Option<Tls>,
    /// Media.
    pub rtc: Rtc,
    /// The keys that may sign tokens.
    pub keys: Keys,
    /// The places where these keys stand.
    pub key_sources: KeySources,
    /// The rooms of API keys that are not for all rooms.
    pub key_rooms: BTreeMap<String, Vec<String>>,
    /// Limits of API keys.
    pub quotas: Quotas,
    /// Rooms.
    pub room: Room,
    /// Voices.
    pub audio: Audio,
    /// Timelines of participants, for `weir explain`.
    pub recorder: Recorder,
    /// Calls of SIP proxies, if there are to be any.
    pub sip: Option<Sip>,
    /// A TURN server for clients, if there is one.
    pub turn: Option<Turn>,
    /// Access to `/metrics`.
    pub metrics: Metrics,
    /// Limits for clients.
    pub limits: Limits,
    /// The connections of signalling.
    pub signalling: Signalling,
    /// The proxies whose forwarding headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// The receivers of events.
    pub webhook: Webhook,
    /// How long participants and calls may stay after the signal to end, if nobody may join any
    /// more. Zero: they are told to reconnect at once.
    pub drain_timeout: Duration,
    /// The cluster that the machine belongs to, if it does.
    pub cluster: Option<Cluster>,
    /// Logging.
    pub log: Log,
    /// The file as it is written, to compare a later one with.
    pub written: serde_json::Value,
    /// Warnings for the operator.
    pub warnings: Vec<String>,
}

/// The file's form. Unknown keys are errors: a misspelt limit must not be silently no limit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    #[serde(alias = "bind_addresses")]
    bind: Vec<IpAddr>,
    port: Option<u16>,
    tls: Option<Tls>,
    rtc: RtcFile,
    keys: Keys,
    key_file: Option<PathBuf>,
    key_rooms: BTreeMap<String, Vec<String>>,
    quotas: Quotas,
    room: Room,
    audio: Audio,
    recorder: Recorder,
    sip: Option<Sip>,
    turn: Option<TurnFile>,
    metrics: Metrics,
    limits: Limits,
    signalling: Signalling,
    trusted_proxies: Vec<Network>,
    webhook: Webhook,
    drain_timeout: Option<Seconds>,
    cluster: Option<cluster::ClusterFile>,
    log: Log,
}

impl Config {
    /// Puts the configuration together.
    ///
    /// Errors: the first one that is found.
    pub(crate) fn load(arguments: &cli::Serve) -> Result<Self, ConfigError> {
        Self::read(arguments).map_err(|mut errors| errors.swap_remove(0))
    }

    /// The same.
    ///
    /// Errors: all that are found, at least one.
    fn read(arguments: &cli::Serve) -> Result<Self, Vec<ConfigError>> {
        let mut errors = Errors::default();
        let (file, written) = match arguments.config.as_deref() {
            None => Default::default(),
            Some(path) => match File::read(path, &mut errors) {
                Some(read) => read,
                None => return Err(errors.0),
            },
        };
        let mut warnings = warnings(arguments, &file);
        let key_file = arguments.key_file.as_deref().or(file.key_file.as_deref());
        warnings.extend(key_file.and_then(secrets::warn_of_readers));
        let cluster_files = file.cluster.iter().flat_map(cluster::ClusterFile::secret_files);
        warnings.extend(cluster_files.filter_map(secrets::warn_of_readers));
        let key_sources = KeySources {
            dev: arguments.dev,
            file: key_file.map(Path::to_owned),
            configured: file.keys,
            given: errors.of(keys::given(&arguments.keys)).unwrap_or_default(),
        };
        let secrets = errors.of(match key_sources.read() {
            Err(ConfigError::NoKeys) if arguments.is_keyless => Ok(ApiSecrets::default()),
            read => read,
        });
        let cluster = errors.of(file
            .cluster
            .map(|cluster| cluster.complete(file.sip.is_some()))
            .transpose());
        errors.of(file.metrics.check());
        errors.0.extend(file.limits.check());
        errors.of(file.signalling.check());
        // Without keys it would seem to name none.
        if let Some(secrets) = &secrets {
            errors.of(file.webhook.check(&secrets.keys));
            errors.of(file.quotas.check(&secrets.keys));
        }
        let bind = first_of([arguments.bind.clone(), file.bind]).unwrap_or_else(|| default_bind(arguments));
        let port = arguments.port.or(file.port).unwrap_or(7880);
        let tls = errors.of(Tls::complete(file.tls, arguments.dev, arguments.dev_tls, port));
        let mut rtc = errors.of(file.rtc.complete(arguments));
        let sip = rtc.as_ref().and_then(|rtc| {
            let media = || sip::media_interface(&bind, &rtc.node_ips);
            errors.of(file.sip.map(|sip| sip.complete(media)).transpose())
        });
        let turn = tls
            .as_ref()
            .and_then(|tls| errors.of(file.turn.map(|turn| turn.complete(tls.as_ref())).transpose()));
        if let (Some(rtc), Some(sip), Some(tls), Some(turn)) = (&mut rtc, &sip, &tls, &turn) {
            let checked = ports::check(&bind, port, rtc, sip.as_ref(), tls.as_ref(), turn.as_ref());
            warnings.extend(errors.of(checked).flatten());
        }
        let (Some(secrets), Some(tls), Some(rtc), Some(sip), Some(turn), Some(cluster), true) =
            (secrets, tls, rtc, sip, turn, cluster, errors.0.is_empty())
        else {
            return Err(errors.without_those_that_follow());
        };
        let ApiSecrets { keys, dev_key } = secrets;
        Ok(Config {
            dev: arguments.dev,
            dev_key,
            bind,
            port,
            tls,
            rtc,
            keys,
            key_sources,
            key_rooms: file.key_rooms,
            quotas: file.quotas,
            room: file.room,
            audio: file.audio,
            recorder: file.recorder,
            sip,
            turn,
            metrics: file.metrics,
            limits: file.limits,
            signalling: file.signalling,
            trusted_proxies: file.trusted_proxies,
            webhook: file.webhook,
            cluster,
            drain_timeout: file.drain_timeout.map_or(Duration::ZERO, |timeout| timeout.0),
            log: Log {
                level: arguments.log.clone().unwrap_or(file.log.level),
                json: arguments.log_json || file.log.json,
            },
            written,
            warnings,
        })
    }
}

impl File {
    /// The file, and the same without regard to what it means. Settings with an error are left out,
    /// and told in `errors`.
    fn read(path: &Path, errors: &mut Errors) -> Option<(Self, serde_json::Value)> {
        let name = path.display().to_string();
        let text = errors.of(secrets::read(path))?;
        let reading = Self::parse(&text);
        if !reading.faults.is_empty() {
            errors.0.push(ConfigError::Settings(name, reading.faults));
        }
        let mut written: serde_json::Value = serde_saphyr::from_str(&text).unwrap_or_default();
        // Secrets are taken over in any case, and need no second copy.
        if let Some(written) = written.as_object_mut() {
            written.remove("keys");
            for (section, secret) in [("metrics", "token"), ("turn", "secret"), ("cluster", "store")] {
                let section = written.get_mut(section).and_then(serde_json::Value::as_object_mut);
                section.map(|section| section.remove(secret));
            }
        }
        Some((reading.value?, written))
    }

    fn parse(text: &str) -> yaml::Reading<Self> {
        yaml::read(text, &SECRETS)
    }
}

/// The errors that are found while a configuration is put together.
#[derive(Default)]
struct Errors(Vec<ConfigError>);

impl Errors {
    /// The value of a result; its error is added.
    fn of<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// All but those about settings that an error of the file has left out.
    fn without_those_that_follow(mut self) -> Vec<ConfigError> {
        let faults = self.0.iter().flat_map(|error| match error {
            ConfigError::Settings(_, faults) => faults.as_slice(),
            _ => &[],
        });
        let left_out: Vec<String> = faults.filter_map(|fault| fault.key.clone()).collect();
        let is_around = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let follows = |key: &str| {
            left_out
                .iter()
                .any(|left_out| is_around(key, left_out) || is_around(left_out, key))
        };
        self.0.retain(|error| !error.key().is_some_and(follows));
        self.0
    }
}

/// Settings that are legal and unwise.
fn warnings(arguments: &cli::Serve, file: &File) -> Vec<String> {
    let has_secrets = !file.keys.is_empty() || file.metrics.token.is_some() || file.turn.is_some();
    let config = arguments.config.as_deref().filter(|_| has_secrets);
    let mut warnings: Vec<String> = config.and_then(secrets::warn_of_readers).into_iter().collect();
    if cli::has_keys_argument() {
        warnings
            .push("everybody on this machine can see secrets on a command line: use key_file or WEIR_KEYS".to_owned());
    }
    let has_keys = !file.keys.is_empty() || file.key_file.is_some();
    if arguments.dev && (has_keys || arguments.key_file.is_some() || !arguments.keys.is_empty()) {
        warnings.push("with API keys of yours development mode gives the page no tokens".to_owned());
    }
    warnings
}

fn first_of(choices: [Vec<IpAddr>; 2]) -> Option<Vec<IpAddr>> {
    choices.into_iter().find(|choice| !choice.is_empty())
}

/// In development mode only this machine may connect, unless TLS was asked for; otherwise anybody.
/// Both families, because `localhost` may be either.
fn default_bind(arguments: &cli::Serve) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = match arguments.dev && arguments.dev_tls.is_none() {
        true => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        false => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
    };
    // A machine without IPv6 can still start, unless IPv6 was configured.
    let exists = |address: &IpAddr| address.is_ipv4() || UdpSocket::bind((*address, 0)).is_ok();
    addresses.retain(exists);
    addresses
}

#[cfg(test)]
mod tests;
