//! Calls of SIP proxies: the sockets for proxies, and the task that owns all calls.
//!
//! [`task`] owns the state machine; [`datagrams`], [`streams`], [`http`] and [`websocket`] bring it
//! the [`requests`] of proxies and take its answers. [`journal`] keeps calls beyond the end of the
//! process, where configured. Commands go to the media node like the controller's, and its notices
//! arrive like the controller's.

mod access;
mod client;
mod datagrams;
mod dependencies;
mod http;
mod journal;
mod machine;
mod notify;
mod others;
mod requests;
mod saver;
mod shares;
mod streams;
mod task;
mod thread;
mod websocket;

use std::error::Error;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use sip::CallController;
use southbound::Fingerprint;
use tokio::task::JoinHandle;
use tracing::info;

use crate::config;
use crate::os::clock::Clocks;
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::udp;
use access::Access;
pub(crate) use dependencies::Dependencies;
pub(crate) use requests::Handle;
use requests::Protocol;
use saver::Saver;
pub(crate) use thread::SipThread;

/// Listens to proxies, and serves them from now on, on a thread of their own. The task is the one
/// that has all calls.
///
/// Errors: what the operator has set cannot be had on this machine.
pub(crate) fn start(
    config: &config::Sip,
    needs: Dependencies,
) -> Result<(Handle, JoinHandle<()>, SipThread), Box<dyn Error>> {
    check_addresses(config)?;
    let mut settings = settings(config, &needs.fingerprints);
    settings.destinations.services.extend(&needs.services);
    settings.destinations.machine = machine::read(config, &needs.node_ips);
    settings.cluster = needs.cluster.as_ref().map(|(own, _)| *own);
    let relay =
        CallController::new(settings, needs.clock, needs.seed).map_err(|refused| format!("sip: {}", why(&refused)))?;
    let access = Arc::new(Access::new(config.clone(), needs.metrics.clone()));
    let kept = config.state.as_deref().map(Saver::start).transpose()?;
    let (thread, runtime) = SipThread::start()?;
    let entered = runtime.enter();
    let (handle, running) = task::start(relay, needs, config.clone(), access.clone(), kept);
    listen(config, &handle, &access)?;
    drop(entered);
    for interface in &config.interfaces {
        info!(
            interface = interface.name,
            address = %interface.address,
            ports = ?interface.ports.0,
            "media of SIP calls"
        );
    }
    Ok((handle, running, thread))
}

/// Whether calls could be relayed with these settings.
///
/// Errors: as those of [`start`], but for sockets that are in use and files.
pub(crate) fn check(config: &config::Sip) -> Result<(), String> {
    check_addresses(config)?;
    let relay = CallController::new(settings(config, &[]), Clocks::read().wall, [0; 32]);
    relay.map(drop).map_err(|refused| format!("sip: {}", why(&refused)))
}

fn check_addresses(config: &config::Sip) -> Result<(), String> {
    for interface in &config.interfaces {
        is_ours(interface.address).map_err(|error| {
            format!(
                "media of SIP calls cannot use {} ({error}): let `address` of interface {} be an address of this machine, and \
                 `advertise` the one that parties are to send to",
                interface.address, interface.name
            )
        })?;
    }
    Ok(())
}

/// Opens all sockets before any is served, so that a failure leaves nothing half open.
fn listen(config: &config::Sip, handle: &Handle, access: &Arc<Access>) -> Result<(), Box<dyn Error>> {
    let ng = config.ng.iter();
    let rtpproxy = config.rtpproxy.iter();
    let datagrams = ng
        .clone()
        .flat_map(|ng| ng.listen.iter().map(|at| (*at, Protocol::Ng, "sip.ng.listen")))
        .chain(rtpproxy.clone().flat_map(|it| {
            it.listen
                .iter()
                .map(|at| (*at, Protocol::Rtpproxy, "sip.rtpproxy.listen"))
        }));
    let datagrams = datagrams
        .map(|(at, protocol, setting)| {
            let bound = udp::bind_shared(at);
            Ok((named(at, "UDP", bound, (Transport::Udp, setting))?, protocol))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let streams = ng.clone().flat_map(|ng| ng.tcp.iter());
    let streams = streams
        .map(|at| named(*at, "TCP", crate::os::tcp::bind(*at), (Transport::Tcp, "sip.ng.tcp")))
        .collect::<Result<Vec<_>, String>>()?;
    let https = ng.flat_map(|ng| ng.http.iter());
    let https = https
        .map(|at| named(*at, "HTTP", crate::os::tcp::bind(*at), (Transport::Tcp, "sip.ng.http")))
        .collect::<Result<Vec<_>, String>>()?;
    let paths = rtpproxy.filter_map(|rtpproxy| rtpproxy.unix.as_deref());
    let paths = paths
        .map(|path| streams::bind_unix(path).map_err(|error| refused::unix_socket(path, "sip.rtpproxy.unix", &error)))
        .collect::<Result<Vec<_>, String>>()?;

    for (socket, protocol) in datagrams {
        tokio::spawn(datagrams::serve(socket, protocol, handle.clone(), access.clone()));
    }
    for listener in streams {
        tokio::spawn(streams::serve_tcp(listener, handle.clone(), access.clone()));
    }
    for listener in https {
        tokio::spawn(http::serve(listener, handle.clone(), access.clone()));
    }
    for listener in paths {
        tokio::spawn(streams::serve_unix(listener, handle.clone()));
    }
    Ok(())
}

fn named<T>(
    at: SocketAddr,
    what: &str,
    bound: std::io::Result<T>,
    (transport, setting): (Transport, &str),
) -> Result<T, String> {
    if bound.is_ok() {
        info!(address = %at, over = what, "control of SIP calls");
    }
    bound.map_err(|error| refused::port(transport, at, setting, &error))
}

/// Whether media can have this address.
fn is_ours(address: IpAddr) -> std::io::Result<()> {
    UdpSocket::bind((address, 0)).map(drop)
}

fn settings(config: &config::Sip, fingerprints: &[Fingerprint]) -> sip::Config {
    let interfaces = config.interfaces.iter().map(|interface| sip::Interface {
        name: interface.name.clone(),
        address: interface.address,
        advertised: interface.advertise,
        ports: interface.ports.0.clone(),
    });
    sip::Config {
        learning: config.learning.into(),
        learning_window: config.learning_window.0,
        media_timeout: config.media_timeout.0,
        silent_timeout: config.silent_timeout.0,
        offer_timeout: config.offer_timeout.0,
        delete_delay: config.delete_delay.0,
        calls_max: config.max_calls,
        fingerprints: fingerprints.to_vec(),
        tolerated: config.tolerate.iter().map(|what| (*what).into()).collect(),
        sip_source: config.sip_source,
        destinations: sip::Destinations {
            accepted: config.allow_media.iter().map(config::Network::range).collect(),
            services: config.control_addresses().copied().collect(),
            ..sip::Destinations::default()
        },
        saves: config.state.is_some(),
        ..sip::Config::new(interfaces.collect())
    }
}

fn why(refused: &sip::ConfigRefused) -> String {
    match refused {
        sip::ConfigRefused::NoInterface => "there is no interface for media".to_owned(),
        sip::ConfigRefused::NoAddress(name) => format!("interface {name} has no address that could be told to anybody"),
        sip::ConfigRefused::NoPorts(name) => format!("interface {name} has no room for an even port and the next"),
        sip::ConfigRefused::Overlap(one, other) => format!("interfaces {one} and {other} give out the same ports"),
    }
}
