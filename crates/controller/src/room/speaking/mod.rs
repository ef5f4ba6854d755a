//! Who speaks, who is heard and who has the attention of a room.

pub(in crate::room) mod attention;
pub(in crate::room) mod levels;
pub(in crate::room) mod loudest;
mod speakers;
mod voices;
