//! Writing of entries: refusals, and effects on other entries.

use std::collections::btree_map::Entry;
use std::time::Instant;

use wire::Ssrc;

use super::replica::ReplicaState;
use super::stream::StreamState;
use super::{LegState, Model};
use crate::limits::{PATHS_MAX, SSRCS_PER_LEG_MAX, STREAMS_PER_LEG_MAX, STREAMS_PER_SHARED_LEG_MAX};
use crate::{Leg, LegId, Protection, Replica, ReplicaId, Stream, StreamKey, Update, WriteError};

impl Model {
    pub(super) fn apply(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        match update {
            Update::SetLeg(id, leg) => {
                self.set_leg(id, leg)?;
                self.send_early(now, id);
                Ok(())
            }
            Update::RemoveLeg(id) => self.remove_leg(id),
            Update::SetPace(id, _) => self.legs.get(&id).map(drop).ok_or(WriteError::UnknownLeg),
            Update::SetStream(key, stream) => self.set_stream(key, stream),
            Update::RemoveStream(key) => self.remove_stream(key),
            Update::SetReplica(id, replica) => self.set_replica(id, replica),
            Update::RemoveReplica(id) => self.replicas.remove(&id).map(drop).ok_or(WriteError::UnknownReplica),
            Update::SetFeedback(from, to) => self.set_feedback(from, to),
            Update::SetCopied(key, is_copied) => self.set_copied(key, is_copied),
            Update::SetRelay(at, relay) => self.set_relay(at, *relay),
            Update::RemoveRelay(at) => self.remove_relay(at),
        }
    }

    fn set_leg(&mut self, id: LegId, entry: Leg) -> Result<(), WriteError> {
        if entry.paths.len() > PATHS_MAX {
            return Err(WriteError::TableFull);
        }
        if entry.shared.is_some() && entry.paths.len() != 1 {
            return Err(WriteError::Unsupported);
        }
        let fixed = |leg: &Leg| leg.shared.map(|ssrc| (ssrc, leg.paths.clone()));
        if self.legs.get(&id).is_some_and(|old| fixed(&old.entry) != fixed(&entry)) {
            return Err(WriteError::Fixed);
        }
        let beside = |(other, state): &(&LegId, &LegState)| {
            **other != id && entry.paths.iter().any(|path| state.entry.paths.contains(path))
        };
        for (other, state) in self.legs.iter().filter(beside) {
            let ssrc = entry.shared.filter(|_| state.entry.shared.is_some());
            let ssrc = ssrc.ok_or(WriteError::PathTaken)?;
            if self.ssrcs_in(*other).any(|taken| taken == ssrc) {
                return Err(WriteError::SsrcTaken);
            }
        }
        match self.legs.entry(id) {
            Entry::Occupied(mut old) => {
                let old = old.get_mut();
                if entry.protection != Protection::Pending {
                    old.protected_punts = 0;
                }
                old.entry = entry;
            }
            Entry::Vacant(new) => {
                new.insert(LegState {
                    entry,
                    ssrcs_used: Default::default(),
                    unknown_streams: Default::default(),
                    protected_punts: 0,
                    transport_sequence: 0,
                    feedback: None,
                });
            }
        }
        Ok(())
    }

    /// The SSRCs that a leg's peer sends with.
    pub(super) fn ssrcs_in(&self, leg: LegId) -> impl Iterator<Item = Ssrc> {
        let of_rtcp = self.legs.get(&leg).and_then(|state| state.entry.shared);
        let streams = self.streams.iter().filter(move |(key, _)| key.leg == leg);
        of_rtcp
            .into_iter()
            .chain(streams.flat_map(|(key, stream)| [Some(key.ssrc), stream.entry.rtx].into_iter().flatten()))
    }

    /// The SSRCs that another leg at the path of this one is found by.
    fn ssrcs_beside(&self, leg: LegId) -> impl Iterator<Item = Ssrc> {
        let own = self.legs.get(&leg).map(|state| &state.entry);
        let path = own.filter(|entry| entry.shared.is_some()).map(|entry| entry.paths[0]);
        let others = self
            .legs
            .iter()
            .filter(move |(other, state)| **other != leg && path.is_some_and(|path| state.entry.paths.contains(&path)));
        others.flat_map(|(other, _)| self.ssrcs_in(*other))
    }

