//! The record by which controllers find this node.

use std::net::IpAddr;

use ::cluster::MediaRecord;
use agent::limits::TRANSPORTS_MAX;
use southbound::Versions;

use crate::cluster::advertised::advertised;
use crate::config::{Cluster, Config, Listener};

/// The transports that a worker carries, unless the configuration says how many the node takes.
///
/// One processor carries 118 rooms of five, in which everybody sends 2 Mbit/s, without adaptation
/// (docs/measured/performance.md): 590 participants, with two transports each. Half of that is left
/// to adaptation, older processors and larger rooms.
const TRANSPORTS_PER_WORKER: usize = 500;

/// The record of a node at the start.
///
/// Errors: nobody has said at which address controllers reach it.
pub(in crate::serve) fn record(
    cluster: &Cluster,
    config: &Config,
    local_ips: &[IpAddr],
) -> Result<MediaRecord, String> {
    let Versions { oldest, newest } = cluster.versions;
    Ok(MediaRecord {
        name: cluster.name.clone(),
        address: advertised("advertise", cluster.advertise.as_deref(), cluster.listen, local_ips)?,
        region: region(cluster),
        capacity: capacity(cluster, config),
        load: 0,
        calls_only: calls_only(cluster),
        draining: false,
        move_within: move_within(cluster, config),
        oldest,
        newest,
        sip: match config.sip {
            Some(_) => {
                let Listener { listen, advertise } = &cluster.sip;
                advertised("sip.advertise", advertise.as_deref(), *listen, local_ips)?
            }
            None => String::new(),
        },
    })
}

/// The region of a node; empty if nobody said.
pub(super) fn region(cluster: &Cluster) -> String {
    cluster.region.clone().unwrap_or_default()
}

/// The seconds in which participants leave a node while it drains. The drain takes longer, so that
/// the last of them are not cut off.
pub(super) fn move_within(cluster: &Cluster, config: &Config) -> u32 {
    let within = cluster.move_within.min(config.drain_timeout * 3 / 4);
    within.as_secs().try_into().unwrap_or(u32::MAX)
}

/// Whether a node is there for calls of SIP proxies alone.
pub(super) fn calls_only(cluster: &Cluster) -> bool {
    cluster.capacity == Some(0)
}

/// The transports that a node takes.
pub(super) fn capacity(cluster: &Cluster, config: &Config) -> u32 {
    let workers = config.rtc.dataplane.workers;
    let of_workers = TRANSPORTS_PER_WORKER.saturating_mul(workers).min(TRANSPORTS_MAX);
    cluster
        .capacity
        .unwrap_or_else(|| of_workers.try_into().unwrap_or(u32::MAX))
}
