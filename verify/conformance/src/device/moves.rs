//! A base that records how replicas move between it and the switch in front of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Capabilities, Counters, DataPlane, Event, Inject, ReplicaId, ReplicaSnapshot, Statistics, Update, WriteError,
};

use crate::Injection;

/// A message for the model, with which it does the same as a base and a switch together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handover {
    /// A replica stops, or continues in the base.
    Base(Instant, Injection),
    /// A replica continues on the switch, in this state.
    Switch(Instant, ReplicaId, ReplicaSnapshot),
    /// The input of this step takes effect here.
    Step,
}

/// The moves so far, in order.
pub(super) type Log = Rc<RefCell<Vec<Handover>>>;

/// A base whose moves are recorded.
///
/// A replica stops when the base is asked to release it. It continues when the base is told to
/// resume it, or when the base keeps it silent because the switch sends it.
pub(super) struct Watched<B> {
    base: B,
    log: Log,
    /// Replicas that the base has released: the state, once it is known.
    released: BTreeMap<ReplicaId, Option<ReplicaSnapshot>>,
}

impl<B> Watched<B> {
    pub(super) fn new(base: B, log: Log) -> Self {
        Watched {
            base,
            log,
            released: BTreeMap::new(),
        }
    }

    pub(super) fn base_mut(&mut self) -> &mut B {
        &mut self.base
    }

    fn tell(&self, now: Instant, injection: Injection) {
        self.log.borrow_mut().push(Handover::Base(now, injection));
    }
}

impl<B: DataPlane> DataPlane for Watched<B> {
    fn capabilities(&self) -> Capabilities {
        self.base.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        if let Update::SetReplica(id, replica) = &update
            && replica.paused
            && replica.source.is_none()
            && let Some(Some(from)) = self.released.get(id).copied()
        {
            self.released.remove(id);
            self.log.borrow_mut().push(Handover::Switch(now, *id, from));
        }
        self.base.write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Release { replica, at_key_frame } => {
                self.released.insert(replica, None);
                self.tell(now, Injection::Release { replica, at_key_frame });
            }
            Inject::Resume { replica, from } => {
                if self.released.remove(&replica).is_none() {
                    // The switch had it.
                    let at_key_frame = true;
                    self.tell(now, Injection::Release { replica, at_key_frame });
                }
                self.tell(now, Injection::Resume(replica, from));
            }
            _ => {}
        }
        self.base.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        let event = self.base.poll()?;
        if let Event::Released { replica, from, .. } = &event {
            match from {
                Some(from) => drop(self.released.insert(*replica, Some(*from))),
                None => drop(self.released.remove(replica)),
            }
        }
        Some(event)
    }

    fn counters(&mut self) -> Counters {
        self.base.counters()
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        self.base.statistics()
    }
}
