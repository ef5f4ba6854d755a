//! The views that an operator has of a running server: typed values with one JSON form.
//!
//! The program writes them, `weir inspect` and the page read them. The page's types
//! (`web/src/operator.ts`, `web/src/admin/views.ts`) are generated from these: the test
//! `the_pages_types_are_these` compares them, and writes them with `OPERATOR_TYPES=write`.
//!
//! Plain data: nothing here reads a clock, a socket or another crate's state.

#![forbid(unsafe_code)]

pub mod audit;
pub mod cluster;
pub mod observation;
pub mod places;
pub mod receivers;
pub mod rooms;
#[cfg(test)]
mod typescript;

pub use audit::{AuditAction, AuditEntry, AuditLog, Bearer};
pub use cluster::Cluster;
pub use observation::{Observation, ParticipantObservation, Timeline, TimelineEntry, TimelineTrack};
pub use places::{Place, Places};
pub use receivers::{Receiver, Receivers};
pub use rooms::{ParticipantPage, ParticipantSummary, PublishedTrack, RoomOrder, RoomPage, RoomSummary};
