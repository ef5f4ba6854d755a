//! The media over all transports: which streams arrive, who gets them, and the RTCP both need.
//!
//! Three states own what there is: [`Uplink`] what publishers send, [`Downlink`] what receivers
//! get, [`Budgets`] what each receiver's path carries. What both directions of a transport share is
//! in [`MediaTransports`]. A state depends on those that stand before it in `transports`, `uplink`,
//! `budgets`, `downlink`, and on no other. What concerns several of them is done here: `commands`
//! carries out the controller's, `events` takes in the data plane's, `allocate` divides a downlink,
//! `rtcp` reads and writes reports.

mod allocate;
mod budget;
mod commands;
mod downlink;
mod events;
mod media_transport;
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
    /// The receivers' side, and what it uses of the others.
    fn downlink(&mut self) -> (&mut Downlink, Env<'_>) {
        let env = Env {
            transports: &mut self.transports,
            uplink: &mut self.uplink,
            budgets: &self.budgets,
        };
        (&mut self.downlink, env)
    }

    /// Whether nothing is left of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.transports.is_empty() && self.uplink.is_empty() && self.downlink.is_empty()
    }
}
