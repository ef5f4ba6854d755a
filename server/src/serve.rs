//! `weir serve`: puts the parts together and runs them until a signal.

pub(crate) mod check;
mod drain;
mod reach;
mod service_manager;

use std::error::Error;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::dataplane::Statistics;
use access::ApiKeys;
use agent::{Agent, Certificate};
use controller::Controller;
use southbound::{ControllerId, NodeId};
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::cli;
use crate::clients::places::{self, Places};
use crate::config::{self, Config, Crypto};
use crate::controller_task;
use crate::dataplane;
use crate::dependencies::Dependencies;
use crate::frontends;
use crate::http::health::Health;
use crate::http::listen;
use crate::http::listen::{Front, Port};
use crate::http::metrics_endpoint::Endpoint;
use crate::http::{self, Api, Bodies, Http, Https};
use crate::log::Log;
use crate::media::ReceiverQuery;
use crate::media::addresses::{self, Addresses, Known};
use crate::media::media_thread;
use crate::media::waker::Waker;
use crate::metrics::Metrics;
use crate::os::clock::Clocks;
use crate::os::cpu_latency::CpuLatency;
use crate::os::memory;
use crate::os::refused::{self, Transport};
use crate::os::signals::{Asked, Signals};
use crate::reload::Reload;
use crate::settings::{Current, Settings, api_keys};
use crate::sip;
use crate::tls::{self, Certificates};
use crate::webhooks;
use drain::Drain;
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
    let config = check::load(&arguments)?;
    let log = Log::start(&config.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serve(&arguments, config, &log));
    // A part that is stuck must not keep the process.
    runtime.shutdown_timeout(GOODBYE_MAX);
    if let Err(error) = &outcome {
        error!(%error, "the server ends");
    }
    drop(log);
    outcome
}

