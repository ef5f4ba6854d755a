//! `weir media`: a media node for controllers on other machines.

mod http;

use std::error::Error;

use tokio::task::JoinSet;
use tracing::{info, warn};

use super::dependencies::Dependencies;
use super::service_manager::ServiceManager;
use super::{begin, check, run_to_end};
use crate::cli;
use crate::cluster::southbound::node;
use crate::cluster::tls::ClusterTls;
use crate::config::Config;
use crate::http::listen;
use crate::log::Log;
use crate::os::refused::{self, Transport};
use crate::os::signals::{SignalRequest, Signals};
use crate::roles::http_ports::KeptPorts;
use crate::roles::{Process, media};

/// Runs the node until a signal.
///
/// Errors: it cannot start as it is configured, or a part that it cannot be without has ended.
pub(crate) fn run(mut arguments: cli::Serve) -> Result<(), Box<dyn Error>> {
    // Before there are threads: it takes names out of the environment.
    let kept_ports = KeptPorts::of_environment();
    arguments.is_keyless = true;
    let config = check::load(&arguments)?;
    let log = Log::start(&config.log)?;
    run_to_end("the media node ends", serve(&config, &log, kept_ports))
}

async fn serve(config: &Config, log: &Log, mut kept_ports: KeptPorts) -> Result<(), Box<dyn Error>> {
    // Before anything else: until then these signals end the process at once.
    let mut signals = Signals::listen()?;
    let (process, _housekeeping) = begin(config, log);
    let (media, mut controllers, ended) = start(config, &process).await?;
    media.reached.announce();
    let mut servers = http::serve(config, &media, &process.metrics, &mut kept_ports)?;
    let mut dependencies = Dependencies::new(ended);
    let manager = ServiceManager::of_environment();
    for name in kept_ports.close() {
        manager.forget(&name);
    }
    manager.ready();
    let outcome = loop {
        tokio::select! {
            asked = signals.next() => match asked {
                SignalRequest::Reload => warn!("a media node reads its configuration when it starts only"),
                SignalRequest::End => break Ok(()),
            },
            ended = dependencies.ended() => break Err(ended.into()),
            Some(_) = controllers.join_next() => break Err("controllers are not served any more".into()),
            Some(_) = servers.join_next() => break Err("the HTTP port is not served any more".into()),
        }
    };
    info!("shutting down");
    manager.stopping();
    outcome
}

/// Starts a node and serves its controllers until the tasks are dropped.
///
/// Errors: the configuration has no cluster, its certificate cannot be used, or the node does not
/// start.
pub(crate) async fn start(
    config: &Config,
    process: &Process,
) -> Result<(media::Media, JoinSet<()>, crate::media::media_thread::Ended), Box<dyn Error>> {
    let Some(cluster) = &config.cluster else {
        return Err(
            "`weir media` needs a section `cluster:` in the configuration: it says how controllers reach it".into(),
        );
    };
    let tls = ClusterTls::load(&cluster.files).map_err(|error| format!("`cluster:` {error}"))?;
    let listener = listen::bind(cluster.listen)
        .map_err(|error| refused::port(Transport::Tcp, cluster.listen, "cluster.listen", &error))?;
    let (media, running) = media::start_fenced(config, process).await?;
    info!(address = %cluster.listen, name = cluster.name, "controllers");
    let node = node::Node {
        id: running.id,
        connections: running.connections,
        waker: running.waker,
        versions: southbound::Versions::OURS,
        metrics: process.metrics.clone(),
    };
    Ok((media, node::serve(listener, tls, node), running.ended))
}
