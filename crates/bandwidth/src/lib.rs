//! Estimates the capacity of one receiver's downlink from reports of arrived packets.
//!
//! There is one sans-IO estimator per downlink leg. Its input is sent packets and transport-wide
//! feedback. Its output is a rate and, now and then, a request to send a short burst of padding
//! that probes for more room. Start with [`estimator`], the trait, which has all inputs and
//! outputs. [`Gcc`] is the one Weir uses: Google congestion control in the form browsers and SFUs
//! run it. Pacing is done elsewhere, by the crate `pacing`, in the data plane.
//!
//! Times are `std::time::Instant` arguments. No code here reads a clock, and one history of inputs
//! gives one history of estimates.
//!
//! Source: Carlucci et al., "Congestion Control for Web Real-Time Communication", IEEE/ACM ToN
//! 2017; draft-ietf-rmcat-gcc-02; draft-holmer-rmcat-transport-wide-cc-extensions-01.

#![forbid(unsafe_code)]

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
