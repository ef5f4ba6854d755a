//! Tracks on their way in: announced, found in an offer, and how much of them is wanted.

mod track_permissions;
pub(in crate::room) mod backup;
mod demand;
pub(in crate::room) mod matching;
mod publish;
