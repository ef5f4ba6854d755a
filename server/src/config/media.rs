//! The configuration of media.

use std::net::IpAddr;
use std::time::Duration;

use serde::Deserialize;

use super::{ConfigError, Filter, Network, StunServer, first_of, ports};
use crate::cli;
use crate::dataplane::{self, Base, MediaPorts, Offload, afxdp, ebpf, p4};

/// The file's form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RtcFile {
    pub(super) port: Option<MediaPorts>,
    pub(super) tcp_port: Option<u16>,
    pub(super) node_ip: Vec<IpAddr>,
    pub(super) use_external_ip: bool,
    pub(super) stun_servers: Vec<StunServer>,
    pub(super) interfaces: Filter<String>,
    pub(super) ips: Filter<Network>,
    pub(super) workers: Option<usize>,
    pub(super) dataplane: Base,
    pub(super) afxdp: afxdp::Settings,
    pub(super) offload: Offload,
    pub(super) ebpf: ebpf::Settings,
    pub(super) p4: Option<p4::Settings>,
    pub(super) crypto: Crypto,
    pub(super) coalesce_us: u64,
    pub(super) realtime_workers: Option<bool>,
    pub(super) cpu_latency_us: Option<u32>,
    pub(super) adaptation: Option<bool>,
    pub(super) policy: Policy,
    pub(super) rewriter: Rewriter,
    pub(super) feedback: Feedback,
    pub(super) playout_delay_max: Option<u64>,
    pub(super) last_n: usize,
    pub(super) clear_rtp: bool,
}

/// The STUN servers that are asked unless others are named.
const STUN_SERVERS: [(&str, u16); 2] = [("stun.l.google.com", 19_302), ("global.stun.twilio.com", 3478)];

/// Why there cannot be several ports, and what to do.
const ONE_FOR_RINGS: &str = "`dataplane: afxdp` takes packets of one port: name one";
const ONE_FOR_EACH: &str = "each is one worker's: leave `rtc.workers` out, or let it be as many";

/// Longer than this would be heard. Shape: microseconds.
const COALESCE_MAX: u64 = 5_000;

impl RtcFile {
    /// All settings of media; the command line's are preferred.
    ///
    /// Errors: those of [`dataplane`](Self::dataplane).
    pub(super) fn complete(self, arguments: &cli::Serve) -> Result<Rtc, ConfigError> {
        let named = arguments.rtc_port.clone().or_else(|| self.port.clone());
        let ports = named.unwrap_or(MediaPorts::one(ports::MEDIA));
        let tcp = ports::tcp(ports.first(), arguments.rtc_tcp_port.or(self.tcp_port));
        let dataplane = self.dataplane(arguments.workers, ports, tcp)?;
        Ok(Rtc {
            node_ips: first_of([arguments.node_ip.clone(), self.node_ip]).unwrap_or_default(),
            stun_servers: match (self.use_external_ip, self.stun_servers.is_empty()) {
                (false, _) => Vec::new(),
                (true, true) => STUN_SERVERS.map(|(host, port)| StunServer::new(host, port)).into(),
                (true, false) => self.stun_servers,
            },
            interfaces: self.interfaces,
            ips: self.ips,
            dataplane,
            cpu_latency: self.cpu_latency_us,
            crypto: self.crypto,
            adaptation: self.adaptation.unwrap_or(true),
            policy: self.policy,
            rewriter: self.rewriter,
            feedback: self.feedback,
            playout_delay_max: Duration::from_millis(self.playout_delay_max.unwrap_or(400)),
            last_n: self.last_n,
            clear_rtp: self.clear_rtp,
        })
    }

    /// The settings of the data plane, with this many workers if the command line says so.
    ///
    /// Errors: the offload is a switch, and none is described; there are several ports, and another
    /// number of workers, or AF_XDP.
    fn dataplane(
        &self,
        workers: Option<usize>,
        ports: MediaPorts,
        tcp: Option<dataplane::TcpPort>,
    ) -> Result<dataplane::Settings, ConfigError> {
        if self.offload == Offload::P4 && self.p4.is_none() {
            return Err(ConfigError::NoSwitch);
        }
        let named = workers.or(self.workers).filter(|workers| *workers > 0);
        let workers = match ports.count() {
            1 => named.unwrap_or_else(cores),
            _ if self.dataplane == Base::Afxdp => return Err(ConfigError::MediaPorts(ONE_FOR_RINGS)),
            count if named.is_some_and(|named| named != count) => {
                return Err(ConfigError::MediaPorts(ONE_FOR_EACH));
            }
            count => count,
        };
        Ok(dataplane::Settings {
            workers,
            ports,
            coalesce: Duration::from_micros(self.coalesce_us.min(COALESCE_MAX)),
            realtime_workers: self.realtime_workers.unwrap_or(true),
            tcp,
            base: self.dataplane,
            afxdp: self.afxdp.clone(),
            offload: self.offload,
            ebpf: self.ebpf.clone(),
            p4: self.p4.clone(),
        })
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Which implementation of AES-GCM encrypts media.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Crypto {
    /// Weir's own where the processor has AVX-512 with VAES, `ring` elsewhere.
    #[default]
    Auto,
    /// Always `ring`.
    Ring,
}

/// Media settings.
#[derive(Debug)]
pub(crate) struct Rtc {
    /// Addresses for candidates; empty means the machine's own.
    pub node_ips: Vec<IpAddr>,
    /// STUN servers to ask for the address of a NAT; none if it is not wanted.
    pub stun_servers: Vec<StunServer>,
    /// The interfaces whose addresses are used where none are named.
    pub interfaces: Filter<String>,
    /// The networks whose addresses are.
    pub ips: Filter<Network>,
    /// The data plane.
    pub dataplane: dataplane::Settings,
    /// The implementation that encrypts media.
    pub crypto: Crypto,
    /// Within how many microseconds processors are to wake up while media flows; as late as the
    /// machine likes where nothing is said.
    pub cpu_latency: Option<u32>,
    /// Whether receivers get only what their downlink carries.
    pub adaptation: bool,
    /// How that is divided among the videos that want it.
    pub policy: Policy,
    /// How the numbers close up of what a receiver gets less of than there is.
    pub rewriter: Rewriter,
    /// Whether a device may forward feedback about clear media by itself.
    pub feedback: Feedback,
    /// The longest playout delay for a receiver that loses packets; zero for none.
    pub playout_delay_max: Duration,
    /// The most videos one receiver is shown at a time; 0 is no limit.
    pub last_n: usize,
    /// Whether peers that offer media without encryption get it. For laboratories only.
    pub clear_rtp: bool,
}

/// How what a downlink carries is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// By what is gained for each bit.
    #[default]
    Utility,
    /// In equal shares, with fixed rates at which a video gets better or worse.
    Thresholds,
}

impl From<Policy> for agent::Policy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Utility => Self::Utility,
            Policy::Thresholds => Self::Thresholds,
        }
    }
}

