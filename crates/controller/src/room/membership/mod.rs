//! Members of a room: joining, leaving and resuming.

mod administer;
pub(in crate::room) mod join;
mod leave;
mod metadata;
pub(in crate::room) mod protocols;
mod resume;
mod rights;
mod simulate;
mod tick;
