//! The state that all requests share.

use std::net::IpAddr;

use axum::http::HeaderValue;

use super::answers::Api;
use super::bodies::Bodies;
use super::health::Health;
use crate::clients::connection_slots::ConnectionSlots;
use crate::cluster::forward::Forwarder;
use crate::config;
use crate::controller_task::Handle;
use crate::frontends::Handles;
use crate::frontends::audit::AuditTrail;
use crate::http::metrics_endpoint::Endpoint;
use crate::media::ReceiverQuery;
use crate::metrics::Metrics;
use crate::settings::Current;
use crate::tls::Certificates;
use crate::websocket::Memory;

/// The parts that requests need.
pub(crate) struct Http {
    /// The controller.
    pub controller: Handle,
    /// Its front ends.
    pub front_ends: Handles,
    /// Keys, and access to metrics.
    pub settings: Current,
    /// Addresses by which this machine is reached, beside its own.
    pub node_ips: Vec<IpAddr>,
    /// Places of clients behind trusted proxies.
    pub proxied: ConnectionSlots,
    /// Places of bodies that are read.
    pub bodies: Bodies,
    /// The memory of messages that are being read.
    pub reading: Memory,
    /// The measurements.
    pub metrics: Metrics,
    /// Those of them that are shown.
    pub endpoint: Endpoint,
    /// Questions about receivers.
    pub receivers: ReceiverQuery,
    /// The newest actions of administrators.
    pub audit: AuditTrail,
    /// Limits of the server API.
    pub api: Api,
    /// Has requests answered by the controllers of their rooms.
    pub forwarder: Forwarder,
    /// The check of all parts.
    pub health: Health,
    /// HTTPS, if there is any.
    pub https: Option<Https>,
}

/// HTTPS as clients find it.
#[derive(Clone)]
pub(crate) struct Https {
    /// Its port.
    pub port: u16,
    /// Whether requests without TLS are redirected to it.
    pub redirect: bool,
    /// The time for which browsers use nothing else, if they are told to.
    pub hsts: Option<HeaderValue>,
    /// The certificates, with the answers to checks.
    pub certificates: Certificates,
}

impl Https {
    /// As it is configured, with these certificates.
    pub(crate) fn new(config: &config::Tls, certificates: Certificates) -> Self {
        let hsts = Some(config.hsts).filter(|seconds| *seconds > 0);
        let hsts = hsts.and_then(|seconds| HeaderValue::try_from(format!("max-age={seconds}")).ok());
        Https {
            port: config.port,
            redirect: config.redirect,
            hsts,
            certificates,
        }
    }
}
