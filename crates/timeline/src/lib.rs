//! The flight recorder: what the server saw and decided for each participant, in rings of fixed
//! size, and the sentences that follow from them.
//!
//! A [`Recorder`] has a [`Ring`] for each participant, by room and identity, also for a while after
//! the participant has left. It never reads a clock. [`verdict()`] turns a ring into [`Finding`]s.

#![forbid(unsafe_code)]

mod code;
mod limits;
mod names;
mod record;
mod recorder;
mod ring;
mod verdict;

pub use limits::{NAMES, RECORDS, RING_LEN};
pub use recorder::{Config, Counter, Counters, Recorder, Recording, Timestamp};
pub use ring::Ring;
pub use verdict::{Cause, FINDINGS_MAX, Finding, Severity, Verdict, verdict};
