//! Speakers of a room: levels, the voices that are heard, and the order of attention.

pub(in crate::room) mod attention;
pub(in crate::room) mod levels;
pub(in crate::room) mod loudest;
mod speakers;
mod voices;
