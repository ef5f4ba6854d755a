//! The relay of SIP proxies' calls.

use std::error::Error;

use southbound::relay::RelayNotice;
use tokio::task::JoinHandle;

use super::media::Reached;
use super::{Process, seed};
use crate::config::{self, Config};
use crate::media::node_link::NodeLink;
use crate::sip;

/// A relay that runs.
pub(crate) struct Sip {
    /// Questions and the drain.
    pub handle: sip::Handle,
    /// The task that it cannot be without.
    pub task: JoinHandle<()>,
    /// Calls end when it is dropped.
    pub thread: sip::SipThread,
}

/// Starts the relay on a node, if the configuration has one.
///
/// Errors: a socket cannot be had, or calls of an earlier process cannot be read.
pub(crate) fn start(
    config: &Config,
    node: NodeLink<Vec<RelayNotice>>,
    reached: &Reached,
    process: &Process,
) -> Result<Option<Sip>, Box<dyn Error>> {
    let Some(settings) = &config.sip else {
        return Ok(None);
    };
    let needs = sip::Dependencies {
        fingerprints: reached.fingerprints.clone(),
        services: config::services(config),
        node_ips: reached.ips.clone(),
        clock: process.clocks.wall,
        seed: seed()?,
        node,
        metrics: process.metrics.clone(),
    };
    let (handle, task, thread) = sip::start(settings, needs)?;
    Ok(Some(Sip { handle, task, thread }))
}
