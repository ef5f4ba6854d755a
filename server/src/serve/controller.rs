//! `weir controller`: a controller of rooms whose media nodes are other processes.

use std::error::Error;

use super::{Parts, begin, check, operate, run_role};
use crate::cli::{self, Role};
use crate::cluster::counted_store;
use crate::cluster::tls::ClusterTls;
use crate::config::Config;
use crate::log::Log;
use crate::media::addresses::{Addresses, Known};
use crate::os::signals::Signals;
use crate::roles::http_ports::KeptPorts;
use crate::roles::{coordination, edge, rooms};
use crate::serve::dependencies::Dependencies;

/// Runs the controller until a signal.
///
/// Errors: it cannot start as it is configured, or a part that it cannot be without has ended.
pub(crate) fn run(arguments: cli::Serve) -> Result<(), Box<dyn Error>> {
    run_role(arguments, "the controller ends", serve)
}

async fn serve(
    arguments: &cli::Serve,
    config: Config,
    log: &Log,
    mut kept_ports: KeptPorts,
) -> Result<(), Box<dyn Error>> {
    // Before anything else: until then these signals end the process at once.
    let signals = Signals::listen()?;
    let (process, _housekeeping) = begin(&config, log);
    let cluster = check::cluster(&config, Role::Controller).map_err(|(_, error)| error)?;
    let id = rooms::new_id()?;
    let local_ips = Addresses::of(&config).now(&Known::default()).await?.local();
    let tls = ClusterTls::load(&cluster.files).map_err(|error| format!("`cluster:` {error}"))?;
    let store = counted_store::open(&cluster.store, &process.metrics)?;
    let coordination = coordination::start(cluster, id, tls, store, &local_ips, &process)?;
    let rooms = rooms::start(&config, id, coordination.nodes, &[], &process)?;
    let edge = edge::start(
        &config,
        None,
        &rooms,
        None,
        Some(coordination.controllers),
        &mut kept_ports,
        &process,
    )?;
    let dependencies = Dependencies::default();
    dependencies.watch("certificates", coordination.certificates);
    let parts = Parts {
        rooms,
        edge,
        sip: None,
        node: None,
        dependencies,
    };
    operate(arguments, config, log, signals, kept_ports, parts).await
}
