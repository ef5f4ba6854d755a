//! Why there is no configuration.

use std::fmt;
use std::net::SocketAddr;

use super::yaml::Fault;
use crate::os::refused;

/// The reason why a configuration is invalid, as a sentence for the operator.
#[derive(Debug)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    Unreadable(String, std::io::Error),
    /// The file is no file of settings. Its errors may be logged, so they show no secrets.
    Settings(String, Vec<Fault>),
    /// A file with a secret is malformed, for a reason.
    Invalid(String, &'static str),
    /// A key is not written "key:secret".
    Key,
    /// There are no API keys, so no tokens would be accepted.
    NoKeys,
    /// The secrets of these keys are too short to be secret.
    ShortSecrets(Vec<String>),
    /// These keys have quotas, and are not among the API keys.
    Quotas(Vec<String>),
    /// Control of calls would be open to other machines, and no networks are allowed.
    SipForEverybody(SocketAddr),
    /// This machine has no address for the media of SIP calls.
    SipNowhere,
    /// Names in `/metrics` without a token, or with a weak one, would be readable by anybody.
    NamesForEverybody,
    /// `/metrics` cannot be both open to anybody and protected by a token.
    OpenAndGuarded,
    /// This limit is zero, so nobody could connect.
    Zero(&'static str),
    /// The interval of pings is 0, or not below their timeout.
    Pings(u16, u16),
    /// Webhooks cannot be sent as they are configured.
    Webhook(String),
    /// Nothing can be served over TLS as it is configured.
    Tls(String),
    /// The offload is a switch, and none is described.
    NoSwitch,
    /// The TURN server is not described as it has to be.
    Turn(&'static str),
    /// The machine cannot belong to a cluster as it is described.
    Cluster(String),
    /// No store of a cluster can be made as it is described.
    Store(stores::OpenError),
    /// Media cannot have several UDP ports, and what to do.
    MediaPorts(&'static str),
    /// The TCP port of media is also another port, which the text names.
    TcpPort(u16, &'static str),
    /// Two settings name the same port.
    SamePort(u16, [&'static str; 2]),
}

impl ConfigError {
    /// The setting that it is about, by its dotted name, unless it is about a file or an argument.
    pub(super) fn key(&self) -> Option<&'static str> {
        match self {
            ConfigError::Unreadable(..) | ConfigError::Settings(..) | ConfigError::Invalid(..) | ConfigError::Key => {
                None
            }
            ConfigError::NoKeys | ConfigError::ShortSecrets(_) => Some("keys"),
            ConfigError::Quotas(_) => Some("quotas.keys"),
            ConfigError::SipForEverybody(_) => Some("sip.allow"),
            ConfigError::SipNowhere => Some("sip.interfaces"),
            ConfigError::NamesForEverybody => Some("metrics.names"),
            ConfigError::OpenAndGuarded => Some("metrics.open"),
            ConfigError::Zero(name) => Some(name),
            ConfigError::Pings(..) => Some("signalling"),
            ConfigError::Webhook(_) => Some("webhook"),
            ConfigError::Tls(_) => Some("tls"),
            ConfigError::NoSwitch => Some("rtc.offload"),
            ConfigError::Turn(_) => Some("turn"),
            ConfigError::Cluster(_) => Some("cluster"),
            ConfigError::Store(_) => Some("cluster.store"),
            ConfigError::MediaPorts(_) => Some("rtc.port"),
            ConfigError::TcpPort(..) => Some("rtc.tcp_port"),
            ConfigError::SamePort(_, [_, name]) => Some(*name),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Unreadable(file, error) => f.write_str(&refused::file(file.as_ref(), error)),
            ConfigError::Settings(file, faults) => {
                let lines = faults.iter().map(|fault| match &fault.key {
                    Some(key) => format!("{file}:{}: {key}: {}", fault.line, fault.message),
                    None => format!("{file}:{}: {}", fault.line, fault.message),
                });
                f.write_str(&lines.collect::<Vec<String>>().join("\n"))
            }
            ConfigError::Invalid(file, why) => write!(f, "{file}: {why}"),
            ConfigError::Key => write!(f, "an API key is written \"key:secret\""),
            ConfigError::NoKeys => {
                write!(
                    f,
                    "no API keys: set `keys:` or `key_file:` in the configuration file, or WEIR_KEYS, or use --dev to try things out"
                )
            }
            ConfigError::ShortSecrets(keys) => {
                write!(
                    f,
                    "the secret of API key {} is shorter than 32 characters: anybody could guess it",
                    keys.join(", ")
                )
            }
            ConfigError::Quotas(keys) => {
                write!(
                    f,
                    "`quotas: {{keys}}` limits {}, which is no API key of `keys:` or `key_file:`",
                    keys.join(", ")
                )
            }
            ConfigError::SipForEverybody(address) => {
                write!(
                    f,
                    "`sip:` listens on {address}: say in its `allow` which addresses or networks may control calls"
                )
            }
            ConfigError::SipNowhere => {
                write!(f, "`sip:` needs an interface: say `interfaces: [{{address: ...}}]`")
            }
            ConfigError::NamesForEverybody => {
                write!(
                    f,
                    "`metrics: {{names: true}}` needs a `token` of 16 characters or more beside it"
                )
            }
            ConfigError::OpenAndGuarded => {
                write!(f, "`metrics:` has a `token` and is `open`: it can be one of the two")
            }
            ConfigError::Zero(_) => write!(f, "0 is given, and nobody could connect: name a value above 0"),
            ConfigError::Pings(interval, timeout) => write!(
                f,
                "{interval} and {timeout} are given, and a `ping_interval` above 0 and a `ping_timeout` above it are needed"
            ),
            ConfigError::Webhook(why) => write!(f, "`webhook:` {why}"),
            ConfigError::Tls(why) => write!(f, "`tls:` {why}"),
            ConfigError::NoSwitch => write!(
                f,
                "`rtc: {{offload: p4}}` needs the switch and its ports in `p4:` beside it"
            ),
            ConfigError::Turn(why) => write!(f, "`turn:` {why}"),
            ConfigError::Cluster(why) => write!(f, "`cluster:` {why}"),
            ConfigError::Store(error) => error.fmt(f),
            ConfigError::MediaPorts(why) => write!(f, "`rtc.port` names several ports, and {why}"),
            ConfigError::TcpPort(port, other) => write!(
                f,
                "port {port} is both `rtc.tcp_port` and {other}: name another, or 0 for no media over TCP"
            ),
            ConfigError::SamePort(port, [first, second]) => {
                write!(f, "port {port} is both `{first}` and `{second}`: each needs its own")
            }
        }
    }
}

impl std::error::Error for ConfigError {}