async fn serve(arguments: &cli::Serve, config: Config, log: &Log) -> Result<(), Box<dyn Error>> {
    // Before anything else: until then these signals end the process at once.
    let mut signals = Signals::listen()?;
    config.warnings.iter().for_each(|warning| warn!("{warning}"));
    if let Some(name) = config.rtc.rewriter.by_frames() {
        info!("{name} numbers replicas of streams with dependency descriptors; all others are numbered exactly");
    }
    if config.rtc.crypto == Crypto::Ring {
        gcm::use_ring_only();
    }
    let clocks = Clocks::read();
    let metrics = Metrics::default();
    metrics.watch_log(log.lost());
    let waker = Waker::default();

    let to_wake = waker.clone();
    let wake = Arc::new(move || to_wake.wake());
    let calls = config.sip.as_ref().map(calls);
    let opened = dataplane::open(&config.rtc.dataplane, &config.bind, calls.as_ref(), clocks.media, wake)?;
    let addresses = Addresses::of(&config);
    let known = addresses.now(&Known::default()).await?;
    let node_addresses = addresses::advertised(&known.reached);
    let turn = reach::start_turn(&config, &known.reached)?;
    let turn_over_tls = reach::over_tls(&config, turn.as_ref());
    let turn_statistics = turn
        .as_ref()
        .map(|turn| Arc::new(turn.statistics()) as Arc<dyn Statistics>);
    metrics.watch_dataplane(opened.statistics.into_iter().chain(turn_statistics).collect());
    let media_ports = config.rtc.dataplane.ports.clone();
    let candidates = addresses::at(&node_addresses, media_ports.range());
    let tcp_candidates = opened.tcp_port.map(|port| addresses::at(&node_addresses, port..=port));
    let certificate = Certificate::generate()?;
    let fingerprints = certificate.fingerprints();
    let agent = Agent::new(
        agent::Config {
            adaptation: config.rtc.adaptation,
            policy: config.rtc.policy.into(),
            rewriting: config.rtc.rewriter.into(),
            feedback: config.rtc.feedback.into(),
            playout_delay_max: config.rtc.playout_delay_max,
            last_n: config.rtc.last_n,
            clear_rtp: config.rtc.clear_rtp,
            node: NodeId(u64::from_ne_bytes(seed()?)),
            tcp_addresses: tcp_candidates.clone().unwrap_or_default(),
            ..agent::Config::new(candidates, certificate)
        },
        clocks.media,
        u64::from_ne_bytes(seed()?),
    );

    let (receiver_query, questions) = ReceiverQuery::new(waker.clone());
    // Aborted when it is dropped.
    let mut following = JoinSet::new();
    following.spawn(log.limit().report());
    let ports = (media_ports.clone(), opened.tcp_port);
    following.spawn(reach::follow(addresses, known, ports, receiver_query.clone(), turn));
    following.spawn(memory::give_back());
    let cpu_latency = config.rtc.cpu_latency.and_then(CpuLatency::permitted);
    let node = media_thread::start(agent, opened.plane, waker, questions, metrics.clone(), cpu_latency)?;
    let controller = Controller::new(
        controller_config(&config, seed()?, api_keys(&config), &node_addresses),
        clocks.wall,
        seed()?,
    );
    let (webhooks, webhooks_ended) = webhooks::start(metrics.clone());
    let settings = frontends::Settings {
        pings: config.signalling.pings(),
        sessions: places::Limits::from(&config.limits).sessions(),
        keys: api_keys(&config),
        wall: clocks.wall,
        seed: u64::from_ne_bytes(seed()?),
        room_events: webhooks.events(),
    };
    let (front_ends, handles) = frontends::all(settings, metrics.clone());
    let (controller, controller_ended) =
        controller_task::start(controller, front_ends, node.controller, metrics.clone());
    let mut dependencies = Dependencies::new(node.ended, controller_ended);
    dependencies.watch("webhooks", webhooks_ended);
    // Calls of SIP proxies end when it is dropped.
    let mut _sip_thread = None;
    let mut sip_handle = None;
    let services = config::services(&config);
    if let Some(settings) = &config.sip {
        let needs = sip::Dependencies {
            fingerprints: fingerprints.to_vec(),
            services,
            node_ips: node_addresses.clone(),
            clock: clocks.sip,
            seed: seed()?,
            node: node.relay,
            metrics: metrics.clone(),
        };
        let (handle, ended, thread) = sip::start(settings, needs)?;
        _sip_thread = Some(thread);
        dependencies.watch("SIP", ended);
        sip_handle = Some(handle);
    }

    let (mut https, mut certificates, mut acme) = (None, None, None);
    if let Some(config) = &config.tls {
        let opened = tls::open(sources(config, &node_addresses))?;
        metrics.watch_certificates(opened.certificates.clone());
        acme = opened.acme;
        https = Some(Https::new(config, opened.certificates));
        certificates = Some(opened.files);
    }

    let manager = ServiceManager::of_environment();
    let mut drain = Drain::new(controller.clone(), sip_handle.clone(), manager.clone());
    let served = https.as_ref().map(|https| https.certificates.clone());
    let health = Health::new(controller.clone(), receiver_query.clone(), sip_handle, served);
    let settings = Current::new(Settings::of(&config));
    let connections = [(); 2].map(|()| Places::new((&config.limits).into()));
    let request_timeout = config.limits.request_timeout.0;
    let router = http::router(
        Http {
            controller: controller.clone(),
            front_ends: handles.clone(),
            settings: settings.clone(),
            node_ips: config.rtc.node_ips.clone(),
            proxied: connections[1].clone(),
            bodies: Bodies::default(),
            endpoint: Endpoint::new(metrics.clone(), receiver_query.clone()),
            metrics: metrics.clone(),
            health: health.clone(),
            receivers: receiver_query,
            api: Api::new(request_timeout),
            https: https.clone(),
        },
        request_timeout,
    );
    if config.rtc.clear_rtp {
        warn!("rtc.clear_rtp: who offers media without encryption gets it without; for laboratories only");
    }
    let mut ports = Vec::new();
    if let Some(https) = &https {
        ports.extend(listen(&config.bind, https.port, Some(&https.certificates))?);
    }
    ports.extend(listen(&config.bind, config.port, None)?);
    for address in &node_addresses {
        info!(address = %media_ports.at(*address), "media");
    }
    for candidate in tcp_candidates.iter().flatten() {
        info!(address = %candidate, "media over TCP");
    }
    if config.dev {
        announce(&config, &node_addresses, https.as_ref());
    }
    let front = Front {
        router,
        places: connections[0].clone(),
        settings: settings.clone(),
        metrics,
        request_timeout,
        turn: turn_over_tls,
    };
    let mut reload = Reload {
        arguments,
        log,
        settings,
        places: connections,
        controller: controller.clone(),
        front_ends: handles,
        webhooks,
        certificates,
        config,
        key_error: None,
    };
    reload.start_webhooks().await;
    let mut servers = listen::serve(ports, &front);
    if let Some(acme) = acme {
        dependencies.watch("ACME", tokio::spawn(acme.run()));
    }
    manager.ready();
    manager.watch(health);
    let mut files_due = tokio::time::interval(FILES_EVERY);
    let outcome = loop {
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::Reload => reload.run().await,
                Asked::End => {
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

/// The calls that a data plane may relay.
fn calls(sip: &config::Sip) -> dataplane::Calls {
    dataplane::Calls {
        addresses: sip.interfaces.iter().map(|interface| interface.address).collect(),
        outlive: sip.state.is_some(),
    }
}

/// The sources of certificates. In development, one is made for the addresses of this machine.
fn sources(config: &config::Tls, node_addresses: &[IpAddr]) -> tls::Settings {
    tls::Settings {
        files: config.certificates.clone(),
        acme: config.acme.clone(),
        development: config.development.then(|| node_addresses.to_vec()),
    }
}

fn announce(config: &Config, node_addresses: &[IpAddr], https: Option<&Https>) {
    match &config.dev_key {
        Some(key) => info!(key, "development mode: everybody who reaches this server may join"),
        None => info!("development mode"),
    }
    let mut text = format!("\n  Weir is at http://localhost:{}\n", config.port);
    let fingerprint = https.and_then(|https| Some((https.port, https.certificates.fingerprint()?)));
    if let Some((port, fingerprint)) = fingerprint {
        for address in node_addresses {
            text += &format!("  and at https://{}\n", SocketAddr::new(*address, port));
        }
        text += &format!("  with a certificate of the SHA-256 fingerprint {fingerprint}\n");
    }
    // An error is ignored: the lines are only for readers.
    let _ = writeln!(io::stdout(), "{text}");
}

fn controller_config(config: &Config, id: [u8; 4], keys: ApiKeys, node_addresses: &[IpAddr]) -> controller::Config {
    let defaults = controller::Config::new(keys);
    controller::Config {
        controller: ControllerId::new(u32::from_ne_bytes(id)),
        auto_create: config.room.auto_create,
        empty_timeout: config.room.empty_timeout(),
        departure_timeout: config.room.departure_timeout(),
        participants_max: config.room.max_participants.unwrap_or(defaults.participants_max),
        remote_unmute: config.room.enable_remote_unmute,
        quotas: (&config.quotas).into(),
        visible: config.room.visible.into(),
        voices: config.audio.voices(),
        turn: config
            .turn
            .as_ref()
            .map(|turn| reach::turn_for_clients(turn, config.tls.as_ref(), node_addresses)),
        ..defaults
    }
}

/// Opens a port of HTTP, or with certificates of HTTPS, on every address; one family may be missing
/// on this machine, but not all.
fn listen(bind: &[IpAddr], port: u16, tls: Option<&Certificates>) -> Result<Vec<Port>, Box<dyn Error>> {
    let setting = if tls.is_some() { "tls.port" } else { "port" };
    let refused = |address, error| refused::port(Transport::Tcp, address, setting, error);
    let mut ports = Vec::new();
    let mut last = None;
    for address in bind {
        let address = SocketAddr::new(*address, port);
        match listen::bind(address) {
            Ok(listener) => {
                info!(%address, tls = tls.is_some(), "signalling");
                ports.push(Port {
                    listener,
                    tls: tls.cloned(),
                });
            }
            Err(error) if bind.len() > 1 && error.kind() != std::io::ErrorKind::AddrInUse => {
                warn!(%address, %error, "not listening");
                last = Some((address, error));
            }
            Err(error) => return Err(refused(address, &error).into()),
        }
    }
    match (ports.is_empty(), last) {
        (true, Some((address, error))) => Err(refused(address, &error).into()),
        _ => Ok(ports),
    }
}

fn seed<const N: usize>() -> Result<[u8; N], Box<dyn Error>> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the operating system gives no randomness: {error}"))?;
    Ok(bytes)
}
