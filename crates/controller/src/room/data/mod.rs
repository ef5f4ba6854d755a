//! Messages between participants.

mod blobs;
mod calls;
mod leavers;
mod pass_on;
mod state;
mod tracks;

pub(crate) use blobs::Blobs;
pub(crate) use calls::Calls;
pub(crate) use leavers::{Leaver, Leavers};

pub(in crate::room) use pass_on::send_early;
pub(crate) use state::DataState;
pub use state::{DATA_TRACK, LOSSY, RELIABLE};
pub(crate) use tracks::{DataTracks, OwnDataTracks};
