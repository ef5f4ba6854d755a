//! The base's entries, as they are written and removed.

use std::collections::BTreeSet;

use dataplane::{Leg, LegId, Protection, Reason, Refused, Replica, ReplicaId, Stream, StreamKey};

use super::publish::Touched;
use super::templates::Templates;
use super::{Entries, LegRow, Location, Rooms, StreamRow, fit};
use crate::context::Context;

impl Rooms {
    /// Adds or replaces a leg.
    pub(crate) fn set_leg(&mut self, context: &mut Context<'_>, id: LegId, leg: Leg) -> Result<(), Refused> {
        let answer = match leg.protection {
            // It has not said yet whether it will be in clear.
            Protection::Pending => Ok(()),
            _ => fit::leg(context.config, &leg).map_err(Refused::Unsupported),
        };
        match self.legs.get_mut(&id) {
            Some(row) => row.leg = leg,
            None => {
                let row = LegRow {
                    leg,
                    rid: None,
                    entries: Entries::new(),
                };
                self.legs.insert(id, row);
            }
        }
        let mut touched = Touched::default();
        touched.legs.insert(id);
        touched.streams.extend(self.streams.keys().filter(|key| key.leg == id));
        let concerned = self.concerned(id);
        self.refresh(context, &concerned, touched);
        self.publish_feedback(context);
        answer
    }

    /// Removes a leg with its streams and replicas.
    pub(crate) fn remove_leg(&mut self, context: &mut Context<'_>, id: LegId) {
        for replica in self.replicas.sent_to(id) {
            self.remove_replica(context, replica);
        }
        let streams = self.streams.keys().filter(|key| key.leg == id);
        for key in streams.copied().collect::<Vec<_>>() {
            self.remove_stream(context, key);
        }
        self.legs.remove(&id);
        self.forget_feedback(context, id);
    }

    /// Adds or replaces a stream.
    pub(crate) fn set_stream(
        &mut self,
        context: &mut Context<'_>,
        key: StreamKey,
        stream: Stream,
    ) -> Result<(), Refused> {
        match self.streams.get_mut(&key) {
            Some(row) => row.stream = stream,
            None => {
                let row = StreamRow {
                    stream,
                    number: None,
                    fanouts: None,
                    held: Vec::new(),
                    is_layered: false,
                    entries: Entries::new(),
                    services: BTreeSet::new(),
                    templates: Templates::default(),
                };
                self.streams.insert(key, row);
            }
        }
        let mut touched = Touched::default();
        touched.streams.insert(key);
        let followers = self.followers(key);
        self.refresh(context, &followers, touched);
        let from = self.legs.get(&key.leg).ok_or(Refused::Unsupported(Reason::Companion))?;
        let fits =
            fit::leg(context.config, &from.leg).and_then(|()| fit::stream(&self.streams[&key].stream, &from.leg));
        fits.map_err(Refused::Unsupported)
    }

    /// Removes a stream. Its replicas stay in the base, without a source.
    pub(crate) fn remove_stream(&mut self, context: &mut Context<'_>, key: StreamKey) {
        if !self.streams.contains_key(&key) {
            return;
        }
        let followers = self.followers(key);
        followers.iter().for_each(|id| self.replicas.lose_source(*id));
        let mut touched = Touched::default();
        touched.streams.insert(key);
        self.refresh(context, &followers, touched);
        self.streams.remove(&key);
    }

    /// Adds or replaces a replica.
    pub(crate) fn set_replica(
        &mut self,
        context: &mut Context<'_>,
        id: ReplicaId,
        replica: Replica,
    ) -> Result<(), Refused> {
        let mut touched = Touched::default();
        let before = self.replicas.get(id).map(|row| row.replica.clone());
        if let Some(before) = before {
            touched.streams.extend(before.source);
            if before.source != replica.source || replica.paused {
                self.leave(context, id, Refused::Pending, &mut touched);
            }
        }
        self.replicas.set(id, replica);
        self.refresh(context, &[id], touched);
        match &self.replicas.get(id).expect("it was put there").location {
            Location::Switch(_) if self.sends(id) => Ok(()),
            Location::Switch(_) => Err(Refused::Pending),
            Location::Base(why) => Err(*why),
        }
    }

    /// Removes a replica.
    pub(crate) fn remove_replica(&mut self, context: &mut Context<'_>, id: ReplicaId) {
        let mut touched = Touched::default();
        self.leave(context, id, Refused::Gone, &mut touched);
        if let Some(replica) = self.replicas.remove(id) {
            touched.streams.extend(replica.source);
            touched.legs.insert(replica.leg);
        }
        self.left.remove(&id);
        self.returned.retain(|returned| *returned != id);
        self.publish(context, touched);
    }

    /// Replicas that a leg's entry has to do with.
    fn concerned(&self, id: LegId) -> Vec<ReplicaId> {
        let streams = self.streams.keys().filter(|key| key.leg == id);
        let mut concerned = self.replicas.sent_to(id);
        concerned.extend(streams.flat_map(|key| self.replicas.following(*key)));
        concerned
    }

    /// Replicas that are to follow a stream.
    pub(super) fn followers(&self, key: StreamKey) -> Vec<ReplicaId> {
        self.replicas.following(key)
    }
}
