//! What an operator may set: defaults, then the file, then the environment, then flags.

mod media;
mod rooms;
mod sip;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use media::RtcFile;
pub use media::{Dataplane, Ebpf, KernelPath, Offload, Rooms, Rtc};
pub use rooms::{Audio, Room};
pub use sip::{Interface, Sip};

use crate::cli;

/// The whole configuration, complete and checked.
#[derive(Debug)]
pub struct Config {
    /// Development mode.
    pub dev: bool,
    /// Addresses to listen on.
    pub bind: Vec<IpAddr>,
    /// HTTP and WebSocket.
    pub port: u16,
    /// Media.
    pub rtc: Rtc,
    /// Who may sign tokens.
    pub keys: BTreeMap<String, String>,
    /// Rooms.
    pub room: Room,
    /// Voices.
    pub audio: Audio,
    /// Calls of SIP proxies, if there are to be any.
    pub sip: Option<Sip>,
    /// Who may see what of `/metrics`.
    pub metrics: Metrics,
    /// Logging.
    pub log: Log,
}

/// The file's form. Unknown keys are errors: a misspelt limit must not be silently no limit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    bind: Vec<IpAddr>,
    port: Option<u16>,
    rtc: RtcFile,
    keys: BTreeMap<String, String>,
    room: Room,
    audio: Audio,
    sip: Option<Sip>,
    metrics: Metrics,
    log: Log,
}

/// Settings of `/metrics`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// What a request must bring as its bearer token; `None` shows them to everybody who reaches the port.
    pub token: Option<String>,
    /// Whether there are lines for each receiver, with its room and identity.
    pub names: bool,
}

/// Log settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// A level, or filters.
    pub level: String,
    /// One JSON object a line.
    pub json: bool,
}

impl Default for Log {
    fn default() -> Self {
        Log {
            level: "info".to_owned(),
            json: false,
        }
    }
}

/// Why there is no configuration. Each is a sentence for the operator, who must act.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Unreadable(String, std::io::Error),
    /// The file is not what it should be; says the line.
    Invalid(String, String),
    /// A key is not written "key:secret".
    Key,
    /// There is nobody whose tokens would be accepted.
    NoKeys,
    /// A secret is too short to be one.
    ShortSecret(String),
    /// Calls could be controlled from other machines, and nobody said from which.
    SipForEverybody(SocketAddr),
    /// This machine has no address for the media of SIP calls.
    SipNowhere,
    /// Names in `/metrics` without a token, or with one that could be guessed, would be everybody's to read.
    NamesForEverybody,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Unreadable(file, error) => write!(f, "cannot read {file}: {error}"),
            ConfigError::Invalid(file, error) => write!(f, "{file}: {error}"),
            ConfigError::Key => write!(f, "an API key is written \"key:secret\""),
            ConfigError::NoKeys => {
                write!(
                    f,
                    "no API keys: set `keys:` in the configuration file or WEIR_KEYS, or use --dev to try things out"
                )
            }
            ConfigError::ShortSecret(key) => {
                write!(
                    f,
                    "the secret of API key {key} is shorter than 32 characters: anybody could guess it"
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
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Puts the configuration together.
    pub fn load(arguments: cli::Serve) -> Result<Self, ConfigError> {
        let file = arguments
            .config
            .as_deref()
            .map(File::read)
            .transpose()?
            .unwrap_or_default();
        let mut keys = file.keys;
        for pair in &arguments.keys {
            let (key, secret) = pair.split_once(':').ok_or(ConfigError::Key)?;
            keys.insert(key.trim().to_owned(), secret.trim().to_owned());
        }
        check_keys(&keys, arguments.dev)?;
        file.metrics.check()?;
        if arguments.dev && keys.is_empty() {
            keys.insert("devkey".to_owned(), "secret".to_owned());
        }
        let bind = first_of([arguments.bind, file.bind]).unwrap_or_else(|| default_bind(arguments.dev));
        let node_ips = first_of([arguments.node_ip, file.rtc.node_ip]).unwrap_or_default();
        let sip = file.sip.map(|sip| sip.complete(|| media_interface(&bind, &node_ips)));
        Ok(Config {
            dev: arguments.dev,
            bind,
            port: arguments.port.or(file.port).unwrap_or(7880),
            rtc: Rtc {
                port: arguments.rtc_port.or(file.rtc.port).unwrap_or(7882),
                node_ips,
                workers: arguments
                    .workers
                    .or(file.rtc.workers)
                    .filter(|workers| *workers > 0)
                    .unwrap_or_else(cores),
                coalesce: media::coalesce(file.rtc.coalesce_us),
                precedence: file.rtc.precedence.unwrap_or(true),
                cpu_latency: file.rtc.cpu_latency_us,
                dataplane: file.rtc.dataplane,
                afxdp: file.rtc.afxdp,
                offload: file.rtc.offload,
                ebpf: file.rtc.ebpf,
                adaptation: file.rtc.adaptation.unwrap_or(true),
                policy: file.rtc.policy,
                rewriter: file.rtc.rewriter,
                playout_delay_max: Duration::from_millis(file.rtc.playout_delay_max.unwrap_or(400)),
                last_n: file.rtc.last_n,
                clear_rtp: file.rtc.clear_rtp,
            },
            keys,
            room: file.room,
            audio: file.audio,
            sip: sip.transpose()?,
            metrics: file.metrics,
            log: Log {
                level: arguments.log.unwrap_or(file.log.level),
                json: arguments.log_json || file.log.json,
            },
        })
    }
}

impl File {
    fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable(name.clone(), error))?;
        Self::parse(&name, &text)
    }

    fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Invalid(name.to_owned(), error.to_string()))
    }
}

