//! The content of `/metrics`, in the OpenMetrics text format.

pub(crate) mod closed;
pub(crate) mod cluster;
pub(crate) mod cut;
mod device;
pub(crate) mod exposition;
pub(crate) mod forwarded;
pub(crate) mod ownership;
pub(crate) mod process;
pub(crate) mod receivers;
pub(crate) mod recorder;
pub(crate) mod relay_peers;
mod rtpengine;
mod sip;
pub(crate) mod sip_stats;
mod text;
mod tls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use dataplane::Statistics;
use operator::{Place, Places};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use receivers::{Named, Summary, write_named};
pub(crate) use text::Text;

use crate::log::Lost;
use crate::metrics::closed::Closed;
use crate::metrics::cluster::ClusterCounts;
use crate::metrics::cut::Cut;
use crate::metrics::forwarded::ForwardCounts;
use crate::metrics::ownership::OwnershipCounts;
use crate::metrics::relay_peers::PeerCounts;
use crate::metrics::sip_stats::Stats;
use crate::os::clock;
use crate::tls::Certificates;
use crate::tls::certificate::seconds;

/// Bounds of how long the agent's turns take, in seconds.
const TURNS: [f64; 11] = [
    20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3,
];

/// Everything that is measured. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    values: Arc<Mutex<Values>>,
    turns: Histogram,
}

#[derive(Default)]
struct Values {
    plane: dataplane::Counters,
    agent: agent::Counters,
    fence: agent::fence::Counters,
    southbound: BTreeMap<Cut, u64>,
    cluster: ClusterCounts,
    /// The rooms of a controller, in a cluster.
    ownership: Option<OwnershipCounts>,
    controller: controller::Counters,
    refused: BTreeMap<u16, u64>,
    api_failed: BTreeMap<&'static str, u64>,
    slow_clients: u64,
    stalled_clients: u64,
    webhooks: livekit::webhook::Counters,
    workers: livekit::agents::Counters,
    http_closed: BTreeMap<Closed, u64>,
    control_closed: BTreeMap<Closed, u64>,
    /// Lines that the log has lost.
    log: Option<Lost>,
    /// The parts of the data plane.
    devices: Vec<Arc<dyn Statistics>>,
    /// The counts of the SIP relay.
    sip: Option<Stats>,
    is_read: bool,
    sip_denied: u64,
    sip_proxy_full: u64,
    /// The certificates of HTTPS.
    certificates: Option<Certificates>,
    /// Requests between controllers, in a cluster.
    forwarded: Option<ForwardCounts>,
    /// Connections between machines that relay calls, in a cluster.
    relay_peers: Option<PeerCounts>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            values: Arc::default(),
            turns: Histogram::new(TURNS),
        }
    }
}

impl Metrics {
    /// Counts a turn of the agent that took this long.
    pub(crate) fn turn(&self, took: Duration) {
        self.turns.observe(took.as_secs_f64());
    }

    /// Publishes what the media node counted.
    pub(crate) fn publish(&self, plane: dataplane::Counters, agent: agent::Counters) {
        let mut values = self.values();
        values.plane = plane;
        values.agent = agent;
    }

    /// Publishes what the fence before the agent counted.
    pub(crate) fn publish_fence(&self, fence: agent::fence::Counters) {
        self.values().fence = fence;
    }

    /// Counts a connection of a controller that the node refused or ended.
    pub(crate) fn southbound_cut(&self, why: Cut) {
        *self.values().southbound.entry(why).or_default() += 1;
    }

    /// Counts something of the cluster.
    pub(crate) fn of_cluster(&self, count: impl FnOnce(&mut ClusterCounts)) {
        count(&mut self.values().cluster);
    }

    /// Counts something of the rooms of a controller in its cluster.
    pub(crate) fn of_ownership(&self, count: impl FnOnce(&mut OwnershipCounts)) {
        count(self.values().ownership.get_or_insert_default());
    }

