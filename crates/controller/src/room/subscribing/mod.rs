//! Tracks on their way out: who gets which, and on which media section.

pub(in crate::room) mod deliver;
mod denials;
mod pauses;
mod subscribe;