    fn remove_leg(&mut self, id: LegId) -> Result<(), WriteError> {
        self.legs.remove(&id).ok_or(WriteError::UnknownLeg)?;
        let others = self.legs.values_mut();
        others.for_each(|leg| leg.feedback = leg.feedback.filter(|to| *to != id));
        self.replicas.retain(|_, replica| replica.entry.leg != id);
        let streams: Vec<StreamKey> = self.streams.keys().filter(|key| key.leg == id).copied().collect();
        streams.into_iter().try_for_each(|key| self.remove_stream(key))
    }

    fn set_stream(&mut self, key: StreamKey, entry: Stream) -> Result<(), WriteError> {
        let leg = self.legs.get(&key.leg).ok_or(WriteError::UnknownLeg)?;
        let is_taken =
            |ssrc: Ssrc| leg.entry.shared == Some(ssrc) || self.ssrcs_beside(key.leg).any(|taken| taken == ssrc);
        if is_taken(key.ssrc) || entry.rtx.is_some_and(is_taken) {
            return Err(WriteError::SsrcTaken);
        }
        let others = || {
            self.streams
                .iter()
                .filter(|(other, _)| other.leg == key.leg && **other != key)
        };
        let uses = |ssrc| others().any(|(other, state)| other.ssrc == ssrc || state.entry.rtx == Some(ssrc));
        if uses(key.ssrc) || entry.rtx.is_some_and(uses) || entry.rtx == Some(key.ssrc) {
            return Err(WriteError::SsrcTaken);
        }
        let is_shared = self.legs.get(&key.leg).is_some_and(|leg| leg.entry.shared.is_some());
        let most = if is_shared {
            STREAMS_PER_SHARED_LEG_MAX
        } else {
            STREAMS_PER_LEG_MAX
        };
        if others().count() >= most {
            return Err(WriteError::TableFull);
        }
        match self.streams.entry(key) {
            Entry::Occupied(mut old) => {
                let rtx = entry.rtx;
                let before = std::mem::replace(&mut old.get_mut().entry, entry);
                if before.rtx != rtx {
                    self.forget_descriptions(key.leg, before.rtx);
                }
            }
            Entry::Vacant(new) => {
                new.insert(StreamState::new(entry));
            }
        }
        Ok(())
    }

    /// An SSRC that leaves the table is unknown anew: the agent is told of it again.
    fn forget_descriptions(&mut self, leg: LegId, ssrc: Option<Ssrc>) {
        if let Some(leg) = self.legs.get_mut(&leg) {
            leg.unknown_streams.retain(|description| Some(description.ssrc) != ssrc);
        }
    }

    fn set_copied(&mut self, key: StreamKey, is_copied: bool) -> Result<(), WriteError> {
        let stream = self.streams.get_mut(&key).ok_or(WriteError::UnknownStream)?;
        stream.is_copied = is_copied;
        Ok(())
    }

    fn remove_stream(&mut self, key: StreamKey) -> Result<(), WriteError> {
        let removed = self.streams.remove(&key).ok_or(WriteError::UnknownStream)?;
        self.forget_descriptions(key.leg, Some(key.ssrc));
        self.forget_descriptions(key.leg, removed.entry.rtx);
        self.replicas
            .values_mut()
            .for_each(|replica| replica.forget_source(key));
        Ok(())
    }

    fn set_replica(&mut self, id: ReplicaId, entry: Replica) -> Result<(), WriteError> {
        let leg = self.legs.get_mut(&entry.leg).ok_or(WriteError::UnknownLeg)?;
        if entry.source.is_some_and(|source| !self.streams.contains_key(&source)) {
            return Err(WriteError::UnknownStream);
        }
        if let Some(old) = self.replicas.get_mut(&id) {
            return old.replace(entry);
        }
        if entry.first_sequence >= 1 << 15 || entry.rtx.is_some_and(|(_, first)| first >= 1 << 15) {
            return Err(WriteError::FirstSequence);
        }
        let rtx = entry.rtx.map(|(ssrc, _)| ssrc);
        if leg.ssrcs_used.contains(&entry.ssrc)
            || rtx.is_some_and(|rtx| leg.ssrcs_used.contains(&rtx))
            || rtx == Some(entry.ssrc)
        {
            return Err(WriteError::SsrcUsed);
        }
        if leg.ssrcs_used.len() + 2 > SSRCS_PER_LEG_MAX {
            return Err(WriteError::TableFull);
        }
        leg.ssrcs_used.insert(entry.ssrc);
        leg.ssrcs_used.extend(rtx);
        self.replicas.insert(id, ReplicaState::new(entry));
        Ok(())
    }
}
