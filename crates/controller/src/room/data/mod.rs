//! Messages between participants.

mod pass_on;
mod state;

pub(in crate::room) use pass_on::send_early;
pub(crate) use state::DataState;
pub use state::{LOSSY, RELIABLE};
