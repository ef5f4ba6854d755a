//! Messages between participants.

mod blobs;
mod calls;
mod leavers;
mod pass_on;
mod state;
mod tracks;

pub(crate) use blobs::Blobs;
use calls::Calls;
pub(crate) use leavers::{Leaver, Leavers};

pub(in crate::room) use blobs::{get_blob, store_blob};
pub(in crate::room) use pass_on::{replay, send, send_early};
pub(crate) use state::DataState;
pub use state::{DATA_TRACK, LOSSY, RELIABLE};
use tracks::DataTracks;
pub(crate) use tracks::OwnDataTracks;

use slots::Account;

/// The messages of a room: calls that wait for an answer, data tracks, and packets that are kept.
#[derive(Debug)]
pub(in crate::room) struct Data {
    pub(in crate::room) calls: Calls,
    pub(in crate::room) tracks: DataTracks,
    /// Of the packets that are kept beyond the shares of participants.
    account: Account,
}

impl Data {
    /// Of a room with this account.
    pub(in crate::room) fn new(account: Account) -> Self {
        Self {
            calls: Calls::default(),
            tracks: DataTracks::default(),
            account,
        }
    }

    /// The packets of a new participant.
    pub(in crate::room) fn state(&self) -> DataState {
        DataState::new(&self.account)
    }
}
