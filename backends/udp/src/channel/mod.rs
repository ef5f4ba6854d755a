//! The rings between the agent and a worker: commands one way, reports the other.
//!
//! [`command`] is sent to a shard and refers to streams by their [`source`]. [`report`] lists what
//! a worker reports, [`reports`] sends it, and [`events`] makes events of it. [`link`] has both
//! ends.

mod command;
mod counters;
mod events;
mod link;
mod loan;
mod report;
mod reports;
mod source;

pub(crate) use command::{Fill, ShardCommand};
pub(crate) use counters::CounterPage;
pub(crate) use link::{WorkerEnds, WorkerLink};
pub(crate) use loan::take_back;
pub(crate) use report::{Departed, Punted, PuntedRef, Report, UnknownStream};
pub(crate) use reports::{FEEDBACK_DELAY, ReportReader, Reports};
pub(crate) use source::{Generation, Source};
