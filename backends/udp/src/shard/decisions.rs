//! What was decided about the newest frames of a stream.

use std::collections::VecDeque;

use dataplane::Counter;
use dataplane::limits::FRAMES_MAX;

use super::frame::{FrameId, Numbering};
use super::select::Decision;
use super::selected::Selected;

/// The decisions about the newest [`FRAMES_MAX`] frames, in the order of the frames.
///
/// Nearly always a frame is the newest or new, so it is a queue searched from its end.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    numbering: Option<Numbering>,
    frames: VecDeque<Decided>,
}

#[derive(Clone, Copy, Debug)]
struct Decided {
    place: u64,
    decision: Decision,
    /// What is selected behind it.
    behind: Selected,
}

/// Where a frame stands among those decided.
pub(crate) enum Found {
    /// It is one of them.
    Known(Decision),
    /// Newer than all.
    Newer,
    /// Between them.
    Late {
        at: usize,
        /// What is selected behind the one before it.
        behind: Selected,
        /// Pictures that were held back before it.
        held_back: u16,
    },
    /// Older than all that are remembered.
    TooOld,
}

impl Decisions {
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

    /// What was decided about the newest frame, and how frames are numbered.
    pub(crate) fn newest_decision(&self) -> Option<(Numbering, Decision)> {
        self.numbering.zip(self.frames.back().map(|newest| newest.decision))
    }

    pub(crate) fn find(&self, id: FrameId) -> Found {
        if self.numbering != Some(id.numbering) {
            return Found::Newer;
        }
        match self.search(id.place) {
            Ok(at) => Found::Known(self.frames[at].decision),
            Err(at) if at == self.frames.len() => Found::Newer,
            Err(0) if self.frames.len() >= FRAMES_MAX => Found::TooOld,
            Err(0) => Found::Late {
                at: 0,
                behind: self.frames[0].behind,
                held_back: self.frames[0].decision.held_back,
            },
            Err(at) => {
                let before = &self.frames[at - 1];
                Found::Late {
                    at,
                    behind: before.behind,
                    held_back: before.behind.held_back,
                }
            }
        }
    }

    /// What was decided about the frame at a place, of the numbering in use.
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
        // Where no number is missing it is as far from the end as it is behind the newest.
        let guess = usize::try_from(newest - place)
            .ok()
            .and_then(|back| last.checked_sub(back));
        match guess {
            Some(at) if self.frames[at].place == place => Ok(at),
            _ => self.frames.binary_search_by_key(&place, |frame| frame.place),
        }
    }

    /// Adds the newest frame.
    pub(crate) fn push(&mut self, id: FrameId, decision: Decision, behind: Selected) {
        if self.frames.capacity() < FRAMES_MAX {
            self.frames.reserve_exact(FRAMES_MAX - self.frames.len());
        }
        if self.frames.len() == FRAMES_MAX {
            self.frames.pop_front();
        }
        let place = id.place;
        self.frames.push_back(Decided {
            place,
            decision,
            behind,
        });
    }

    /// Adds a late frame where [`find`](Self::find) found its place.
    pub(crate) fn insert_late(&mut self, mut at: usize, id: FrameId, decision: Decision, behind: Selected) {
        if self.frames.len() == FRAMES_MAX {
            self.frames.pop_front();
            at -= 1;
        }
        let place = id.place;
        self.frames.insert(
            at,
            Decided {
                place,
                decision,
                behind,
            },
        );
    }
}