    /// Adds the statistics of the data plane's parts.
    pub(crate) fn watch_dataplane(&self, devices: Vec<Arc<dyn Statistics>>) {
        self.values().devices = devices;
    }

    /// The parts and entries of the data plane with their places.
    pub(crate) fn places(&self) -> Places {
        let devices = self.values().devices.clone();
        let places: Vec<Place> = devices.iter().flat_map(|device| device.places()).collect();
        Places {
            places: match places.is_empty() {
                true => vec![Place::Sockets { reason: None }],
                false => places,
            },
        }
    }

    /// Counts something of the controller's.
    pub(crate) fn count(&self, counter: controller::Counter) {
        self.values().controller.count(counter);
    }

    /// Counts a refused request.
    pub(crate) fn refused(&self, status: u16) {
        *self.values().refused.entry(status).or_default() += 1;
    }

    /// Counts a failed call of the server API.
    pub(crate) fn api_failed(&self, code: &'static str) {
        *self.values().api_failed.entry(code).or_default() += 1;
    }

    /// Counts something of the deliveries of webhooks.
    pub(crate) fn webhook(&self, counter: livekit::webhook::Counter) {
        self.values().webhooks.count(counter);
    }

    /// Counts something of the workers of agents.
    pub(crate) fn worker(&self, counter: livekit::agents::Counter) {
        self.values().workers.count(counter);
    }

    /// Publishes how calls of SIP proxies stand. Returns whether it was read since the last time.
    pub(crate) fn publish_sip(&self, stats: Stats) -> bool {
        let mut values = self.values();
        values.sip = Some(stats);
        std::mem::take(&mut values.is_read)
    }

    /// Counts a request to control calls that was denied.
    pub(crate) fn sip_denied(&self) {
        self.values().sip_denied += 1;
    }

    /// Counts a datagram of a SIP proxy that has as many as may wait.
    pub(crate) fn sip_proxy_full(&self) {
        self.values().sip_proxy_full += 1;
    }

    /// Counts a client that was closed because it did not read.
    pub(crate) fn slow_client(&self) {
        self.values().slow_clients += 1;
    }

    /// Counts a client that was closed because too much waited for all clients together.
    pub(crate) fn stalled_client(&self) {
        self.values().stalled_clients += 1;
    }

    /// Counts an HTTP connection that we closed, or did not take.
    pub(crate) fn http_closed(&self, why: Closed) {
        *self.values().http_closed.entry(why).or_default() += 1;
    }

    /// The same of a connection that controls calls of SIP proxies.
    pub(crate) fn control_closed(&self, why: Closed) {
        *self.values().control_closed.entry(why).or_default() += 1;
    }

    /// Shows what the log has lost, too.
    pub(crate) fn watch_log(&self, lost: Lost) {
        self.values().log = Some(lost);
    }

    /// Shows the certificates of HTTPS, too.
    pub(crate) fn watch_certificates(&self, certificates: Certificates) {
        self.values().certificates = Some(certificates);
    }

    /// Shows requests between controllers, too.
    pub(crate) fn watch_forwarded(&self, counts: ForwardCounts) {
        self.values().forwarded = Some(counts);
    }

    /// Shows the connections to other machines that relay calls, too.
    pub(crate) fn watch_relay_peers(&self, counts: PeerCounts) {
        self.values().relay_peers = Some(counts);
    }

