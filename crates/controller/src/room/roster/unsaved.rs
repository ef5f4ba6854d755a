//! The participants that may differ from what was saved of them.

use std::collections::BTreeSet;

use super::Roster;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::saved::SavedParticipant;

/// Departures that are noted one by one. With more the next save looks at everybody.
const GONE_MAX: usize = 4_096;

/// The changes since the last save. A save of a large room then costs what has changed, and
/// not what the room has.
#[derive(Debug)]
pub(super) struct Unsaved {
    participants: BTreeSet<ParticipantKey>,
    /// The ids of those who have left.
    gone: Vec<String>,
    /// Anybody may have changed or left.
    is_anybody: bool,
}

/// The participants that a save is about.
#[derive(Debug)]
pub struct ParticipantChanges {
    /// Those who may have changed, or everybody.
    pub participants: Vec<SavedParticipant>,
    /// The ids of those who have left, unless everybody is among the participants.
    pub gone: Vec<String>,
    /// Everybody is among the participants.
    pub is_everybody: bool,
}

impl Default for Unsaved {
    /// Nobody was compared yet: nodes may have participants of an earlier room of the name.
    fn default() -> Self {
        Self {
            participants: BTreeSet::new(),
            gone: Vec::new(),
            is_anybody: true,
        }
    }
}

impl ParticipantChanges {
    /// Those of a room that is over.
    pub(crate) fn of_nobody() -> Self {
        Self {
            participants: Vec::new(),
            gone: Vec::new(),
            is_everybody: true,
        }
    }
}

impl Unsaved {
    pub(super) fn note(&mut self, key: ParticipantKey) {
        if !self.is_anybody {
            self.participants.insert(key);
        }
    }

    pub(super) fn note_all(&mut self) {
        self.participants.clear();
        self.is_anybody = true;
    }

    pub(super) fn note_departure(&mut self, participant: &Participant) {
        self.participants.remove(&participant.key);
        if self.is_anybody {
            return;
        }
        if self.gone.len() < GONE_MAX {
            self.gone.push(participant.profile.sid.clone());
        } else {
            self.gone.clear();
            self.note_all();
        }
    }
}

impl Roster {
    /// The participants that may have changed since this was last called, or all of them.
    pub(crate) fn take_changes(&mut self, is_everybody: bool) -> ParticipantChanges {
        let nothing = Unsaved {
            is_anybody: false,
            ..Unsaved::default()
        };
        let Unsaved {
            participants,
            gone,
            is_anybody,
        } = std::mem::replace(&mut self.unsaved, nothing);
        if is_everybody || is_anybody {
            return ParticipantChanges {
                participants: self.all().map(Participant::save).collect(),
                gone: Vec::new(),
                is_everybody: true,
            };
        }
        let changed = participants.iter().filter_map(|key| self.get(*key));
        ParticipantChanges {
            participants: changed.map(Participant::save).collect(),
            gone,
            is_everybody: false,
        }
    }

    /// Nobody saves the room.
    pub(crate) fn forget_changes(&mut self) {
        self.unsaved = Unsaved::default();
    }
}
