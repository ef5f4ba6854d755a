//! The permission to control calls.

use std::net::IpAddr;

use tracing::debug;

use crate::clients::connection_slots::{ConnectionSlot, ConnectionSlots, Evicted, Limits};
use crate::config;
use crate::metrics::Metrics;
use crate::metrics::closed::Closed;
use crate::os::clock;

/// How many connections there may be over TCP and HTTP. Silent ones give way to others.
const CONNECTIONS: Limits = Limits {
    all: 1_024,
    per_address: 512,
    pending_per_address: 256,
};

/// The networks that may control calls, and what became of others.
pub(crate) struct Access {
    config: config::Sip,
    metrics: Metrics,
    slots: ConnectionSlots,
}

impl Access {
    /// As the operator has set it.
    pub(crate) fn new(config: config::Sip, metrics: Metrics) -> Self {
        Access {
            config,
            metrics,
            slots: ConnectionSlots::new(CONNECTIONS),
        }
    }

    /// A place for a connection from this address, if it may control calls and there is one.
    pub(crate) fn enter(&self, from: IpAddr) -> Option<(ConnectionSlot, Evicted)> {
        if !self.admits(from) {
            return None;
        }
        let entered = self.slots.enter(Some(from), clock::now());
        entered.inspect_err(|full| self.closed((*full).into())).ok()
    }

    /// Gives the place of the oldest silent connection away, as where the system has no more
    /// descriptors.
    pub(crate) fn evict_oldest(&self) {
        self.slots.evict_oldest(clock::now());
    }

    /// Counts a connection that we closed, or did not take.
    pub(crate) fn closed(&self, why: Closed) {
        self.metrics.control_closed(why);
    }

    /// Counts a datagram of a proxy that has as many as may wait.
    pub(super) fn crowded(&self) {
        self.metrics.sip_proxy_full();
    }

    /// Whether this address may control calls. A denied one is counted, and gets no answer.
    pub(crate) fn admits(&self, from: IpAddr) -> bool {
        let allowed = self.config.allows(from);
        if !allowed {
            self.metrics.sip_denied();
            debug!(%from, "may not control calls");
        }
        allowed
    }
}
