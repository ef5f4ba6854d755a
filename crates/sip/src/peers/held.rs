//! Requests whose machine is looked for, or that another machine carries out.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use southbound::NodeId;

use crate::call::CallName;
use crate::limits::{HELD_BYTES_MAX, HELD_MAX};
use crate::messages::{PassedRequest, RepeatKey, RequestId};

/// A request that is not carried out yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) request: PassedRequest,
    pub(super) call: CallName,
    /// It begins the call where nobody has it.
    pub(super) begins: bool,
    /// The machine that passed it on to this one. It is not passed on again.
    pub(super) by: Option<NodeId>,
    /// The machine that it was passed on to.
    pub(super) at: Option<NodeId>,
    /// How often its machine was looked for.
    pub(super) attempts: u32,
    /// It is refused then.
    pub(super) until: Instant,
}

/// Why a request is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// The same request is held already.
    Repeated,
    /// There are as many as there may be.
    Full,
}

/// All requests that are held.
#[derive(Debug, Default)]
pub(super) struct HeldRequests {
    requests: BTreeMap<RequestId, Held>,
    deadlines: BTreeSet<(Instant, RequestId)>,
    /// Those of proxies here, which repeat them under the same cookie.
    repeat_keys: HashSet<RepeatKey>,
    bytes: usize,
}

impl HeldRequests {
    pub(super) fn insert(&mut self, id: RequestId, held: Held) -> Result<(), NotHeld> {
        let len = held.request.message.len();
        let key = held.request.repeat_key().filter(|_| held.by.is_none());
        if key.as_ref().is_some_and(|key| self.repeat_keys.contains(key)) {
            return Err(NotHeld::Repeated);
        }
        if self.requests.len() >= HELD_MAX || self.bytes + len > HELD_BYTES_MAX {
            return Err(NotHeld::Full);
        }
        self.repeat_keys.extend(key);
        self.bytes += len;
        self.deadlines.insert((held.until, id));
        self.requests.insert(id, held);
        Ok(())
    }

    pub(super) fn get(&self, id: RequestId) -> Option<&Held> {
        self.requests.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: RequestId) -> Option<&mut Held> {
        self.requests.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: RequestId) -> Option<Held> {
        let held = self.requests.remove(&id)?;
        self.deadlines.remove(&(held.until, id));
        self.bytes -= held.request.message.len();
        if held.by.is_none()
            && let Some(key) = held.request.repeat_key()
        {
            self.repeat_keys.remove(&key);
        }
        Some(held)
    }

    /// The requests that this machine was passed.
    pub(super) fn at(&self, peer: NodeId) -> Vec<RequestId> {
        let there = self.requests.iter().filter(|(_, held)| held.at == Some(peer));
        there.map(|(id, _)| *id).collect()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// The next request whose time is over.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(RequestId, Held)> {
        let (_, id) = *self.deadlines.first().filter(|(until, _)| *until <= now)?;
        self.remove(id).map(|held| (id, held))
    }
}
