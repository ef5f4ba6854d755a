//! The decisions about the newest frames of a stream.

use std::collections::VecDeque;

use dataplane::Counter;
use dataplane::limits::FRAMES_MAX;

use super::decision::Decision;
use super::state::SelectionState;
use crate::shard::packet::frame::{FrameId, Numbering};

/// The decisions about the newest [`FRAMES_MAX`] frames, in the order of the frames.
///
/// Nearly always a frame is the newest or new, so it is a queue searched from its end.
#[derive(Debug, Default)]
pub(crate) struct History {
    numbering: Option<Numbering>,
    frames: VecDeque<Decided>,
}

#[derive(Clone, Copy, Debug)]
struct Decided {
    place: u64,
    decision: Decision,
    /// The selection after it.
    state: SelectionState,
}

/// The place of a frame among those decided.
pub(crate) enum Lookup {
    /// It is one of them.
    Known(Decision),
    /// Newer than all.
    Newer,
    /// Between them.
    Late {
        at: usize,
        /// The selection after the frame before it.
        state: SelectionState,
        /// Pictures that were held back before it.
        held_back: u16,
    },
    /// Older than all that are remembered.
    TooOld,
}

impl History {
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Forgets everything, but keeps the room.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.numbering = None;
    }

    /// Forgets frames that are numbered in another way.
    pub(crate) fn renumber(&mut self, numbering: Numbering) {
        if self.numbering != Some(numbering) {
            self.frames.clear();
            self.numbering = Some(numbering);
        }
    }

    /// The place of the newest frame.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.frames.back().map(|newest| newest.place)
    }

    /// The decision about the newest frame, and how frames are numbered.
    pub(crate) fn newest_decision(&self) -> Option<(Numbering, Decision)> {
        self.numbering.zip(self.frames.back().map(|newest| newest.decision))
    }

    pub(crate) fn find(&self, id: FrameId) -> Lookup {
        if self.numbering != Some(id.numbering) {
            return Lookup::Newer;
        }
        match self.search(id.place) {
            Ok(at) => Lookup::Known(self.frames[at].decision),
            Err(at) if at == self.frames.len() => Lookup::Newer,
            Err(0) if self.frames.len() >= FRAMES_MAX => Lookup::TooOld,
            Err(0) => Lookup::Late {
                at: 0,
                state: self.frames[0].state,
                held_back: self.frames[0].decision.held_back,
            },
            Err(at) => {
                let before = &self.frames[at - 1];
                Lookup::Late {
                    at,
                    state: before.state,
                    held_back: before.state.held_back,
                }
            }
        }
    }

    /// The decision about the frame at a place, in the numbering in use.
    pub(crate) fn at(&self, place: u64) -> Option<Result<(), Counter>> {
        let at = self.search(place).ok()?;
        Some(self.frames[at].decision.send)
    }

    fn search(&self, place: u64) -> Result<usize, usize> {
        let Some(last) = self.frames.len().checked_sub(1) else {
            return Err(0);
        };
        let newest = self.frames[last].place;
        if newest < place {
            return Err(self.frames.len());
        }
        // If no number is missing, it is as far from the end as it is older than the newest.
        let guess = usize::try_from(newest - place)
            .ok()
            .and_then(|back| last.checked_sub(back));
        match guess {
            Some(at) if self.frames[at].place == place => Ok(at),
            _ => self.frames.binary_search_by_key(&place, |frame| frame.place),
        }
    }

    /// Adds the newest frame.
    pub(crate) fn push(&mut self, id: FrameId, decision: Decision, state: SelectionState) {
        if self.frames.capacity() < FRAMES_MAX {
            self.frames.reserve_exact(FRAMES_MAX - self.frames.len());
        }
        if self.frames.len() == FRAMES_MAX {
            self.frames.pop_front();
        }
        let place = id.place;
        self.frames.push_back(Decided { place, decision, state });
    }

    /// Adds a late frame where [`find`](Self::find) found its place.
    pub(crate) fn insert_late(&mut self, mut at: usize, id: FrameId, decision: Decision, state: SelectionState) {
        if self.frames.len() == FRAMES_MAX {
            self.frames.pop_front();
            at -= 1;
        }
        let place = id.place;
        self.frames.insert(at, Decided { place, decision, state });
    }
}
