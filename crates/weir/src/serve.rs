//! `weir serve`: puts the parts together and runs them until a signal.

use std::error::Error;
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Certificate};
use controller::Controller;
use controller::livekit::ApiKeys;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::clock::Clocks;
use crate::config::{Config, Log, Offload, Rooms};
use crate::cpu_latency::CpuLatency;
use crate::http::{self, Http};
use crate::metrics::Metrics;
use crate::observe::Observer;
use crate::scrape::Scrape;
use crate::{cli, listen, node, plane, signal, sip};

/// How many notices may wait for the controller before the agent waits for it.
const NOTICES_MAX: usize = 16_384;

/// How long clients' last messages may take to leave.
const GOODBYE: Duration = Duration::from_millis(300);

/// Runs the switch.
pub fn run(arguments: cli::Serve) -> Result<(), Box<dyn Error>> {
    let config = Config::load(arguments)?;
    start_log(&config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(serve(config))
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    if let Some(name) = config.rtc.rewriter.by_frames() {
        info!("{name} numbers replicas of streams with dependency descriptors; all others are numbered exactly");
    }
    let clocks = Clocks::read();
    let metrics = Metrics::default();
    let waker = node::Waker::default();

    let to_wake = waker.clone();
    let plane = plane::open(&config, clocks.media, Arc::new(move || to_wake.wake()), &metrics)?;
    let candidates = candidates(&config)?;
    let agent = Agent::new(
        agent::Config {
            adaptation: config.rtc.adaptation,
            policy: config.rtc.policy.into(),
            rewriting: config.rtc.rewriter.into(),
            playout_delay_max: config.rtc.playout_delay_max,
            last_n: config.rtc.last_n,
            clear_rtp: config.rtc.clear_rtp,
            copies: config.rtc.offload == Offload::Ebpf && config.rtc.ebpf.rooms != Rooms::None,
            ..agent::Config::new(candidates.clone(), Certificate::generate()?)
        },
        clocks.media,
        u64::from_ne_bytes(seed()?),
    );

    let (notices, noticed) = mpsc::channel(NOTICES_MAX);
    let (observations, observed) = mpsc::channel(NOTICES_MAX);
    let node = agent.node();
    let listeners = node::Listeners { notices, observations };
    let (observer, questions) = Observer::new(waker.clone());
    let cpu_latency = config.rtc.cpu_latency.and_then(CpuLatency::permitted);
    let commands = node::start(agent, plane, waker, listeners, questions, metrics.clone(), cpu_latency)?;
    let keys = config.keys.iter().fold(ApiKeys::default(), |keys, (key, secret)| {
        keys.with(key.as_str(), secret.as_str())
    });
    let controller = Controller::new(controller_config(&config, keys.clone()), clocks.wall, seed()?);
    let controller = signal::start(controller, noticed, commands.clone(), metrics.clone());
    if let Some(config) = &config.sip {
        let parts = sip::Parts {
            fingerprint: node.fingerprint,
            clock: clocks.sip,
            seed: seed()?,
            commands,
            observed,
            metrics: metrics.clone(),
        };
        sip::start(config, parts).await?;
    }

    let dev_key = config.keys.keys().next().filter(|_| config.dev).cloned();
    let router = http::router(Http {
        controller: controller.clone(),
        keys,
        dev_key,
        scrape: Scrape::new(metrics.clone(), observer.clone(), config.metrics.clone()),
        metrics,
        observer,
    });
    if config.rtc.clear_rtp {
        warn!("rtc.clear_rtp: who offers media without encryption gets it without; for laboratories only");
    }
    let listeners = listen(&config).await?;
    for candidate in &candidates {
        info!(address = %candidate, "media");
    }
    if config.dev {
        info!("development mode: everybody who reaches this server may join; API key \"devkey\", secret \"secret\"");
        println!("\n  Weir is at http://localhost:{}\n", config.port);
    }
    let servers = listen::serve(listeners, &router);
    shutdown().await;
    info!("shutting down");
    controller.shut_down().await;
    // The goodbyes are on their way through the sockets' tasks.
    tokio::time::sleep(GOODBYE).await;
    servers.into_iter().for_each(|server| server.abort());
    Ok(())
}

fn controller_config(config: &Config, keys: ApiKeys) -> controller::Config {
    let defaults = controller::Config::new(keys);
    controller::Config {
        auto_create: config.room.auto_create,
        empty_timeout: config.room.empty_timeout(),
        participants_max: config.room.max_participants.unwrap_or(defaults.participants_max),
        visible: config.room.visible.into(),
        voices: config.audio.voices(),
        ..defaults
    }
}

/// Opens the HTTP port on every address; one family may be missing on this machine, but not all.
async fn listen(config: &Config) -> Result<Vec<TcpListener>, Box<dyn Error>> {
    let mut listeners = Vec::new();
    let mut last = None;
    for address in &config.bind {
        let address = SocketAddr::new(*address, config.port);
        match listen::bind(address) {
            Ok(listener) => {
                info!(%address, "signalling");
                listeners.push(listener);
            }
            Err(error) if config.bind.len() > 1 && error.kind() != std::io::ErrorKind::AddrInUse => {
                warn!(%address, %error, "not listening");
                last = Some(error);
            }
            Err(error) => return Err(format!("cannot listen on {address}: {error}").into()),
        }
    }
    match (listeners.is_empty(), last) {
        (true, Some(error)) => Err(format!("cannot listen on port {}: {error}", config.port).into()),
        _ => Ok(listeners),
    }
}

/// Where peers send media: what the operator said, or else this machine's own addresses.
fn candidates(config: &Config) -> Result<Vec<SocketAddr>, Box<dyn Error>> {
    let mut addresses = config.rtc.node_ips.clone();
    if addresses.is_empty() {
        let own: Vec<IpAddr> = if_addrs::get_if_addrs()?
            .iter()
            .map(|interface| interface.ip())
            .collect();
        addresses = config.bind.iter().flat_map(|bound| reached_by(*bound, &own)).collect();
    }
    addresses.sort_by_key(|address| (address.is_ipv6(), *address));
    addresses.dedup();
    if addresses.is_empty() {
        return Err("no address for media: this machine has none but loopback; say one with --node-ip".into());
    }
    Ok(addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, config.rtc.port))
        .collect())
}

/// The addresses of this machine that reach a socket bound to `bound`. Link-local ones need a zone and are left out.
fn reached_by(bound: IpAddr, own: &[IpAddr]) -> Vec<IpAddr> {
    if !bound.is_unspecified() {
        return vec![bound];
    }
    let link_local = |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let same_family = own.iter().filter(|address| address.is_ipv4() == bound.is_ipv4());
    same_family
        .filter(|address| !address.is_loopback() && !link_local(address))
        .copied()
        .collect()
}

fn seed<const N: usize>() -> Result<[u8; N], Box<dyn Error>> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the operating system gives no randomness: {error}"))?;
    Ok(bytes)
}

fn start_log(log: &Log) -> Result<(), Box<dyn Error>> {
    let filter = tracing_subscriber::EnvFilter::try_new(&log.level)
        .map_err(|error| format!("log level {:?}: {error}", log.level))?;
    let ansi = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(ansi)
        .with_writer(std::io::stderr);
    match log.json {
        true => builder.json().init(),
        false => builder.init(),
    }
    Ok(())
}

async fn shutdown() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
