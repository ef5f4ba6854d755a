//! Who is in a room: coming, going and coming back, and what the others are told of it.

mod administer;
pub(in crate::room) mod budgets;
pub(in crate::room) mod batching;
pub(in crate::room) mod join;
mod leave;
mod metadata;
mod resume;
mod rights;
mod simulate;
mod tick;
mod updates;
