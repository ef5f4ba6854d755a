//! Replicas that the base releases and the switch continues.

use std::time::Duration;

use dataplane::{Answer, Reason, Refused, ReplicaId, ReplicaSnapshot, WriteId};
use wire::Codec;

use super::numbers::Numbers;
use super::publish::Touched;
use super::{AGAIN, Began, LATER, Rooms, Stage};
use crate::context::Context;

impl Rooms {
    /// The next replica that the base is to release, and whether the switch begins it at a key
    /// frame.
    pub(crate) fn next_candidate(&mut self) -> Option<(ReplicaId, bool)> {
        let id = self.candidates.pop_front()?;
        Some((id, self.is_described(id)))
    }

    /// Continues a replica that the base has released in this state.
    pub(crate) fn take_over(
        &mut self,
        context: &mut Context<'_>,
        write: WriteId,
        id: ReplicaId,
        from: Option<ReplicaSnapshot>,
    ) -> Answer {
        self.candidates.retain(|candidate| *candidate != id);
        let companion = Refused::Unsupported(Reason::Companion);
        let is_named = self
            .on_switch(id)
            .is_some_and(|on_switch| matches!(on_switch.stage, Stage::Named));
        let is_described = self.is_described(id);
        let codec = self.codec(id);
        // Described frames are of another codec, although VP8 may be agreed on as well.
        let is_vp8 = codec == Some(Codec::Vp8) || !is_described && self.may_be_vp8(id);
        let Some(row) = self.replicas.get_mut(id).filter(|_| is_named) else {
            return Answer::Refused(companion);
        };
        let is_usable = |from: &ReplicaSnapshot| is_described || from.source == row.replica.source;
        // The program does not write into payloads.
        let is_rewritten = |from: &ReplicaSnapshot| {
            let is_moved = from.picture_offset != 0 || from.tl0_offset != 0;
            is_vp8 && (is_moved || from.decided.is_some_and(|(_, is_sent)| !is_sent))
        };
        let refusal = match from.filter(is_usable) {
            None => Some((companion, AGAIN)),
            Some(from) if is_rewritten(&from) => Some((Refused::Unsupported(Reason::Codec), LATER)),
            Some(_) if context.away_since.is_some() => Some((Refused::Gone, AGAIN)),
            Some(_) => None,
        };
        if let Some((why, after)) = refusal {
            self.put_off(context, id, why, after);
            return Answer::Refused(why);
        }
        let from = from.expect("a state without which it is refused");
        let Some(on_switch) = self.on_switch_mut(id) else {
            return Answer::Refused(companion);
        };
        let index = on_switch.index;
        let epoch = self.next_epoch(index);
        let began = Began {
            epoch,
            from,
            numbers: Numbers::new(from, codec, is_described),
        };
        if let Some(on_switch) = self.on_switch_mut(id) {
            on_switch.stage = Stage::Taking(write, began);
            on_switch.since = context.now;
        }
        self.left.remove(&id);
        self.write_place(context, id);
        Answer::Pending
    }

    /// The first codec of a replica's source.
    fn codec(&self, id: ReplicaId) -> Option<Codec> {
        let source = self.replicas.get(id)?.replica.source?;
        Some(self.streams.get(&source)?.stream.formats.first()?.codec)
    }

    /// Whether VP8 is among the codecs of a replica's source.
    fn may_be_vp8(&self, id: ReplicaId) -> bool {
        let source = self.replicas.get(id).and_then(|row| row.replica.source);
        let stream = source.and_then(|source| self.streams.get(&source));
        stream.is_some_and(|row| row.stream.formats.iter().any(|format| format.codec == Codec::Vp8))
    }

    /// An epoch that the registers of an index do not have. None has 0, which they begin with.
    fn next_epoch(&mut self, index: u32) -> u8 {
        let next = match self.epochs.get(&index) {
            Some(255) => 1,
            Some(epoch) => epoch + 1,
            None => self.first_epoch,
        };
        self.epochs.insert(index, next);
        next
    }

    /// The base has a replica again, which is tried again after a while.
    pub(super) fn put_off(&mut self, context: &mut Context<'_>, id: ReplicaId, why: Refused, after: Duration) {
        let mut touched = Touched::default();
        self.leave(context, id, why, &mut touched);
        if let Some(row) = self.replicas.get_mut(id) {
            row.not_before = Some(context.now + after);
        }
        self.publish(context, touched);
    }

    /// The base continues a replica whose take-over took too long, or that is not to be here.
    pub(crate) fn withdraw(&mut self, context: &mut Context<'_>, id: ReplicaId) {
        if self.on_switch(id).is_some() {
            self.put_off(context, id, Refused::Gone, AGAIN);
        }
    }
}
