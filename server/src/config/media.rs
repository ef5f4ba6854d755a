//! What an operator may set about media.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The file's form.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RtcFile {
    pub(super) port: Option<u16>,
    pub(super) node_ip: Vec<IpAddr>,
    pub(super) workers: Option<usize>,
    pub(super) dataplane: Dataplane,
    pub(super) afxdp: Afxdp,
    pub(super) offload: Offload,
    pub(super) ebpf: Ebpf,
    pub(super) crypto: Crypto,
    pub(super) coalesce_us: u64,
    pub(super) precedence: Option<bool>,
    pub(super) cpu_latency_us: Option<u32>,
    pub(super) adaptation: Option<bool>,
    pub(super) policy: Policy,
    pub(super) rewriter: Rewriter,
    pub(super) playout_delay_max: Option<u64>,
    pub(super) last_n: usize,
    pub(super) clear_rtp: bool,
}

/// Longer than this would be heard. Shape: microseconds.
const COALESCE_MAX: u64 = 5_000;

/// How long workers wait, of what the file says.
pub(super) fn coalesce(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds.min(COALESCE_MAX))
}

/// Which implementation of AES-GCM encrypts media.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Crypto {
    /// Weir's own where the processor has AVX-512 with VAES, `ring` elsewhere.
    #[default]
    Auto,
    /// Always `ring`.
    Ring,
}

/// Media settings.
#[derive(Debug)]
pub struct Rtc {
    /// The one UDP port.
    pub port: u16,
    /// Addresses for candidates; empty means the machine's own.
    pub node_ips: Vec<IpAddr>,
    /// Worker threads.
    pub workers: usize,
    /// What moves packets.
    pub dataplane: Dataplane,
    /// Settings of that choice.
    pub afxdp: Afxdp,
    /// What moves some of them before that.
    pub offload: Offload,
    /// Settings of that choice.
    pub ebpf: Ebpf,
    /// The implementation that encrypts media.
    pub crypto: Crypto,
    /// How long workers wait for more when something has come; zero is not at all.
    pub coalesce: Duration,
    /// Whether workers that take little of the machine go before others on it.
    pub precedence: bool,
    /// Within how many microseconds processors are to wake up while media flows; as late as the
    /// machine likes where nothing is said.
    pub cpu_latency: Option<u32>,
    /// Whether receivers get only what their downlink carries.
    pub adaptation: bool,
    /// How that is divided among the videos that want it.
    pub policy: Policy,
    /// How the numbers close up of what a receiver gets less of than there is.
    pub rewriter: Rewriter,
    /// The longest a receiver that loses packets is told to hold pictures back; zero is never.
    pub playout_delay_max: Duration,
    /// The most videos one receiver is shown at a time; 0 is no limit.
    pub last_n: usize,
    /// Whether peers that offer media without encryption get it. For laboratories only.
    pub clear_rtp: bool,
}

/// What moves packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dataplane {
    /// Sockets, which always work.
    #[default]
    Udp,
    /// AF_XDP rings on some interfaces, and sockets beside them; where that cannot be, sockets
    /// alone.
    Afxdp,
}

/// Settings of AF_XDP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Afxdp {
    /// On which interfaces RTP is taken.
    pub interfaces: Vec<String>,
}

/// What moves packets before they get to where all of them could be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// Nothing.
    None,
    /// Where SIP proxies are served and this machine allows it, the kernel relays calls that need
    /// no key.
    #[default]
    Auto,
    /// The kernel, on some interfaces, relays what needs no key; where that cannot be, nothing
    /// does.
    Ebpf,
}

/// Settings of forwarding in the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ebpf {
    /// On which interfaces packets are looked at; where none is named, on those that have the
    /// addresses of SIP calls, and on the loopback.
    pub interfaces: Vec<String>,
    /// Whether rooms whose media is not encrypted are copied there, too.
    pub rooms: Rooms,
    /// Where in the kernel they are.
    pub rooms_path: KernelPath,
    /// How many relays the kernel may have.
    pub relays_max: u32,
    /// Where in the kernel they are.
    pub relays_path: KernelPath,
    /// Where in a BPF file system entries and programs outlive the process; empty is nowhere.
    pub pins: PathBuf,
    /// How long entries that were found there may stay without being ordered again, in seconds.
    pub keep: u64,
}

impl Default for Ebpf {
    fn default() -> Self {
        Ebpf {
            interfaces: Vec::new(),
            rooms: Rooms::None,
            rooms_path: KernelPath::Auto,
            relays_max: 16_384,
            relays_path: KernelPath::Auto,
            pins: PathBuf::from("/sys/fs/bpf/weir"),
            keep: 60,
        }
    }
}

/// Rooms in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rooms {
    /// None.
    #[default]
    None,
    /// Their packets go on to userspace as well, which reports how they arrived, and hears who
    /// speaks.
    Seen,
    /// Userspace sees nothing of what is copied.
    Unseen,
}

/// Where in the kernel packets are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelPath {
    /// In the driver where all interfaces can, otherwise in the stack.
    #[default]
    Auto,
    /// In the stack.
    Tc,
    /// In the driver; where that cannot be, rooms are left to sockets, and relays run as if they
    /// were there.
    Xdp,
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

/// How packets are numbered where frames are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rewriter {
    /// By every packet that came.
    #[default]
    Exact,
    /// By the newest frame that was sent.
    SLm,
    /// By that and three before it.
    SLr,
}

impl Rewriter {
    /// What numbers packets by the frames that are sent, if anything does.
    pub fn by_frames(self) -> Option<&'static str> {
        match self {
            Rewriter::Exact => None,
            Rewriter::SLm => Some("S-LM"),
            Rewriter::SLr => Some("S-LR"),
        }
    }
}

impl From<Rewriter> for dataplane::Rewriting {
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
        File::parse("weir.yaml", text).expect("a configuration").rtc
    }

    #[test]
    fn a_policy_has_a_name() {
        assert_eq!(rtc("rtc: {}\n").policy, Policy::Utility);
        assert_eq!(rtc("rtc: {policy: thresholds}\n").policy, Policy::Thresholds);
        let refusal = File::parse("weir.yaml", "rtc: {policy: greed}\n").err();
        assert!(refusal.is_some_and(|error| error.to_string().contains("greed")));
    }

    #[test]
    fn the_implementation_of_aes_gcm_is_chosen_by_name() {
        assert_eq!(rtc("rtc: {}\n").crypto, Crypto::Auto);
        assert_eq!(rtc("rtc: {crypto: ring}\n").crypto, Crypto::Ring);
        assert!(File::parse("weir.yaml", "rtc: {crypto: magic}\n").is_err());
    }
}
