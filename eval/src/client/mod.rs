//! One client: its signalling, its descriptions, its transports.

mod downlink;
mod error;
mod offer;
mod participant;
mod plan;
mod signal;

pub use error::ParticipantError;
pub use participant::{Joining, Milestones, Participant};
pub use plan::{Mode, Plan};
pub use signal::{Count, Purpose, Server, Signal, SignalError, Traffic};
