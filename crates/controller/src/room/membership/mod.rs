//! Members of a room: joining, leaving and resuming, and the updates that others get of it.

mod administer;
pub(in crate::room) mod batching;
pub(in crate::room) mod budgets;
pub(in crate::room) mod join;
mod leave;
mod metadata;
mod resume;
mod rights;
mod simulate;
mod tick;
mod updates;
