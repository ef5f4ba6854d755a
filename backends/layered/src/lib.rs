//! A data plane in layers: a base that can do everything, and in front of it offloads that take
//! what they can.
//!
//! The base has every entry, always. An entry an offload takes as well is forwarded there, and the
//! base never sees its packets; an entry that all refuse runs in the base, as all of them do once
//! the offloads are gone. So nothing is lost by trying, and the agent need not know: it drives a
//! layer as any other [`DataPlane`]. Reports and counters are sums. A replica is the exception: it
//! is sent from one place only, and the base keeps those of an offload paused.
//!
//! Relays and rooms are apart. Read [`relays`](RelayLayer) first, where several offloads stand in a
//! row and the first that takes an entry has it; then [`replicas`](ReplicaLayer), of which several
//! are put in front of each other. `places` is what operators and tests look at: the place of each
//! entry, and why it is not further in front.

#![forbid(unsafe_code)]
#![warn(clippy::undocumented_unsafe_blocks, clippy::allow_attributes_without_reason)]

mod answers;
mod moves;
mod places;
mod relays;
mod replicas;
mod stamped;
mod voices;

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
