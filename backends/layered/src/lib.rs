//! A data plane in layers: a base that can do everything, and offloads in front of it that take the
//! entries they can.
//!
//! The base always has every entry. An entry that an offload takes is forwarded by the offload, and
//! its packets do not reach the base. An entry that all refuse runs in the base, and so do all
//! entries once the offloads are gone. So an offer costs nothing, and the agent need not know about
//! offloads: it drives a layer as any other [`DataPlane`]. Reports and counters are sums. A replica
//! is the exception: it is sent from one place only, and the base keeps an offload's replicas
//! paused.
//!
//! Relays and rooms are separate. Read [`relays`](RelayLayer) first: several offloads are in a row,
//! and the first that takes an entry has it. Then [`replicas`](ReplicaLayer), of which several are
//! put in front of each other. `places` is the view for operators and tests: the place of each
//! entry, and why it is not further in front.

#![forbid(unsafe_code)]

mod copied;
mod deferred_reports;
mod gone;
mod handover;
mod limits;
mod muted;
mod numbering;
mod places;
mod relays;
mod replicas;
mod take_overs;

use dataplane::{DataPlane, Offload, ReplicaOffload};

pub use places::{Entry, Place, Placed, Places};
pub use relays::RelayLayer;
pub use replicas::ReplicaLayer;

/// A data plane of any kind.
pub type AnyPlane = Box<dyn DataPlane + Send>;

/// The offloads of a composition, the first in front.
#[derive(Default)]
pub struct Offloads {
    /// Those for relays.
    pub relays: Vec<Box<dyn Offload + Send>>,
    /// Those for rooms.
    pub replicas: Vec<Box<dyn ReplicaOffload + Send>>,
}

impl Offloads {
    /// Puts them in front of a base.
    pub fn in_front_of(self, base: AnyPlane) -> AnyPlane {
        let put = |plane: AnyPlane, offload| -> AnyPlane { Box::new(ReplicaLayer::new(plane, offload)) };
        let plane = self.replicas.into_iter().rev().fold(base, put);
        match self.relays.is_empty() {
            true => plane,
            false => Box::new(RelayLayer::new(plane, self.relays)),
        }
    }
}
