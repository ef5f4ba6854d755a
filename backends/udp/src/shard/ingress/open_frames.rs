//! The frames of which a part has arrived since the last batch.

use crate::shard::Shard;
use crate::shard::stream::StreamState;
use crate::slab::Slab;

/// The streams whose last packet is not the last one of its frame.
#[derive(Debug, Default)]
pub(crate) struct OpenFrames {
    /// The slots of such streams.
    open: Vec<usize>,
    /// Those that are waited for, and how many packets each had before.
    awaited: Vec<(usize, u64)>,
}

impl OpenFrames {
    /// Records a packet, which may be the last of its frame.
    #[inline]
    pub(crate) fn arrived(&mut self, stream: usize, ends: bool) {
        match self.open.iter().rposition(|open| *open == stream) {
            Some(slot) if ends => drop(self.open.swap_remove(slot)),
            None if !ends => self.open.push(stream),
            Some(_) | None => {}
        }
    }

    /// Forgets all frames: what has arrived is sent now, whole or not.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
        self.awaited.clear();
    }

    fn is_worth_it(&mut self, streams: &mut Slab<StreamState>, again: bool) -> bool {
        self.awaited.clear();
        for slot in &self.open {
            let stream = &mut streams[*slot];
            if stream.frame_wait.waits(again).is_worth_it() {
                self.awaited.push((*slot, stream.statistics.packets));
            }
        }
        !self.awaited.is_empty()
    }

    fn waited(&mut self, streams: &mut Slab<StreamState>, again: bool) {
        for (slot, before) in self.awaited.drain(..) {
            let stream = &mut streams[slot];
            let arrived = stream.statistics.packets > before;
            stream.frame_wait.waits(again).waited(arrived);
        }
    }
}

impl Shard {
    /// Whether a short wait, or one more, is likely to bring the rest of frames of which a part has
    /// arrived since the last [`work`](Self::work). A worker that waits calls
    /// [`waited`](Self::waited) after it has received again.
    pub fn awaits_frame_end(&mut self, again: bool) -> bool {
        self.open_frames.is_worth_it(&mut self.tables.streams, again)
    }

    /// Records that a wait, or one more, is over.
    pub fn waited(&mut self, again: bool) {
        self.open_frames.waited(&mut self.tables.streams, again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_open_until_its_end() {
        let mut open_frames = OpenFrames::default();
        open_frames.arrived(3, false);
        open_frames.arrived(5, false);
        open_frames.arrived(3, false);
        assert_eq!(open_frames.open, [3, 5]);
        open_frames.arrived(3, true);
        open_frames.arrived(7, true);
        assert_eq!(open_frames.open, [5]);
        open_frames.forget();
        assert!(open_frames.open.is_empty());
    }
}
