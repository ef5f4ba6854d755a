//! Replicas that move between the base and the offload after they were first written.

use std::time::Instant;

use dataplane::{
    Answer, Candidate, DataPlane, Event, Inject, LegId, Refused, ReplicaId, ReplicaOffload, ReplicaSnapshot, Written,
};
use wire::codec::Layer;

use super::ReplicaLayer;
use crate::handover::Use;
use crate::take_overs::TakeOver;

impl<B: DataPlane, O: ReplicaOffload> ReplicaLayer<B, O> {
    /// Asks the base for replicas that the offload could send.
    pub(super) fn ask_for_replicas(&mut self, now: Instant) {
        while let Some(candidate) = self.offload.next_candidate() {
            let Candidate { replica, at_key_frame } = candidate;
            let sent = self.muted.sent_by_base(replica);
            let sent = sent.filter(|_| !self.take_overs.is_overdue(replica));
            let Some(sent) = sent.filter(|sent| self.handovers.ask(candidate, sent)) else {
                let write = self.next_write();
                let _ = self.offload.take_over(write, replica, None, 0);
                continue;
            };
            let change = self.numbering.lend(sent.leg);
            self.tell_base(now, change);
            self.base.inject(now, Inject::Release { replica, at_key_frame });
        }
    }

    /// The base has let a replica to this leg go, or has not.
    pub(super) fn hand_over(
        &mut self,
        now: Instant,
        id: ReplicaId,
        (leg, state): (LegId, Use),
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) {
        let write = self.next_write();
        let offered = from.filter(|_| state == Use::Offload);
        match self.offload.take_over(write, id, offered, transport_sequence) {
            Answer::Taken => {
                if self.silence(now, id, Ok(())) {
                    self.report_awaited(id, offered);
                }
            }
            Answer::Refused(_) => {
                if let Some(from) = from.filter(|_| state != Use::None) {
                    self.base.inject(now, Inject::Resume { replica: id, from });
                    self.report_awaited(id, Some(from));
                }
            }
            Answer::Pending => {
                if self.silence(now, id, Err(Refused::Pending)) {
                    self.handovers.begin(id, leg, offered);
                    self.take_overs.begin(now, write, id, leg);
                }
            }
        }
        self.close(now, leg);
    }

    /// Reports that a replica waits for a key frame if it does, as only the layer knows: the side
    /// that continues it has not sent it, and the agent believes that it is followed.
    pub(super) fn report_awaited(&mut self, id: ReplicaId, from: Option<ReplicaSnapshot>) {
        let Some(replica) = self.muted.replica(id).filter(|replica| !replica.paused) else {
            return;
        };
        let continues = from.filter(|from| !from.awaits_key_frame).and_then(|from| from.source);
        if let Some(source) = replica.source.filter(|source| continues != Some(*source)) {
            self.events.push_back(Event::Selected {
                replica: id,
                source,
                layer: Layer::default(),
                awaits_key_frame: true,
            });
        }
    }

    /// Has the base stop sending a replica. False where there is no such replica any more.
    pub(super) fn silence(&mut self, now: Instant, id: ReplicaId, answer: Result<(), Refused>) -> bool {
        let Some((entry, change)) = self.muted.mute(id) else {
            return false;
        };
        self.places.offered(&entry, self.offload.name(), answer);
        self.tell_base(now, Some(change));
        self.muted.note(id, answer.is_ok());
        self.tell_copied(now);
        true
    }

    /// The outcome of a take-over that was pending.
    pub(super) fn written(&mut self, now: Instant, written: Written) {
        let Some(TakeOver {
            replica: id,
            leg,
            is_overdue,
            ..
        }) = self.take_overs.answered(written.write)
        else {
            return;
        };
        if is_overdue {
            // Only one side sends a replica, and the base does.
            if self.offload.sends(id) {
                self.offload.withdraw(id);
            }
            return;
        }
        match (self.handovers.ended(id), written.outcome) {
            (Some(from), Err(refused)) => self.give_back(now, id, from, refused),
            (Some(from), Ok(())) => {
                if let Some(entry) = self.muted.entry(id) {
                    self.places.offered(&entry, self.offload.name(), Ok(()));
                }
                self.muted.note(id, self.offload.sends(id));
                self.tell_copied(now);
                self.report_awaited(id, from);
            }
            // It is gone.
            (None, _) => {}
        }
        self.close(now, leg);
    }

    /// Has the base continue replicas that the offload was to take and does not answer about.
    pub(super) fn end_overdue(&mut self, now: Instant) {
        while let Some(TakeOver { replica: id, leg, .. }) = self.take_overs.next_overdue(now) {
            if let Some(from) = self.handovers.ended(id) {
                self.offload.withdraw(id);
                let from = self.offload.snapshot(id).or(from);
                self.give_back(now, id, from, Refused::Gone);
            }
            self.close(now, leg);
        }
    }

    /// Has the base continue a replica that was silent there.
    pub(super) fn give_back(&mut self, now: Instant, id: ReplicaId, from: Option<ReplicaSnapshot>, refused: Refused) {
        let Some(change) = self.muted.give_back(id, from) else {
            return;
        };
        if let Some(entry) = self.muted.entry(id) {
            self.places.offered(&entry, self.offload.name(), Err(refused));
        }
        // The base has the replica already, so it cannot refuse the change.
        let _ = self.apply(now, vec![change]);
        if from.is_none() {
            self.report_awaited(id, from);
        }
    }
}
