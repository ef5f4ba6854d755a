//! Rooms that changed their owner, and claims that nodes refused, for operators.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use cluster::{Event, Holder, LostReason, Output};
use southbound::{Epoch, NodeId};

use crate::metrics::Metrics;
use crate::metrics::ownership::{Adoption, OwnershipCounts};

/// Changes that are remembered. Beyond it the oldest is forgotten.
const CHANGES_MAX: usize = 100;

/// A room that changed its owner, or a claim that was refused.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) at: Instant,
    pub(super) room: Arc<str>,
    /// The epoch in which this controller owned or claimed the room.
    pub(super) epoch: Epoch,
    pub(super) other: Holder,
    pub(super) what: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Adopted,
    BeganAnew,
    Lost(LostReason),
    Refused(NodeId),
}

/// The rooms of a controller that changed their owner.
pub(super) struct History {
    changes: VecDeque<Change>,
    metrics: Metrics,
}

impl History {
    pub(super) fn new(metrics: Metrics) -> Self {
        // Its families are there from the beginning.
        metrics.of_ownership(|_| {});
        Self {
            changes: VecDeque::new(),
            metrics,
        }
    }

    /// The last one first.
    pub(super) fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }

    /// Notes what the cluster says.
    pub(super) fn note(&mut self, now: Instant, output: &Output) {
        match output {
            Output::Elsewhere { .. } => self.count(|counts| counts.adoption(Adoption::Elsewhere)),
            Output::Unavailable { reason, .. } => self.count(|counts| counts.adoption((*reason).into())),
            Output::Lost {
                room,
                epoch,
                winner,
                reason,
            } => {
                self.count(|counts| counts.lost(*reason));
                self.add(now, room, *epoch, *winner, ChangeKind::Lost(*reason));
            }
            Output::Event(event) => {
                self.count(|counts| counts.event(event));
                if let Event::ClaimRefused {
                    node,
                    room,
                    epoch,
                    held,
                } = event
                {
                    let other = Holder {
                        controller: None,
                        epoch: *held,
                    };
                    self.add(now, room, *epoch, other, ChangeKind::Refused(*node));
                }
            }
            _ => {}
        }
    }

    /// Notes that this controller owns a room since now. The room `is_whole` if it goes on with its
    /// participants.
    pub(super) fn opened(
        &mut self,
        now: Instant,
        (room, epoch, begun): (&Arc<str>, Epoch, Instant),
        former: Option<Holder>,
        is_whole: bool,
    ) {
        let Some(former) = former else {
            return self.count(|counts| counts.adoption(Adoption::New));
        };
        let (adoption, what) = match is_whole {
            true => (Adoption::Adopted, ChangeKind::Adopted),
            false => (Adoption::BeganAnew, ChangeKind::BeganAnew),
        };
        self.count(|counts| {
            counts.adoption(adoption);
            counts.adopted_after(now.saturating_duration_since(begun));
        });
        self.add(now, room, epoch, former, what);
    }

    fn add(&mut self, at: Instant, room: &Arc<str>, epoch: Epoch, other: Holder, what: ChangeKind) {
        self.changes.truncate(CHANGES_MAX - 1);
        self.changes.push_front(Change {
            at,
            room: room.clone(),
            epoch,
            other,
            what,
        });
    }

    fn count(&self, count: impl FnOnce(&mut OwnershipCounts)) {
        self.metrics.of_ownership(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::clock;

    #[test]
    fn the_last_changes_are_remembered() {
        let mut history = History::new(Metrics::default());
        for epoch in 0..3 * CHANGES_MAX as u64 {
            let winner = Holder {
                controller: None,
                epoch: Epoch(epoch + 1),
            };
            let lost = Output::Lost {
                room: "lobby".into(),
                epoch: Epoch(epoch),
                winner,
                reason: LostReason::Fenced,
            };
            history.note(clock::now(), &lost);
        }
        assert_eq!(history.changes().count(), CHANGES_MAX);
        let first = history.changes().next().map(|change| change.epoch);
        assert_eq!(first, Some(Epoch(3 * CHANGES_MAX as u64 - 1)));
    }
}
