//! How much one receiver's downlink can carry, learnt from what it says arrived.
//!
//! A sans-IO estimator per downlink leg: packets that left go in, transport-wide feedback goes in,
//! a rate comes out, and now and then a request to send a short burst of padding that finds out
//! whether there is room for more. Read [`estimator`] first: the trait that an estimator is, with
//! everything that goes in and out. [`Gcc`] is the one Weir uses: Google congestion control in the
//! form browsers and SFUs run it. Spreading what leaves is not its work: the crate `pacing` does
//! that, where packets leave.
//!
//! Times are `std::time::Instant` arguments; nothing here reads a clock, and one history of inputs
//! gives one history of estimates.
//!
//! Source: Carlucci et al., "Congestion Control for Web Real-Time Communication", IEEE/ACM ToN
//! 2017; draft-ietf-rmcat-gcc-02; draft-holmer-rmcat-transport-wide-cc-extensions-01.

pub mod estimator;

mod acknowledged;
mod aimd;
mod app_limited;
mod bursts;
mod cluster;
mod confirm_lower;
mod delay;
mod detector;
mod feedback_timeout;
mod gcc;
mod groups;
pub mod history;
pub mod limits;
mod loss;
mod overflow;
mod probe;
mod queue;
mod recent_capacity;
mod remb;
mod trendline;

pub use estimator::{Anomalies, Config, Estimate, Estimator, Limit, Probe, ProbeId, Sent, Usage};
pub use gcc::Gcc;
pub use history::{Fate, History, Known};
