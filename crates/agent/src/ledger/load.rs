//! The messages that a controller has, of one sender or of all.

use crate::limits::{MESSAGE_MAX, WITH_CONTROLLER_BYTES_MAX, WITH_CONTROLLER_MAX};

/// Messages, and their bytes without what each costs besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

impl Load {
    pub(super) fn add(&mut self, len: usize) {
        self.messages += 1;
        self.bytes += len;
    }

    pub(super) fn remove(&mut self, len: usize) {
        self.messages -= 1;
        self.bytes -= len;
    }

    /// Whether a sender with this may have one more message beside those of all senders. As much as
    /// it has then is free, so that it never takes the last place. A sender without any may have
    /// one.
    pub(super) fn leaves_room(self, all: Self) -> bool {
        let free = WITH_CONTROLLER_MAX.saturating_sub(all.messages);
        let free_bytes = WITH_CONTROLLER_BYTES_MAX.saturating_sub(all.bytes);
        self.messages == 0 || self.messages < free && self.bytes + MESSAGE_MAX <= free_bytes
    }
}
