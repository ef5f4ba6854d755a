//! Tracks on their way in: announced, found in an offer, and how much of them is wanted.

pub(in crate::room) mod backup;
mod demand;
pub(in crate::room) mod matching;
mod publish;
mod track_permissions;