impl Metrics {
    fn check(&self) -> Result<(), ConfigError> {
        let guarded = self.token.as_ref().is_some_and(|token| token.len() >= 16);
        if self.names && !guarded {
            return Err(ConfigError::NamesForEverybody);
        }
        Ok(())
    }
}

fn check_keys(keys: &BTreeMap<String, String>, dev: bool) -> Result<(), ConfigError> {
    if dev {
        return Ok(());
    }
    if keys.is_empty() {
        return Err(ConfigError::NoKeys);
    }
    match keys.iter().find(|(_, secret)| secret.len() < 32) {
        Some((key, _)) => Err(ConfigError::ShortSecret(key.clone())),
        None => Ok(()),
    }
}

fn first_of(choices: [Vec<IpAddr>; 2]) -> Option<Vec<IpAddr>> {
    choices.into_iter().find(|choice| !choice.is_empty())
}

/// Development is nobody else's business; otherwise everybody is welcome. Both families, because `localhost` is either.
fn default_bind(dev: bool) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = match dev {
        true => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        false => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
    };
    // A machine without IPv6 is no reason not to start, as long as nobody asked for it.
    let exists = |address: &IpAddr| address.is_ipv4() || UdpSocket::bind((*address, 0)).is_ok();
    addresses.retain(exists);
    addresses
}