/// The side that tells publishers of clear media about their receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// The agent.
    #[default]
    Terminated,
    /// A device that can, as far as that is correct.
    Proxied,
}

impl From<Feedback> for agent::Feedback {
    fn from(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Terminated => Self::Terminated,
            Feedback::Proxied => Self::Proxied,
        }
    }
}

/// The numbering of packets where frames are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewriter {
    /// By every packet received.
    #[default]
    Exact,
    /// By the newest frame that was sent.
    SLm,
    /// By that and three before it.
    SLr,
}

impl Rewriter {
    /// The method that numbers packets by the frames that are sent, if any.
    pub fn by_frames(self) -> Option<&'static str> {
        match self {
            Rewriter::Exact => None,
            Rewriter::SLm => Some("S-LM"),
            Rewriter::SLr => Some("S-LR"),
        }
    }
}

impl From<Rewriter> for ::dataplane::Rewriting {
    fn from(rewriter: Rewriter) -> Self {
        match rewriter {
            Rewriter::Exact => Self::Exact,
            Rewriter::SLm => Self::LowMemory,
            Rewriter::SLr => Self::LowRetransmission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    fn rtc(text: &str) -> RtcFile {
        File::parse(text).whole("weir.yaml").expect("a configuration").rtc
    }

    #[test]
    fn a_policy_has_a_name() {
        assert_eq!(rtc("rtc: {}\n").policy, Policy::Utility);
        assert_eq!(rtc("rtc: {policy: thresholds}\n").policy, Policy::Thresholds);
        let refusal = File::parse("rtc: {policy: greed}\n").whole("weir.yaml").err();
        assert!(refusal.is_some_and(|error| error.to_string().contains("greed")));
    }

    #[test]
    fn a_switch_is_described_where_it_is_the_offload() {
        let complete = |text: &str| rtc(text).complete(&cli::Serve::default());
        assert!(complete("rtc: {}\n").is_ok());
        let error = complete("rtc: {offload: p4}\n").unwrap_err().to_string();
        assert!(error.contains("p4"), "{error}");
    }

    #[test]
    fn several_ports_are_one_for_each_worker() {
        let complete = |text: &str| rtc(text).complete(&cli::Serve::default());
        for text in [
            "{port: 5000-5002}",
            "{port: \"5000-5002\", workers: 3}",
            "{port: 5000-5002, workers: 0}",
        ] {
            let dataplane = complete(&format!("rtc: {text}\n")).unwrap().dataplane;
            assert_eq!(
                (dataplane.workers, dataplane.ports.to_string().as_str()),
                (3, "5000-5002"),
                "{text}"
            );
        }
        let one = complete("rtc: {port: 5000, workers: 3}\n").unwrap().dataplane;
        assert_eq!((one.workers, one.ports), (3, MediaPorts::one(5000)));
        for (text, key) in [("workers: 2", "rtc.workers"), ("dataplane: afxdp", "afxdp")] {
            let error = complete(&format!("rtc: {{port: 5000-5002, {text}}}\n")).unwrap_err();
            assert_eq!(error.key(), Some("rtc.port"));
            assert!(error.to_string().contains(key), "{error}");
        }
        for port in ["70000", "5002-5000", "5000-6000", "[5000]"] {
            assert!(
                File::parse(&format!("rtc: {{port: {port}}}\n"))
                    .whole("weir.yaml")
                    .is_err(),
                "{port}"
            );
        }
    }

    #[test]
    fn the_implementation_of_aes_gcm_is_chosen_by_name() {
        assert_eq!(rtc("rtc: {}\n").crypto, Crypto::Auto);
        assert_eq!(rtc("rtc: {crypto: ring}\n").crypto, Crypto::Ring);
        assert!(File::parse("rtc: {crypto: magic}\n").whole("weir.yaml").is_err());
    }
}
