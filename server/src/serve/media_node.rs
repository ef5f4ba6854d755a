//! `weir media`: a media node for controllers on other machines.

pub(super) mod entry;
mod http;
pub(super) mod load;
mod readiness;
mod reload;

use std::error::Error;
use std::time::Duration;

use southbound::NodeId;
use southbound::relay::RelayNotice;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::dependencies::Dependencies;
use super::drain::{Calls, Drain};
use super::service_manager::ServiceManager;
use super::{FILES_EVERY, begin, check, run_role};
use crate::cli::{self, Role};
use crate::cluster::counted_store;
use crate::cluster::links;
use crate::cluster::membership::Membership;
use crate::cluster::southbound::node;
use crate::cluster::tls::{ClusterTls, FollowedFiles};
use crate::config::{Cluster, Config};
use crate::http::health::Health;
use crate::log::Log;
use crate::media::media_thread::Ended;
use crate::media::node_link::NodeLink;
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::signals::{SignalRequest, Signals};
use crate::os::tcp;
use crate::roles::http_ports::KeptPorts;
use crate::roles::sip::{self, Sip};
use crate::roles::{Process, media};
use http::Http;
use load::Transports;
use readiness::Readiness;
use reload::Reload;

/// How long the connections of controllers stay after the node has left the store, so that its last
/// messages are on their way.
const GOODBYE: Duration = Duration::from_millis(300);

/// Runs the node until a signal.
///
/// Errors: it cannot start as it is configured, or a part that it cannot be without has ended.
pub(crate) fn run(mut arguments: cli::Serve) -> Result<(), Box<dyn Error>> {
    arguments.is_keyless = true;
    run_role(arguments, "the media node ends", serve)
}

async fn serve(
    arguments: &cli::Serve,
    config: Config,
    log: &Log,
    mut kept_ports: KeptPorts,
) -> Result<(), Box<dyn Error>> {
    // Before anything else: until then these signals end the process at once.
    let mut signals = Signals::listen()?;
    let (process, _housekeeping) = begin(&config, log);
    let cluster = check::cluster(&config, Role::Media).map_err(|(_, error)| error)?;
    if cluster.has_clear_trunks() {
        warn!(
            "cluster.trunk_encryption: media goes to other media nodes in clear; only for networks that are protected \
             otherwise"
        );
    }
    let store = counted_store::open(&cluster.store, &process.metrics)?;
    let mut node = start(cluster, &config, &process).await?;
    node.media.reached.announce();
    let record = entry::record(cluster, &config, &node.media.reached.local_ips)?;
    let relay = sip::Member::open(&config, cluster, node.id, node.tls.clone(), store.clone())?;
    let certificates = FollowedFiles::new(cluster.files.clone(), node.tls.clone(), process.metrics.clone());
    let sip = sip::start(&config, node.relay, &node.media.reached, relay, &process)?;
    let _links = links::start(node.links, store.clone());
    // Once the port for other relays is served.
    let membership = Membership::begin(store, node.id, record, process.metrics.clone());
    let record = membership.record().clone();
    let health = Health::of_node(node.media.query.clone());
    let readiness = Readiness {
        health: health.clone(),
        record: record.subscribe(),
        standing: membership.standing(),
        connected: node.connected.clone(),
    };
    let Http {
        mut servers,
        settings,
        slots,
    } = http::serve(&config, &node.media, readiness, &process.metrics, &mut kept_ports)?;
    let mut dependencies = Dependencies::default();
    dependencies.watch_node(node.ended);
    // Its calls end when the thread is dropped.
    let (calls, _sip_thread) = match sip {
        Some(Sip { handle, task, thread }) => {
            dependencies.watch("SIP", task);
            (Some(Calls(handle)), Some(thread))
        }
        None => (None, None),
    };
    let transports = Transports::new(node.media.query.clone(), record.clone());
    dependencies.watch("load", tokio::spawn(transports.clone().report()));
    let manager = ServiceManager::of_environment();
    for name in kept_ports.close() {
        manager.forget(&name);
    }
    let mut drain = Drain::new((transports, calls), manager.clone());
    let mut reload = Reload {
        arguments,
        log,
        settings,
        slots,
        certificates,
        record,
        config,
    };
    manager.ready();
    manager.watch(health);
    let mut files_due = tokio::time::interval(FILES_EVERY);
    let outcome = loop {
        tokio::select! {
            asked = signals.next() => match asked {
                SignalRequest::Reload => reload.run().await,
                SignalRequest::End => {
                    let has_begun = drain.begin(reload.config.drain_timeout).await;
                    // There is no drain, or this is the second signal.
                    if !has_begun {
                        break Ok(());
                    }
                }
            },
            () = drain.end(reload.config.drain_timeout) => break Ok(()),
            _ = files_due.tick() => reload.certificates.follow().await,
            ended = dependencies.ended() => break Err(ended.into()),
            Some(_) = node.controllers.join_next() => break Err("controllers are not served any more".into()),
            Some(_) = servers.join_next() => break Err("the HTTP port is not served any more".into()),
        }
    };
    info!("shutting down");
    manager.stopping();
    // Before connections end: controllers know then that this is no fault of the network.
    membership.leave().await;
    tokio::time::sleep(GOODBYE).await;
    outcome
}

/// A node that serves controllers until it is dropped.
pub(crate) struct MediaNode {
    /// The agent with its data plane.
    pub media: media::Media,
    /// The id that the node took when it started.
    pub id: NodeId,
    /// The certificate of this machine.
    pub tls: ClusterTls,
    /// The controllers that are connected.
    pub connected: node::ConnectedControllers,
    /// The parts that links to other nodes need.
    pub links: links::Context,
    /// For the relay of SIP calls, if there is one.
    pub relay: NodeLink<Vec<RelayNotice>>,
    /// The tasks that serve controllers, none of which ends by itself.
    pub controllers: JoinSet<()>,
    /// Resolves, to an error, once the thread of the node has ended.
    pub ended: Ended,
}

/// Starts a node and serves its controllers.
///
/// Errors: the certificate cannot be used, the port cannot be had, or the node does not start.
pub(crate) async fn start(cluster: &Cluster, config: &Config, process: &Process) -> Result<MediaNode, Box<dyn Error>> {
    let tls = ClusterTls::load(&cluster.files).map_err(|error| format!("`cluster:` {error}"))?;
    let listener = tcp::bind(cluster.listen)
        .map_err(|error| refused::port(Transport::Tcp, cluster.listen, "cluster.listen", &error))?;
    let (media, running) = media::start_fenced(config, process, &tls.name()).await?;
    info!(address = %cluster.listen, name = cluster.name, "controllers");
    let connected = node::ConnectedControllers::new(process.metrics.clone());
    let node = node::Node {
        id: running.id,
        connections: running.connections,
        links: running.links.clone(),
        waker: running.waker.clone(),
        versions: cluster.versions,
        connected: connected.clone(),
        metrics: process.metrics.clone(),
    };
    Ok(MediaNode {
        media,
        id: running.id,
        tls: tls.clone(),
        connected,
        links: links::Context {
            tls: tls.clone(),
            ends: running.links,
            waker: running.waker,
        },
        relay: running.relay,
        controllers: node::serve(listener, tls, node),
        ended: running.ended,
    })
}
