//! `weir serve` in a cluster: a controller and a media node, beside those of other machines.

use std::error::Error;

use super::dependencies::Dependencies;
use super::media_node::{self, entry, load::Transports};
use super::{Parts, begin, check, operate};
use crate::cli::{self, Role};
use crate::cluster::counted_store;
use crate::cluster::links;
use crate::cluster::membership::Membership;
use crate::config::Config;
use crate::log::Log;
use crate::os::signals::Signals;
use crate::roles::http_ports::KeptPorts;
use crate::roles::sip::{self, Sip};
use crate::roles::{coordination, edge, rooms};

/// Runs both until a signal.
///
/// Errors: one cannot start as it is configured, or a part that it cannot be without has ended.
pub(super) async fn serve(
    arguments: &cli::Serve,
    config: Config,
    log: &Log,
    mut kept_ports: KeptPorts,
) -> Result<(), Box<dyn Error>> {
    // Before anything else: until then these signals end the process at once.
    let signals = Signals::listen()?;
    let (process, _housekeeping) = begin(&config, log);
    let cluster = check::cluster(&config, Role::Controller).map_err(|(_, error)| error)?;
    let mut node = media_node::start(cluster, &config, &process).await?;
    let reached = &node.media.reached;
    let record = entry::record(cluster, &config, &reached.local_ips)?;
    let store = counted_store::open(&cluster.store, &process.metrics)?;
    let relay = sip::Member::open(&config, cluster, node.id, node.tls.clone(), store.clone())?;
    let sip = sip::start(&config, node.relay, reached, relay, &process)?;
    let _links = links::start(node.links, store.clone());
    // Once the port for other relays is served.
    let membership = Membership::begin(store.clone(), node.id, record, process.metrics.clone());
    let id = rooms::new_id()?;
    let coordination = coordination::start(cluster, id, node.tls.clone(), store, &reached.local_ips, &process)?;
    let rooms = rooms::start(&config, id, coordination.nodes, &reached.ips, &process)?;
    let edge = edge::start(
        &config,
        Some(&node.media),
        &rooms,
        sip.as_ref(),
        Some(coordination.controllers),
        &mut kept_ports,
        &process,
    )?;
    let dependencies = Dependencies::default();
    dependencies.watch_node(node.ended);
    dependencies.watch("certificates", coordination.certificates);
    // Its calls end when the thread is dropped.
    let (sip, _sip_thread) = match sip {
        Some(Sip { handle, task, thread }) => {
            dependencies.watch("SIP", task);
            (Some(handle), Some(thread))
        }
        None => (None, None),
    };
    let transports = Transports::new(node.media.query.clone(), membership.record().clone());
    dependencies.watch("load", tokio::spawn(transports.clone().report()));
    let southbound = async move { drop(node.controllers.join_next().await) };
    dependencies.watch("southbound", tokio::spawn(southbound));
    let parts = Parts {
        rooms,
        edge,
        sip,
        node: Some(transports),
        dependencies,
    };
    let outcome = operate(arguments, config, log, signals, kept_ports, parts).await;
    membership.leave().await;
    outcome
}
