//! Who may control calls.

use std::net::IpAddr;

use tracing::debug;

use crate::config;
use crate::metrics::Metrics;

/// The networks that may control calls, and what became of others.
pub struct Access {
    config: config::Sip,
    metrics: Metrics,
}

impl Access {
    /// As the operator has set it.
    pub fn new(config: config::Sip, metrics: Metrics) -> Self {
        Access { config, metrics }
    }

    /// Whether whoever is at this address may control calls. One who may not is counted, and gets no answer.
    pub fn admits(&self, from: IpAddr) -> bool {
        let allowed = self.config.allows(from);
        if !allowed {
            self.metrics.sip_denied();
            debug!(%from, "may not control calls");
        }
        allowed
    }
}
