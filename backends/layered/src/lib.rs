//! A data plane of two: a base that can do everything, and in front of it an offload that takes
//! what it can.
//!
//! The base has every entry, always. An entry the offload takes as well is forwarded there, and the
//! base never sees its packets; an entry it refuses runs in the base, as all of them do once the
//! offload is gone. So nothing is lost by trying, and the agent need not know: it drives a
//! [`Layered`] as any other [`DataPlane`](dataplane::DataPlane). Reports and counters are sums of
//! both. A replica is the exception: it is sent by one of them only, and the base keeps those of
//! the offload paused.
//!
//! Read `plane` first. `places` is what operators and tests look at: which entry runs where, and
//! why.

#![forbid(unsafe_code)]

mod answers;
mod moves;
mod places;
mod plane;
mod stamped;
mod voices;

pub use places::{Entry, Place, Places};
pub use plane::Layered;
