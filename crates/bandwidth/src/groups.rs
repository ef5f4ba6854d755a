//! Groups of packets that were sent together, and the change of distance between two groups on the
//! way.
//!
//! A frame is sent as a burst. The spread of packets within it shows little about the queue; the
//! distances of bursts show a lot.

/// Packets sent within this time of the group's first belong to it. Shape: microseconds.
const SEND_SPAN: i64 = 5_000;
/// Packets that arrive closer than this, and closer than they were sent, were held up together and
/// released at once. Shape: microseconds.
const BURST_GAP: i64 = 5_000;
/// A release is not longer than this. Shape: microseconds.
const BURST_SPAN: i64 = 100_000;
/// A gap no queue explains: the receiver's clock jumped. Shape: microseconds.
const JUMP: i64 = 3_000_000;
/// After this many groups that arrived before their predecessors, the old groups are dropped
/// instead of the new ones.
const REORDERED_MAX: u32 = 3;

/// Two groups in a row, compared. Shape: milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delta {
    /// How far apart they left,
    pub(crate) sent: f64,
    /// and arrived.
    pub(crate) arrived: f64,
}

/// The effect of one more packet on the groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Grouped {
    /// No result yet.
    Open,
    /// A group is complete.
    Compared(Delta),
    /// Times that cannot be; everything before is forgotten.
    Jumped,
}

/// Sorts packets into groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    previous: Option<Group>,
    current: Option<Group>,
    reordered: u32,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: i64,
    last_sent: i64,
    first_arrival: i64,
    last_arrival: i64,
}

impl Groups {
    /// One packet, in the order of arrival.
    pub(crate) fn packet(&mut self, sent: i64, arrival: i64) -> Grouped {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
        };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh);
            return Grouped::Open;
        };
        if sent < current.first_sent {
            return Grouped::Open;
        }
        if current.takes(sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = current.last_arrival.max(arrival);
            return Grouped::Open;
        }
        let complete = *current;
        self.current = Some(fresh);
        match self.previous {
            None => {
                self.previous = Some(complete);
                Grouped::Open
            }
            Some(previous) => self.compare(previous, complete),
        }
    }

    fn compare(&mut self, previous: Group, complete: Group) -> Grouped {
        let sent = (complete.last_sent - previous.last_sent).max(0);
        let arrived = complete.last_arrival.saturating_sub(previous.last_arrival);
        if arrived.saturating_sub(sent) >= JUMP {
            return self.reset();
        }
        if arrived < 0 {
            self.reordered += 1;
            return if self.reordered >= REORDERED_MAX {
                self.reset()
            } else {
                Grouped::Open
            };
        }
        self.reordered = 0;
        self.previous = Some(complete);
        Grouped::Compared(Delta {
            sent: sent as f64 / 1e3,
            arrived: arrived as f64 / 1e3,
        })
    }

    fn reset(&mut self) -> Grouped {
        *self = Self::default();
        Grouped::Jumped
    }
}

impl Group {
    fn takes(&self, sent: i64, arrival: i64) -> bool {
        if sent - self.first_sent <= SEND_SPAN {
            return true;
        }
        let sent_gap = (sent - self.last_sent).max(0);
        let arrival_gap = arrival - self.last_arrival;
        arrival_gap < sent_gap && arrival_gap <= BURST_GAP && arrival - self.first_arrival < BURST_SPAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(packets: &[(i64, i64)]) -> Vec<Grouped> {
        let mut groups = Groups::default();
        packets
            .iter()
            .map(|(sent, arrival)| groups.packet(sent * 1000, arrival * 1000))
            .collect()
    }

    #[test]
    fn bursts_are_compared_by_their_last_packets() {
        let seen = run(&[(0, 50), (2, 52), (20, 70), (22, 80), (40, 95)]);
        let delta = Delta {
            sent: 20.0,
            arrived: 28.0,
        };
        assert_eq!(seen[4], Grouped::Compared(delta));
    }

    #[test]
    fn a_jump_of_the_receivers_clock_starts_over() {
        let seen = run(&[(0, 50), (20, 70), (40, 5000), (60, 5020)]);
        assert_eq!(seen[3], Grouped::Jumped);
    }
}