    /// The counters in text form, to which others can be appended.
    pub(crate) fn encode(&self) -> Text {
        let mut registry = Registry::with_prefix("weir");
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        prometheus_client::encoding::text::encode_registry(&mut text, &registry)
            .expect("writing to a string does not fail");
        let mut text = Text::after(text);
        let mut values = self.values();
        values.is_read = true;
        if let Some(stats) = &values.sip {
            sip::write_sip(
                stats,
                (values.sip_denied, values.sip_proxy_full),
                &values.control_closed,
                &mut text,
            );
        }
        if let Some(certificates) = &values.certificates {
            tls::write(certificates, clock::unix(), &mut text);
        }
        values.cluster.write(seconds(clock::unix()), &mut text);
        if let Some(ownership) = &values.ownership {
            ownership.write(&mut text);
        }
        if let Some(forwarded) = &values.forwarded {
            forwarded.write(&mut text);
        }
        if let Some(peers) = &values.relay_peers {
            peers.write(&mut text);
        }
        let devices = values.devices.clone();
        drop(values);
        device::write(&devices, &mut text);
        text
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let values = self.values();
        let plane = values.plane.iter().map(|(counter, value)| (counter.name(), value));
        family(&mut encoder, "dataplane", "Packets by result", "reason", plane)?;
        let agent = values.agent.iter().map(|(counter, value)| (counter.name(), value));
        family(
            &mut encoder,
            "agent",
            "Requests that the agent refused, repeated or gave up, by reason",
            "reason",
            agent,
        )?;
        let fence = values.fence.iter().map(|(counter, value)| (counter.name(), value));
        family(
            &mut encoder,
            "fence",
            "Messages of controllers that the node refused, and notices that no controller got, by reason",
            "reason",
            fence,
        )?;
        let cut = |(why, name)| (name, values.southbound.get(&why).copied().unwrap_or_default());
        family(
            &mut encoder,
            "southbound_closed",
            "Connections of controllers that the node refused or ended, by reason",
            "reason",
            Cut::NAMES.into_iter().map(cut),
        )?;
        let turns = encoder.encode_descriptor(
            "agent_turn_seconds",
            "How long what waits next waits for the agent",
            None,
            self.turns.metric_type(),
        )?;
        self.turns.encode(turns)?;
        let controller = values.controller.iter().map(|(counter, value)| (counter.name(), value));
        family(
            &mut encoder,
            "controller",
            "Refused requests of clients, by reason",
            "reason",
            controller,
        )?;
        let refused = values
            .refused
            .iter()
            .map(|(status, value)| (status.to_string(), *value));
        family(
            &mut encoder,
            "http_refused",
            "Refused signalling requests, by status",
            "status",
            refused,
        )?;
        family(
            &mut encoder,
            "api_failed",
            "Failed calls of the server API, by code",
            "code",
            values.api_failed.iter().map(|(code, value)| (*code, *value)),
        )?;
        family(
            &mut encoder,
            "webhooks",
            "Attempts to deliver webhooks, and webhooks that were dropped, by result",
            "result",
            values.webhooks.iter().map(|(counter, value)| (counter.name(), value)),
        )?;
        family(
            &mut encoder,
            "agent_jobs",
            "Jobs of agents, and failures of their workers, by result",
            "result",
            values.workers.iter().map(|(counter, value)| (counter.name(), value)),
        )?;
        let closed = |(why, name)| (name, values.http_closed.get(&why).copied().unwrap_or_default());
        family(
            &mut encoder,
            "http_connections_closed",
            "HTTP connections the server closed or did not take, by reason",
            "reason",
            Closed::NAMES.into_iter().map(closed),
        )?;
        let lost = ConstCounter::new(values.log.as_ref().map_or(0, Lost::lines));
        let kind = lost.metric_type();
        lost.encode(encoder.encode_descriptor("log_lines_lost", "Lines that could not be logged", None, kind)?)?;
        let slow = [
            ("slow_client", values.slow_clients),
            ("stalled_client", values.stalled_clients),
        ];
        family(
            &mut encoder,
            "signalling_closed",
            "Connections the server closed, by reason",
            "reason",
            slow.into_iter(),
        )
    }
}

/// One counter for each value of one label.
fn family<N: AsRef<str>>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    label: &str,
    values: impl Iterator<Item = (N, u64)>,
) -> Result<(), fmt::Error> {
    let kind = ConstCounter::new(0u64).metric_type();
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (value_of_label, value) in values {
        let labels = [(label, value_of_label.as_ref())];
        ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
