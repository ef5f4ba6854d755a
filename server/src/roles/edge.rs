//! The HTTP ports: signalling, the server API, the page and what operators look at.

use std::error::Error;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing::info;

use super::Process;
use super::controllers::Controllers;
use super::http_ports::{self, KeptPorts};
use super::media::Media;
use super::rooms::Rooms;
use super::sip::Sip;
use crate::clients::connection_slots::ConnectionSlots;
use crate::cluster::forward::Forwarder;
use crate::config::{self, Config};
use crate::frontends::audit::AuditTrail;
use crate::http::health::Health;
use crate::http::listen::{self, Front, Port};
use crate::http::metrics_endpoint::Endpoint;
use crate::http::{self, Api, Bodies, Http, Https};
use crate::media::ReceiverQuery;
use crate::settings::{Current, Settings};
use crate::tls;
use crate::websocket::Memory;

/// Open ports.
pub(crate) struct Edge {
    /// The check of all parts.
    pub health: Health,
    /// The settings of requests.
    pub settings: Current,
    /// Places of connections, and of clients behind proxies.
    pub slots: [ConnectionSlots; 2],
    /// The certificates in files, if there is HTTPS.
    pub certificates: Option<tls::Files>,
    /// Gets certificates, if they are got.
    pub acme: Option<tls::acme::Task>,
    /// The ports.
    pub ports: OpenPorts,
}

/// Ports that are open and not served yet.
pub(crate) struct OpenPorts {
    ports: Vec<Port>,
    controllers: Option<Controllers>,
    front: Front,
}

impl OpenPorts {
    /// The sockets that wait for connections, by their names.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = (String, &TcpListener)> {
        let listeners = self.ports.iter().map(|port| &port.listener);
        listeners.filter_map(|listener| Some((http_ports::name(listener.local_addr().ok()?), listener)))
    }

    /// Takes connections from now on. None of the tasks ends by itself.
    pub(crate) fn serve(self) -> JoinSet<()> {
        let mut tasks = listen::serve(self.ports, &self.front);
        if let Some(controllers) = self.controllers {
            tasks.spawn(controllers.serve(self.front));
        }
        tasks
    }
}

/// Opens the ports for what the other roles offer, but those that an earlier process has left open.
/// A controller without a node of its own has no `media`.
/// With `controllers`, each room has its controller among them.
///
/// Errors: a port or a certificate cannot be had.
pub(crate) fn start(
    config: &Config,
    media: Option<&Media>,
    rooms: &Rooms,
    sip: Option<&Sip>,
    controllers: Option<Controllers>,
    kept: &mut KeptPorts,
    process: &Process,
) -> Result<Edge, Box<dyn Error>> {
    let metrics = &process.metrics;
    let node_ips = media.map_or(&[][..], |media| &media.reached.ips);
    let query = media.map(|media| media.query.clone());
    let (mut https, mut certificates, mut acme) = (None, None, None);
    if let Some(config) = &config.tls {
        let opened = tls::open(sources(config, node_ips))?;
        metrics.watch_certificates(opened.certificates.clone());
        acme = opened.acme;
        https = Some(Https::new(config, opened.certificates));
        certificates = Some(opened.files);
    }
    let mut ports = Vec::new();
    if let Some(https) = &https {
        let certificates = Some(&https.certificates);
        ports.extend(http_ports::open(&config.bind, https.port, certificates, kept)?);
    }
    ports.extend(http_ports::open(&config.bind, config.port, None, kept)?);
    if let Some(media) = media {
        media.reached.announce();
    }
    if config.dev {
        announce(config, node_ips, https.as_ref());
    }
    let health = Health::new(
        rooms.controller.clone(),
        query.clone(),
        sip.map(Sip::probe),
        https.as_ref().map(|https| https.certificates.clone()),
    );
    let settings = Current::new(Settings::of(config));
    let slots = [(); 2].map(|()| ConnectionSlots::new((&config.limits).into()));
    let request_timeout = config.limits.request_timeout.0;
    let receivers = query.unwrap_or_else(ReceiverQuery::of_no_node);
    let http = Http {
        controller: rooms.controller.clone(),
        front_ends: rooms.front_ends.clone(),
        settings: settings.clone(),
        node_ips: config.rtc.node_ips.clone(),
        proxied: slots[1].clone(),
        bodies: Bodies::default(),
        reading: Memory::default(),
        endpoint: Endpoint::new(metrics.clone(), receivers.clone()),
        metrics: metrics.clone(),
        health: health.clone(),
        receivers,
        audit: AuditTrail::default(),
        api: Api::new(request_timeout),
        forwarder: controllers
            .as_ref()
            .map_or_else(Forwarder::local, |controllers| controllers.forwarder.clone()),
        https,
    };
    let front = Front {
        router: http::router(http, request_timeout),
        slots: slots[0].clone(),
        settings: settings.clone(),
        metrics: metrics.clone(),
        request_timeout,
        turn: media.and_then(|media| media.turn_over_tls.clone()),
    };
    Ok(Edge {
        health,
        settings,
        slots,
        certificates,
        acme,
        ports: OpenPorts {
            ports,
            controllers,
            front,
        },
    })
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
