//! A participant as others are told of it, apart from what it publishes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::{ParticipantInfo, ParticipantSnapshot, ParticipantState};

/// A participant as others are told of it, apart from what it publishes.
pub(crate) struct Profile {
    pub(crate) sid: String,
    pub(crate) identity: String,
    pub(crate) name: String,
    pub(crate) metadata: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) state: ParticipantState,
    /// Since 1970-01-01 UTC.
    pub(crate) joined: Duration,
    /// Rises with every change others are told of.
    version: u32,
    /// How others were told of it last.
    snapshot: RefCell<Option<ParticipantSnapshot>>,
}

impl Profile {
    pub(crate) fn new(sid: String, identity: String, name: String, joined: Duration) -> Self {
        Self {
            sid,
            identity,
            name,
            metadata: String::new(),
            attributes: BTreeMap::new(),
            state: ParticipantState::Joining,
            joined,
            version: 0,
            snapshot: RefCell::default(),
        }
    }

    /// As it is after this many changes.
    pub(crate) fn at_version(self, version: u32) -> Self {
        Self { version, ..self }
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Others are to be told of a change.
    pub(crate) fn raise_version(&mut self) {
        self.version += 1;
    }

    /// Others may be told of it in other words, without a change of its version.
    pub(crate) fn forget_snapshot(&mut self) {
        drop(self.snapshot.take());
    }

    /// The snapshot of this version, made by `info` for the first who asks for it.
    pub(crate) fn snapshot(&self, info: impl FnOnce() -> ParticipantInfo) -> ParticipantSnapshot {
        let mut known = self.snapshot.borrow_mut();
        if let Some(snapshot) = known.as_ref().filter(|known| known.version == self.version) {
            debug_assert_eq!(**snapshot, info(), "a change without another version");
            return snapshot.clone();
        }
        known.insert(info().into()).clone()
    }
}
