//! The state that all requests share.

use std::net::IpAddr;

use super::api::Api;
use super::health::Health;
use crate::clients::places::Places;
use crate::controller_task::Handle;
use crate::media::ReceiverQuery;
use crate::metrics::Metrics;
use crate::metrics::endpoint::Endpoint;
use crate::settings::Current;

/// The parts that requests need.
pub(crate) struct Http {
    /// The controller.
    pub controller: Handle,
    /// Keys, and access to metrics.
    pub settings: Current,
    /// Addresses by which this machine is reached, beside its own.
    pub node_ips: Vec<IpAddr>,
    /// Places of clients behind trusted proxies.
    pub proxied: Places,
    /// Places of sessions of WHIP and WHEP.
    pub sessions: Places,
    /// The measurements.
    pub metrics: Metrics,
    /// Those of them that are shown.
    pub endpoint: Endpoint,
    /// Questions about receivers.
    pub receivers: ReceiverQuery,
    /// Limits of the server API.
    pub api: Api,
    /// The check of all parts.
    pub health: Health,
}
