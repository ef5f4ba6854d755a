//! Packets that the switch sends to its controller.

use dataplane::{Event, ReplicaId};

use super::numbers::Report;
use super::publish::Touched;
use super::{Rooms, fit};
use crate::context::Context;
use crate::entry::Key;

/// The switch reported something that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

impl Rooms {
    /// A packet of a stream brings a structure of its frames.
    ///
    /// Errors: there is no such stream, or the packet cannot be read.
    pub(crate) fn structure(&mut self, context: &mut Context<'_>, number: u32, packet: &[u8]) -> Result<(), Nonsense> {
        let key = *self.by_number.get(&number).ok_or(Nonsense)?;
        let (Some(row), Some(from)) = (self.streams.get_mut(&key), self.legs.get(&key.leg)) else {
            return Err(Nonsense);
        };
        let id = fit::described(&row.stream, &from.leg).ok_or(Nonsense)?;
        if row.templates.read(packet, id).ok_or(Nonsense)? {
            let mut touched = Touched::default();
            touched.streams.insert(key);
            self.publish(context, touched);
        }
        self.look_for_candidates(context);
        Ok(())
    }

    /// The switch tells which number a packet of a replica was sent with.
    ///
    /// Errors: there is no such replica.
    pub(crate) fn reported(
        &mut self,
        context: &Context<'_>,
        index: u32,
        epoch: u8,
        report: Report,
    ) -> Result<(), Nonsense> {
        let id = *self.by_index.get(&index).ok_or(Nonsense)?;
        let is_described = self.is_described(id);
        let began = self.on_switch_mut(id).and_then(|on_switch| on_switch.stage.began_mut());
        // Of an earlier epoch it is late, not wrong.
        let Some(began) = began.filter(|began| began.epoch == epoch) else {
            return Ok(());
        };
        let before = began.numbers.layer();
        began.numbers.report(context.now, report);
        let after = began.numbers.layer();
        let source = self.replicas.get(id).and_then(|row| row.replica.source);
        if let (Some(source), Some(layer)) = (source, after.filter(|_| is_described && after != before)) {
            self.events.push_back(Event::Selected {
                replica: id,
                source,
                layer,
                awaits_key_frame: false,
            });
        }
        Ok(())
    }

    /// Replicas of the streams that use a group.
    pub(super) fn users_of(&self, number: u16) -> Vec<ReplicaId> {
        let uses = |row: &super::StreamRow| row.fanouts.is_some_and(|it| it.iter().any(|way| way.group == number));
        let streams = self.streams.iter().filter(|(_, row)| uses(row));
        let streams: Vec<_> = streams.map(|(key, _)| *key).collect();
        streams.into_iter().flat_map(|key| self.followers(key)).collect()
    }

    /// Replicas of the stream that a `sender` entry is of.
    pub(super) fn followers_by_sender(&self, key: &Key) -> Vec<ReplicaId> {
        let stream = self.streams.iter().find(|(_, row)| row.entries.contains_key(key));
        stream.map_or(Vec::new(), |(key, _)| self.followers(*key))
    }
}
