//! `weir serve`: puts the parts together and runs them until a signal.

pub(crate) mod check;
pub(crate) mod controller;
mod dependencies;
mod drain;
pub(crate) mod media_node;
mod member;
mod reload;
mod service_manager;

use std::error::Error;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::cli;
use crate::config::Config;
use crate::controller_task::Nodes;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::os::clock::Clocks;
use crate::os::memory;
use crate::os::signals::{SignalRequest, Signals};
use crate::roles::http_ports::KeptPorts;
use crate::roles::sip::Sip;
use crate::roles::{Process, edge, media, rooms, sip};
use dependencies::Dependencies;
use drain::{Drain, Served};
use media_node::load::Transports;
use reload::Reload;
use service_manager::ServiceManager;

/// The interval at which files of keys and of certificates are read again.
const FILES_EVERY: Duration = Duration::from_secs(2);

/// How long the last messages to clients may take to be sent.
const GOODBYE: Duration = Duration::from_millis(300);

/// How long each part may take to end.
const GOODBYE_MAX: Duration = Duration::from_secs(2);

/// Runs the switch until a signal ends it.
///
/// Errors: it cannot start as it is configured, or a part that it cannot be without has ended.
pub(crate) fn run(arguments: cli::Serve) -> Result<(), Box<dyn Error>> {
    run_role(
        arguments,
        "the server ends",
        async |arguments, config, log, kept_ports| match config.cluster.is_some() {
            true => member::serve(arguments, config, log, kept_ports).await,
            false => serve(arguments, config, log, kept_ports).await,
        },
    )
}

/// Runs a role of the program as it is configured. An error of it is logged with `message` as well.
fn run_role(
    arguments: cli::Serve,
    message: &'static str,
    role: impl AsyncFnOnce(&cli::Serve, Config, &Log, KeptPorts) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    // Before there are threads: it takes names out of the environment.
    let kept_ports = KeptPorts::of_environment();
    let config = check::load(&arguments)?;
    let log = Log::start(&config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(role(&arguments, config, &log, kept_ports));
    // A part that is stuck must not keep the process.
    runtime.shutdown_timeout(GOODBYE_MAX);
    if let Err(error) = &outcome {
        error!(%error, "{message}");
    }
    outcome
}

/// The common parts of all roles, and tasks that are aborted when they are dropped.
fn begin(config: &Config, log: &Log) -> (Process, JoinSet<()>) {
    config.warnings.iter().for_each(|warning| warn!("{warning}"));
    let process = Process {
        clocks: Clocks::read(),
        metrics: Metrics::default(),
    };
    process.metrics.watch_log(log.lost());
    let mut housekeeping = JoinSet::new();
    housekeeping.spawn(log.limit().report());
    housekeeping.spawn(memory::give_back());
    (process, housekeeping)
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
    if config.rtc.clear_rtp {
        warn!("rtc.clear_rtp: who offers media without encryption gets it without; for laboratories only");
    }

    let (media, node) = media::start(&config, &process).await?;
    let (id, nodes) = (rooms::new_id()?, Nodes::Own(node.controller));
    let rooms = rooms::start(&config, id, nodes, &media.reached.ips, &process)?;
    // Its calls end when it is dropped.
    let sip = sip::start(&config, node.relay, &media.reached, None, &process)?;
    let edge = edge::start(
        &config,
        Some(&media),
        &rooms,
        sip.as_ref(),
        None,
        &mut kept_ports,
        &process,
    )?;
    let dependencies = Dependencies::default();
    dependencies.watch_node(node.ended);
    let (sip, _sip_thread) = match sip {
        Some(Sip { handle, task, thread }) => {
            dependencies.watch("SIP", task);
            (Some(handle), Some(thread))
        }
        None => (None, None),
    };
    let parts = Parts {
        rooms,
        edge,
        sip,
        node: None,
        dependencies,
    };
    operate(arguments, config, log, signals, kept_ports, parts).await
}

/// The parts of a server with rooms.
struct Parts {
    rooms: rooms::Rooms,
    edge: edge::Edge,
    sip: Option<crate::sip::Handle>,
    /// The media node, if controllers on other machines use it as well.
    node: Option<Transports>,
    dependencies: Dependencies,
}

/// Takes clients until a signal, and says goodbye to them.
///
/// Errors: a part that the server cannot be without has ended.
async fn operate(
    arguments: &cli::Serve,
    config: Config,
    log: &Log,
    mut signals: Signals,
    kept_ports: KeptPorts,
    parts: Parts,
) -> Result<(), Box<dyn Error>> {
    let Parts {
        rooms,
        edge,
        sip,
        node,
        mut dependencies,
    } = parts;
    for (name, task) in rooms.tasks {
        dependencies.watch(name, task);
    }
    let manager = ServiceManager::of_environment();
    for name in kept_ports.close() {
        manager.forget(&name);
    }
    for (name, listener) in edge.ports.sockets() {
        manager.keep(listener, &name);
    }
    let controller = rooms.controller;
    let served = Served {
        controller: controller.clone(),
        sip,
    };
    let mut drain = Drain::new((served, node), manager.clone());
    let mut reload = Reload {
        arguments,
        log,
        settings: edge.settings,
        slots: edge.slots,
        controller: controller.clone(),
        front_ends: rooms.front_ends,
        webhooks: rooms.webhooks,
        certificates: edge.certificates,
        config,
        key_error: None,
    };
    reload.start_webhooks().await;
    let mut servers = edge.ports.serve();
    if let Some(acme) = edge.acme {
        dependencies.watch("ACME", tokio::spawn(acme.run()));
    }
    manager.ready();
    manager.watch(edge.health);
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
            _ = files_due.tick() => reload.read_files().await,
            ended = dependencies.ended() => break Err(ended.into()),
            Some(_) = servers.join_next() => break Err("the HTTP port is not served any more".into()),
        }
    };
    info!("shutting down");
    manager.stopping();
    // Clients that are told to reconnect must not find this process again.
    servers.shutdown().await;
    let goodbyes = async {
        controller.drain().await;
        controller.shut_down().await;
    };
    // A controller that hangs sends no goodbyes.
    if tokio::time::timeout(GOODBYE_MAX, goodbyes).await.is_ok() {
        // They are on their way through the sockets' tasks.
        tokio::time::sleep(GOODBYE).await;
        // Receivers learn of the end of rooms.
        let _ = tokio::time::timeout(GOODBYE_MAX, reload.webhooks.drain()).await;
    }
    outcome
}
