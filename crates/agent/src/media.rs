//! The media over all transports: the streams that arrive, their receivers, and the RTCP for both.
//!
//! Three states own the data: [`Uplink`] the publishers' streams, [`Downlink`] the receivers'
//! subscriptions, [`Budgets`] the estimate of each receiver's path. State shared by both directions
//! of a transport is in [`MediaTransports`]. In the order `transports`, `uplink`, `budgets`,
//! `downlink`, a state depends only on earlier ones. Operations on several of them are here:
//! `commands` executes the controller's commands, `events` handles the data plane's events,
//! `allocate` divides a downlink, `rtcp` reads and writes reports.

mod allocate;
mod budget;
mod commands;
mod downlink;
mod events;
mod media_transport;
mod observer;
mod quality;
mod rate_limit;
mod rtcp;
mod rtx_history;
mod uplink;

use budget::Budgets;
pub(crate) use downlink::Current;
use downlink::{Downlink, Env};
use media_transport::MediaTransports;
pub(crate) use uplink::UnmappedStream;
use uplink::Uplink;

/// All media of the node.
#[derive(Default)]
pub(crate) struct Media {
    transports: MediaTransports,
    uplink: Uplink,
    budgets: Budgets,
    downlink: Downlink,
}

impl Media {
    /// The receivers' side, and the parts that it uses.
    fn downlink(&mut self) -> (&mut Downlink, Env<'_>) {
        let env = Env {
            transports: &mut self.transports,
            uplink: &mut self.uplink,
            budgets: &self.budgets,
        };
        (&mut self.downlink, env)
    }

    /// Whether no state of any transport is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.transports.is_empty() && self.uplink.is_empty() && self.downlink.is_empty()
    }
}
