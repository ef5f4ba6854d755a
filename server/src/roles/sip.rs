//! The relay of SIP proxies' calls.

use std::error::Error;
use std::sync::Arc;

use southbound::NodeId;
use southbound::relay::RelayNotice;
use stores::Store;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tracing::info;

use super::media::Reached;
use super::{Process, seed};
use crate::cli::Role;
use crate::cluster::relays;
use crate::cluster::tls::ClusterTls;
use crate::config::{self, Cluster, Config};
use crate::http::health::Probe;
use crate::media::node_link::NodeLink;
use crate::metrics::relay_peers::PeerCounts;
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::tcp;
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

impl Sip {
    /// Asks the task whether it is alive.
    pub(crate) fn probe(&self) -> Probe {
        let handle = self.handle.clone();
        Arc::new(move || {
            let handle = handle.clone();
            Box::pin(async move { handle.is_alive().await })
        })
    }
}

/// A relay's part among those of a cluster. Its port is open and not served yet.
pub(crate) struct Member {
    own: NodeId,
    listener: TcpListener,
    tls: ClusterTls,
    store: Arc<dyn Store>,
}

impl Member {
    /// Opens the port for the other relays, if the configuration has one of this machine, which has
    /// this id.
    ///
    /// Errors: the certificate is not for relays, or the port cannot be had.
    pub(crate) fn open(
        config: &Config,
        cluster: &Cluster,
        own: NodeId,
        tls: ClusterTls,
        store: Arc<dyn Store>,
    ) -> Result<Option<Self>, String> {
        if config.sip.is_none() {
            return Ok(None);
        }
        check_role(&tls)?;
        let address = cluster.sip.listen;
        let listener =
            tcp::bind(address).map_err(|error| refused::port(Transport::Tcp, address, "cluster.sip.listen", &error))?;
        info!(%address, "commands of other relays of SIP calls");
        Ok(Some(Self {
            own,
            listener,
            tls,
            store,
        }))
    }
}

/// Whether this machine's certificate is one of a relay.
///
/// Errors: it is not, and how to get one.
pub(crate) fn check_role(tls: &ClusterTls) -> Result<(), String> {
    match tls.has_role(Role::Sip) {
        true => Ok(()),
        false => Err(
            "`cluster: {certificate}` does not permit the role of a relay of SIP calls: make one with \
             `weir cluster-cert` and `--role sip` beside the roles that it has"
                .to_owned(),
        ),
    }
}

/// Starts the relay on a node, if the configuration has one; as one of several, if it is a member
/// of a cluster.
///
/// Errors: a socket cannot be had, or calls of an earlier process cannot be read.
///
/// Panics outside of a tokio runtime.
pub(crate) fn start(
    config: &Config,
    node: NodeLink<Vec<RelayNotice>>,
    reached: &Reached,
    member: Option<Member>,
    process: &Process,
) -> Result<Option<Sip>, Box<dyn Error>> {
    let Some(settings) = &config.sip else {
        return Ok(None);
    };
    let cluster = member.map(|member| {
        let counts = PeerCounts::default();
        process.metrics.watch_relay_peers(counts.clone());
        let Member {
            own,
            listener,
            tls,
            store,
        } = member;
        (own, relays::start(own, listener, tls, store, counts))
    });
    let needs = sip::Dependencies {
        fingerprints: reached.fingerprints.clone(),
        services: config::services(config),
        node_ips: reached.ips.clone(),
        clock: process.clocks.wall,
        seed: seed()?,
        node,
        cluster,
        metrics: process.metrics.clone(),
    };
    let (handle, task, thread) = sip::start(settings, needs)?;
    Ok(Some(Sip { handle, task, thread }))
}
