//! Simulated links for bandwidth estimators: virtual time, seeded, no socket.
//!
//! A [`Scenario`] is a link (rate over time, drop-tail queue, loss, delay, jitter, reordering,
//! cross traffic) and the flows on it. [`run()`](run::run) plays it with an estimator per flow and
//! gives a [`Trace`]; [`judge`] rates the trace. The same scenarios run with Weir's estimator and
//! with another one ([`peer`]).
//!
//! `cargo run -p links --release --example report` plays all of them and writes the table and the
//! plots of `docs/design/bandwidth.md`.

#![forbid(unsafe_code)]

pub mod capacity;
pub mod claim;
pub mod flow;
pub mod judge;
pub mod link;
pub mod loss;
pub mod peer;
pub mod plot;
pub mod receiver;
mod repeats;
pub mod report;
pub mod run;
pub mod scenario;
pub mod source;

pub use capacity::Capacity;
pub use claim::Claim;
pub use judge::Judgement;
pub use loss::Loss;
pub use run::{Candidate, Sample, Trace, run};
pub use scenario::{Scenario, catalogue};
pub use source::Media;
