//! What waits for the pace of its leg, and probes.
//!
//! A packet that waits is decided, numbered and to be rewritten in a known way, but neither written
//! nor sealed: its transport-wide number, its stamps and, if it is a retransmission, its own number
//! are those of the moment it leaves. It leaves even if its replica is paused or follows another
//! stream by then, since numbers behind it are taken; it goes when its replica is removed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::limits::PROBE_PACKETS_MAX;
use dataplane::{Counter, LegId};
use pacing::{Class, Leave, Pacer, Probe};
use wire::MediaKind;

use super::Shard;
use super::header::{self, BatchTime, Rewrite};
use super::packet::Packet;

/// How soon a leg is looked at again at the earliest. What became due meanwhile leaves together.
const GRAIN: Duration = Duration::from_millis(1);

/// A leg's pacer.
pub(crate) struct Pace {
    pacer: Pacer<Waiting>,
    /// When it is listed in [`Wakes`]; what is listed for another time is out of date.
    listed: Option<Instant>,
}

struct Waiting {
    packet: Arc<Packet>,
    /// The place of its replica, which takes its packets along when it goes.
    replica: usize,
    rewrite: Rewrite,
}

impl Pace {
    fn new(now: Instant, pace: u64) -> Self {
        Pace {
            pacer: Pacer::new(now, pace),
            listed: None,
        }
    }

    /// So many bytes leave; returns the probe they are part of.
    pub(crate) fn left(&mut self, now: Instant, bytes: usize) -> Option<u32> {
        self.pacer.left(now, bytes)
    }

    /// Drops what waits of a replica that is gone: its numbers are, too.
    pub(crate) fn forget(&mut self, replica: usize) {
        self.pacer.retain(|waiting| waiting.replica != replica);
    }
}

/// The legs on which something waits, by when to look at them: nobody looks at all legs.
#[derive(Default)]
pub(super) struct Wakes(BinaryHeap<Reverse<(Instant, LegId)>>);

impl Wakes {
    /// When to look at the next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    fn pop(&mut self, now: Instant) -> Option<(Instant, LegId)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse(wake)| wake)
    }
}

impl Shard {
    /// Sends a packet, or has it wait for its turn.
    pub(super) fn send(
        &mut self,
        replica: usize,
        packet: &Arc<Packet>,
        rewrite: &mut Rewrite,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let class = match (rewrite.is_retransmission(), packet.info().kind) {
            (true, _) => Class::Resend,
            (false, MediaKind::Audio) => Class::Audio,
            (false, MediaKind::Video) => Class::Video,
        };
        let leg = self.replicas[replica].leg;
        let Some(pace) = &mut self.legs[leg].pace else {
            return self.send_now(replica, packet, rewrite, time);
        };
        if pace.pacer.may_leave(time.at, class) {
            return self.send_now(replica, packet, rewrite, time);
        }
        let waiting = Waiting {
            packet: packet.clone(),
            replica,
            rewrite: *rewrite,
        };
        let size = rewrite.size(packet);
        let pushed = pace.pacer.push(time.at, class, size, waiting);
        self.list(leg, time.at);
        pushed.map_err(|_| Counter::PaceQueueFull)
    }

    fn send_now(
        &mut self,
        replica: usize,
        packet: &Packet,
        rewrite: &mut Rewrite,
        time: &BatchTime,
    ) -> Result<(), Counter> {
        let replica = &mut self.replicas[replica];
        let leg = &mut self.legs[replica.leg];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        if rewrite.is_retransmission() {
            rewrite.number(replica.rtx_next);
            header::append(&mut self.egress, &mut self.layouts, leg, path, packet, rewrite, time)?;
            replica.rtx_next += 1;
            replica.statistics.resent += 1;
            self.counters.count(Counter::Resent);
        } else {
            header::append(&mut self.egress, &mut self.layouts, leg, path, packet, rewrite, time)?;
            replica.statistics.packets += 1;
            replica.statistics.octets += rewrite.payload(packet).len() as u64;
            self.counters.count(Counter::Forwarded);
        }
        Ok(())
    }

    /// Lets leave what it is time for.
    pub(super) fn leave(&mut self, time: &BatchTime) {
        while let Some((at, id)) = self.wakes.pop(time.at) {
            let Some(leg) = self.leg_places.get(&id).copied() else {
                continue;
            };
            match &mut self.legs[leg].pace {
                Some(pace) if pace.listed == Some(at) => pace.listed = None,
                _ => continue,
            }
            self.leave_from(leg, time);
        }
    }

