//! The media node: the agent with its data plane, and the TURN server beside it.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ::dataplane::Statistics;
use agent::{Agent, Certificate};
use southbound::{Fingerprint, NodeId, Versions};
use tokio::task::JoinSet;
use tracing::info;

use super::{Process, reach, seed};
use crate::clients::peeked::HandOver;
use crate::cluster::node_ids;
use crate::config::{self, Cluster, Config, Crypto};
use crate::dataplane;
use crate::media::ReceiverQuery;
use crate::media::addresses::{self, Addresses, Known};
use crate::media::media_thread::{self, Parts, Running, RunningFenced};
use crate::media::waker::Waker;
use crate::os::cpu_latency::CpuLatency;

/// A node that runs.
pub(crate) struct Media {
    /// Questions about receivers and health.
    pub query: ReceiverQuery,
    /// Its addresses and certificate.
    pub reached: Reached,
    /// The TURN server's clients over TLS, if it takes any.
    pub turn_over_tls: Option<HandOver>,
    /// Follows the addresses of this machine; aborted when it is dropped.
    _following: JoinSet<()>,
}

/// A node as clients reach it.
pub(crate) struct Reached {
    /// Its addresses.
    pub ips: Vec<IpAddr>,
    /// The same as this machine has them, behind a NAT.
    pub local_ips: Vec<IpAddr>,
    /// Its certificate's hashes, by each function.
    pub fingerprints: Vec<Fingerprint>,
    /// Addresses with the range of ports of media.
    udp: Vec<String>,
    tcp: Vec<SocketAddr>,
}

impl Reached {
    /// Writes the addresses into the log.
    pub(crate) fn announce(&self) {
        for address in &self.udp {
            info!(%address, "media");
        }
        for address in &self.tcp {
            info!(%address, "media over TCP");
        }
    }
}

/// Starts a node. Its controllers get the second part.
///
/// Errors: an address or a socket cannot be had, or the data plane does not start.
pub(crate) async fn start(config: &Config, process: &Process) -> Result<(Media, Running), Box<dyn Error>> {
    let node = NodeId(u64::from_ne_bytes(seed()?));
    let (media, parts) = prepare(config, process, node).await?;
    Ok((media, media_thread::start(parts)?))
}

/// Starts a node for controllers on other machines, with this name in its certificate.
///
/// Errors: those of [`start`].
pub(crate) async fn start_fenced(
    config: &Config,
    process: &Process,
    name: &str,
) -> Result<(Media, RunningFenced), Box<dyn Error>> {
    let node = node_ids::new(name, u32::from_ne_bytes(seed()?));
    let (media, parts) = prepare(config, process, node).await?;
    let versions = config
        .cluster
        .as_ref()
        .map_or(Versions::OURS, |cluster| cluster.versions);
    Ok((media, media_thread::start_fenced(parts, versions)?))
}

async fn prepare(config: &Config, process: &Process, node: NodeId) -> Result<(Media, Parts), Box<dyn Error>> {
    let Process { clocks, metrics } = process;
    if let Some(name) = config.rtc.rewriter.by_frames() {
        info!("{name} numbers replicas of streams with dependency descriptors; all others are numbered exactly");
    }
    if config.rtc.crypto == Crypto::Ring {
        gcm::use_ring_only();
    }
    let waker = Waker::default();
    let to_wake = waker.clone();
    let wake = Arc::new(move || to_wake.wake());
    let calls = config.sip.as_ref().map(calls);
    let opened = dataplane::open(&config.rtc.dataplane, &config.bind, calls.as_ref(), clocks.media, wake)?;
    let addresses = Addresses::of(config);
    let known = addresses.now(&Known::default()).await?;
    let ips = addresses::advertised(&known.reached);
    let local_ips = known.local();
    let turn = reach::start_turn(config, &known.reached)?;
    let turn_over_tls = reach::over_tls(config, turn.as_ref());
    let turn_statistics = turn
        .as_ref()
        .map(|turn| Arc::new(turn.statistics()) as Arc<dyn Statistics>);
    metrics.watch_dataplane(opened.statistics.into_iter().chain(turn_statistics).collect());
    let ports = &config.rtc.dataplane.ports;
    let over_tcp = opened.tcp_port.map(|port| addresses::at(&ips, port..=port));
    let certificate = Certificate::generate()?;
    let reached = Reached {
        fingerprints: certificate.fingerprints().to_vec(),
        udp: ips.iter().map(|address| ports.at(*address)).collect(),
        tcp: over_tcp.unwrap_or_default(),
        local_ips,
        ips,
    };
    let of_agent = agent::Config {
        adaptation: config.rtc.adaptation,
        policy: config.rtc.policy.into(),
        rewriting: config.rtc.rewriter.into(),
        feedback: config.rtc.feedback.into(),
        playout_delay_max: config.rtc.playout_delay_max,
        last_n: config.rtc.last_n,
        clear_rtp: config.rtc.clear_rtp,
        clear_trunks: config.cluster.as_ref().is_some_and(Cluster::has_clear_trunks),
        node,
        tcp_addresses: reached.tcp.clone(),
        local_ips: known.behind_nat(),
        ..agent::Config::new(addresses::at(&reached.ips, ports.range()), certificate)
    };
    let agent = Agent::new(of_agent, clocks.media, u64::from_ne_bytes(seed()?));
    let (query, questions) = ReceiverQuery::new(waker.clone());
    let mut following = JoinSet::new();
    let both = (ports.clone(), opened.tcp_port);
    following.spawn(reach::follow(addresses, known, both, query.clone(), turn));
    let cpu_latency = config.rtc.cpu_latency.and_then(CpuLatency::permitted);
    let parts = Parts {
        agent,
        plane: opened.plane,
        waker,
        questions,
        metrics: metrics.clone(),
        cpu_latency,
    };
    let media = Media {
        query,
        reached,
        turn_over_tls,
        _following: following,
    };
    Ok((media, parts))
}

/// The calls that a data plane may relay.
fn calls(sip: &config::Sip) -> dataplane::Calls {
    dataplane::Calls {
        addresses: sip.interfaces.iter().map(|interface| interface.address).collect(),
        outlive: sip.state.is_some(),
    }
}
