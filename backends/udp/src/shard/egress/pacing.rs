//! Sending of paced packets when they are due.
//!
//! A waiting packet is selected and numbered, and its changes are known, but it is neither written
//! nor sealed: its transport-wide number, its send time and, if it is a retransmission, its own
//! number are set when it is sent. It is sent even if its replica is paused or follows another
//! stream by then, because later numbers are taken. It is dropped when its replica is removed.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use dataplane::LegId;
use pacing::Leave;

use crate::shard::Shard;
use crate::shard::pace::{Pace, Waiting};
use crate::shard::rewrite::BatchTime;

/// The shortest time between two sends of one pacer. Packets that become due between are sent
/// together.
const GRAIN: Duration = Duration::from_millis(1);

impl Shard {
    /// Sends all paced packets that are due.
    pub(crate) fn send_due(&mut self, time: &BatchTime) {
        while let Some((at, id)) = self.pace_timers.pop(time.at) {
            let Some(leg) = self.tables.leg_slots.get(&id).copied() else {
                continue;
            };
            match &mut self.tables.legs[leg].pace {
                Some(pace) if pace.scheduled == Some(at) => pace.scheduled = None,
                _ => continue,
            }
            self.send_due_of(leg, time);
        }
    }

    /// Sends the due packets of one leg, and schedules the next.
    pub(super) fn send_due_of(&mut self, leg: usize, time: &BatchTime) {
        while let Some(pace) = &mut self.tables.legs[leg].pace
            && let Some(leave) = pace.pacer.poll(time.at)
        {
            match leave {
                Leave::Packet(waiting) => self.send_waiting(waiting, time),
                Leave::Padding => {
                    if let Err(reason) = self.pad(leg, None, time) {
                        self.counters.count(reason);
                        self.end_probe(leg);
                    }
                }
            }
        }
        self.schedule(leg, time.at);
    }

    fn send_waiting(&mut self, mut waiting: Waiting, time: &BatchTime) {
        if let Err(reason) = self.send_now(waiting.replica, &waiting.packet, &mut waiting.rewrite, time) {
            self.counters.count(reason);
        }
        self.pool.give(waiting.packet);
    }

    /// Schedules a leg's pacer for when its next packet is due.
    pub(super) fn schedule(&mut self, leg: usize, now: Instant) {
        let leg = &mut self.tables.legs[leg];
        let Some(pace) = &mut leg.pace else { return };
        let Some(due) = pace.pacer.due() else { return };
        let due = due.max(now + GRAIN);
        if pace.scheduled.is_none_or(|scheduled| due < scheduled) {
            pace.scheduled = Some(due);
            self.pace_timers.0.push(Reverse((due, leg.id)));
        }
    }

    /// Changes a leg's pace. Without a pace all waiting packets are sent at once, and a running
    /// probe ends.
    pub(crate) fn set_pace(&mut self, now: Instant, id: LegId, pace: Option<u64>) {
        let slot = self.tables.leg_slots[&id];
        let leg = &mut self.tables.legs[slot];
        match (pace, &mut leg.pace) {
            (Some(pace), Some(state)) => {
                state.pacer.set_pace(now, pace);
                self.schedule(slot, now);
            }
            (Some(pace), state) => *state = Some(Box::new(Pace::new(now, pace))),
            (None, state) => {
                let Some(mut state) = state.take() else { return };
                let time = BatchTime::new(now, &self.clock);
                while let Some(waiting) = state.pacer.take() {
                    self.send_waiting(waiting, &time);
                }
            }
        }
    }
}