    fn leave_from(&mut self, leg: usize, time: &BatchTime) {
        while let Some(pace) = &mut self.legs[leg].pace
            && let Some(leave) = pace.pacer.poll(time.at)
        {
            match leave {
                Leave::Packet(waiting) => self.leave_one(waiting, time),
                Leave::Padding => {
                    if let Err(reason) = self.pad(leg, None, time) {
                        self.counters.count(reason);
                        self.end_probe(leg);
                    }
                }
            }
        }
        self.list(leg, time.at);
    }

    fn leave_one(&mut self, mut waiting: Waiting, time: &BatchTime) {
        if let Err(reason) = self.send_now(waiting.replica, &waiting.packet, &mut waiting.rewrite, time) {
            self.counters.count(reason);
        }
        self.pool.give(waiting.packet);
    }

    /// Sees to it that a leg is looked at when something can leave.
    fn list(&mut self, leg: usize, now: Instant) {
        let leg = &mut self.legs[leg];
        let Some(pace) = &mut leg.pace else { return };
        let Some(due) = pace.pacer.due() else { return };
        let due = due.max(now + GRAIN);
        if pace.listed.is_none_or(|listed| due < listed) {
            pace.listed = Some(due);
            self.wakes.0.push(Reverse((due, leg.id)));
        }
    }

    /// Changes a leg's pace. Without one nothing waits any more, and a probe under way ends.
    pub(super) fn set_pace(&mut self, now: Instant, id: LegId, pace: Option<u64>) {
        let place = self.leg_places[&id];
        let leg = &mut self.legs[place];
        match (pace, &mut leg.pace) {
            (Some(pace), Some(state)) => {
                state.pacer.set_pace(now, pace);
                self.list(place, now);
            }
            (Some(pace), state) => *state = Some(Box::new(Pace::new(now, pace))),
            (None, state) => {
                let Some(mut state) = state.take() else { return };
                let time = BatchTime::new(now, &self.clock);
                while let Some(waiting) = state.pacer.take() {
                    self.leave_one(waiting, &time);
                }
            }
        }
    }

    /// Sends a probe, at its own rate on a leg with a pace, else at once.
    pub(super) fn probe(&mut self, now: Instant, id: LegId, probe: Probe) {
        let time = BatchTime::new(now, &self.clock);
        let Some(place) = self.leg_places.get(&id).copied() else {
            return self.counters.count(Counter::NotReady);
        };
        let sent = match (self.may_pad(place), &mut self.legs[place].pace) {
            (Err(reason), _) => Err(reason),
            (Ok(_), None) => self.pad_at_once(place, probe, &time),
            (Ok(_), Some(pace)) => {
                pace.pacer.probe(probe);
                self.leave_from(place, &time);
                Ok(())
            }
        };
        if let Err(reason) = sent {
            self.counters.count(reason);
        }
    }

    fn pad_at_once(&mut self, leg: usize, probe: Probe, time: &BatchTime) -> Result<(), Counter> {
        let (mut left_bytes, mut left_packets) = (probe.bytes as usize, probe.packets);
        for _ in 0..PROBE_PACKETS_MAX {
            if left_bytes == 0 && left_packets == 0 {
                return Ok(());
            }
            let sent = self.pad(leg, Some(probe.id), time)?;
            left_bytes = left_bytes.saturating_sub(sent);
            left_packets = left_packets.saturating_sub(1);
        }
        Ok(())
    }

    /// Sends one packet of padding, on the retransmission SSRC of the first replica that has one;
    /// returns its size.
    fn pad(&mut self, leg: usize, probe: Option<u32>, time: &BatchTime) -> Result<usize, Counter> {
        let place = self.may_pad(leg)?;
        let replica = &mut self.replicas[place];
        let leg = &mut self.legs[leg];
        let path = leg.ready().ok_or(Counter::NotReady)?;
        let sent = header::append_padding(&mut self.egress, leg, path, replica, probe, time)?;
        replica.rtx_next += 1;
        self.counters.count(Counter::Probed);
        Ok(sent)
    }

    /// The place of the replica whose retransmission SSRC padding is sent on.
    fn may_pad(&self, leg: usize) -> Result<usize, Counter> {
        let leg = &self.legs[leg];
        leg.ready().ok_or(Counter::NotReady)?;
        let mut places = leg.replicas.iter().map(|(_, place)| *place);
        places
            .find(|place| self.replicas[*place].padding_type().is_some())
            .ok_or(Counter::NoRetransmission)
    }

    fn end_probe(&mut self, leg: usize) {
        if let Some(pace) = &mut self.legs[leg].pace {
            pace.pacer.end_probe();
        }
    }
}
