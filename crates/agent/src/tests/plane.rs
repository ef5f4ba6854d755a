//! The model, and what was written to it.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

use dataplane::{
    Capabilities, Clock, DataPlane, Event, Inject, Leg, LegId, Model, Stream, StreamKey, Update, WriteError,
};

/// The model with a copy of its entries, for tests to look at.
pub(super) struct Plane {
    model: Model,
    legs: BTreeMap<LegId, Leg>,
    streams: BTreeMap<StreamKey, Stream>,
}

impl Plane {
    pub(super) fn new(clock: Clock) -> Self {
        Plane {
            model: Model::new(clock),
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
        }
    }

    pub(super) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(&id)
    }

    pub(super) fn stream(&self, key: StreamKey) -> Option<&Stream> {
        self.streams.get(&key)
    }
}

impl Deref for Plane {
    type Target = Model;
    fn deref(&self) -> &Model {
        &self.model
    }
}

impl DerefMut for Plane {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.model.write(now, update.clone())?;
        match update {
            Update::SetPace(..) => {}
            Update::SetLeg(id, leg) => drop(self.legs.insert(id, leg)),
            Update::RemoveLeg(id) => drop(self.legs.remove(&id)),
            Update::SetStream(key, stream) => drop(self.streams.insert(key, stream)),
            Update::RemoveStream(key) => drop(self.streams.remove(&key)),
            Update::SetReplica(..) | Update::RemoveReplica(_) => {}
        }
        Ok(())
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.model.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.model.poll()
    }

    fn counters(&mut self) -> dataplane::Counters {
        self.model.counters()
    }
}