/// Where media of SIP calls goes in and out when nobody says: at an address that is bound, or else this machine's first, which
/// descriptions call what clients are told.
fn media_interface(bind: &[IpAddr], node_ips: &[IpAddr]) -> Option<Interface> {
    let bound = bind.iter().copied().find(|address| !address.is_unspecified());
    let own = || {
        let interfaces = if_addrs::get_if_addrs().ok()?;
        let mut addresses = interfaces.iter().map(if_addrs::Interface::ip);
        addresses.find(|address| address.is_ipv4() && !address.is_loopback())
    };
    let address = bound.or_else(own)?;
    let mut advertised = node_ips
        .iter()
        .copied()
        .filter(|other| other.is_ipv4() == address.is_ipv4());
    Some(Interface::default_at(
        address,
        advertised.find(|other| *other != address),
    ))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::media::{Policy, Rewriter};
    use super::*;

    fn error(text: &str) -> String {
        File::parse("weir.yaml", text).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line() {
        let message = error("port: 7880\nrtc:\n  porrt: 7882\n");
        assert!(message.contains("porrt") && message.contains('3'), "{message}");
        let message = error("port: 7880\nlimits: {}\n");
        assert!(message.contains("limits") && message.contains('2'), "{message}");
    }

    #[test]
    fn a_rewriter_has_a_name() {
        let rewriter = |text: &str| File::parse("weir.yaml", text).unwrap().rtc.rewriter;
        assert_eq!(rewriter("rtc: {}\n"), Rewriter::Exact);
        assert_eq!(rewriter("rtc: {rewriter: s-lm}\n"), Rewriter::SLm);
        assert_eq!(rewriter("rtc: {rewriter: s-lr}\n"), Rewriter::SLr);
        assert!(error("rtc: {rewriter: guess}\n").contains("guess"));
    }

    #[test]
    fn a_policy_has_a_name() {
        let policy = |text: &str| File::parse("weir.yaml", text).unwrap().rtc.policy;
        assert_eq!(policy("rtc: {}\n"), Policy::Utility);
        assert_eq!(policy("rtc: {policy: thresholds}\n"), Policy::Thresholds);
        assert!(error("rtc: {policy: greed}\n").contains("greed"));
    }

    #[test]
    fn packets_go_through_sockets_unless_somebody_says_otherwise() {
        let rtc = |text: &str| File::parse("weir.yaml", text).unwrap().rtc;
        assert_eq!(rtc("rtc: {}\n").dataplane, Dataplane::Udp);
        let afxdp = rtc("rtc: {dataplane: afxdp, afxdp: {interfaces: [eth0, eth1]}}\n");
        assert_eq!(afxdp.dataplane, Dataplane::Afxdp);
        assert_eq!(afxdp.afxdp.interfaces, ["eth0", "eth1"]);
        assert!(error("rtc: {dataplane: magic}\n").contains("magic"));
        assert!(error("rtc: {afxdp: {interface: eth0}}\n").contains("interface"));
        assert_eq!(rtc("rtc: {}\n").offload, Offload::None);
        let ebpf = rtc("rtc: {offload: ebpf, ebpf: {interfaces: [eth0], keep: 5}}\n");
        assert_eq!((ebpf.offload, ebpf.ebpf.keep), (Offload::Ebpf, 5));
        assert_eq!(ebpf.ebpf.pins, std::path::Path::new("/sys/fs/bpf/weir"));
        assert!(error("rtc: {offload: magic}\n").contains("magic"));
    }

    #[test]
    fn flags_come_before_the_file() {
        let directory = std::env::temp_dir().join(format!("weir-config-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("weir.yaml");
        let secret = "0123456789abcdef0123456789abcdef";
        std::fs::write(
            &path,
            format!("port: 1\nrtc: {{port: 2, workers: 3}}\nkeys: {{a: {secret}}}\n"),
        )
        .unwrap();
        let arguments = cli::Serve {
            config: Some(path),
            port: Some(9),
            ..Default::default()
        };
        let config = Config::load(arguments).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        assert_eq!((config.port, config.rtc.port, config.rtc.workers), (9, 2, 3));
        assert_eq!(config.keys["a"], secret);
    }

    #[test]
    fn names_in_metrics_need_a_token() {
        let metrics = |text: &str| File::parse("weir.yaml", text).unwrap().metrics.check();
        assert!(metrics("metrics: {}\n").is_ok());
        for unguarded in ["metrics: {names: true}\n", "metrics: {names: true, token: short}\n"] {
            assert!(matches!(metrics(unguarded), Err(ConfigError::NamesForEverybody)));
        }
        assert!(metrics("metrics: {names: true, token: 0123456789abcdef}\n").is_ok());
    }

    #[test]
    fn without_keys_there_is_no_server_except_in_development() {
        assert!(matches!(Config::load(cli::Serve::default()), Err(ConfigError::NoKeys)));
        let short = cli::Serve {
            keys: vec!["a:b".to_owned()],
            ..Default::default()
        };
        assert!(matches!(Config::load(short), Err(ConfigError::ShortSecret(_))));
        let dev = Config::load(cli::Serve {
            dev: true,
            ..Default::default()
        })
        .unwrap();
        assert_eq!(dev.keys["devkey"], "secret");
        assert!(dev.bind.iter().all(|address| address.is_loopback()));
    }
}
