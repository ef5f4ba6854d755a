//! One incoming stream: gaps, key frames, and the numbers of a report.

use std::time::{Duration, Instant};

use wire::{RtpPacket, Unwrapper};

use super::ledger::Renaming;

/// A gap older than this may be reordering no longer, and is asked for.
const ASK_AFTER: Duration = Duration::from_millis(5);
/// When to ask again.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// Time after which a packet counts as lost.
const GIVE_UP: Duration = Duration::from_secs(1);
/// A jump in the numbers larger than this is a new start, not a loss.
const GAP_MAX: u64 = 1000;
/// Between two requests for a key frame.
const KEY_FRAME_PATIENCE: Duration = Duration::from_secs(1);

/// A receiver's requests for one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Missing packets.
    pub missing: Vec<u16>,
    /// Whether a key frame is needed.
    pub key_frame: bool,
}

/// One stream coming in.
pub struct InStream {
    /// Its SSRC.
    pub ssrc: u32,
    /// Whether it is video.
    pub video: bool,
    repeats: bool,
    /// The number of its source, once a packet has shown it.
    pub source: Option<u32>,
    numbers: Unwrapper,
    first: u64,
    received: u64,
    missing: Vec<Missing>,
    /// Packets that are missing by sequence number and never arrived.
    pub given_up: u64,
    /// Whether a decoder could not continue.
    pub needs_key_frame: bool,
    key_frame_asked: Option<Instant>,
    /// Interarrival jitter.
    pub jitter: Jitter,
    /// Since the window began: frames whose last packet arrived, and the worst jitter in units of
    /// the stream's clock.
    pub shown: Shown,
    /// The last sender report: the middle 32 bits of its NTP time, and its arrival.
    pub last_report: Option<(u32, Instant)>,
    /// The relation of its headers to those that its source sent, once a packet has shown it.
    pub renaming: Option<Renaming>,
    expected_before: u64,
    received_before: u64,
}

struct Missing {
    number: u64,
    since: Instant,
    asked: Option<Instant>,
}

/// Quality of a stream as a viewer would see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Frames whose last packet arrived.
    pub frames: u64,
    /// The worst jitter, in units of the stream's clock.
    pub jitter_max: u64,
}

/// RFC 3550 section 6.4.1, on the kernel's arrival times.
#[derive(Default)]
pub struct Jitter {
    transit: Option<i64>,
    /// Sixteen times the estimate.
    scaled: u64,
}

/// One report block's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The stream.
    pub ssrc: u32,
    /// Of 256, since the last report.
    pub fraction_lost: u8,
    /// Since the beginning.
    pub cumulative_lost: i32,
    /// The extended highest number.
    pub highest: u32,
    /// In clock ticks.
    pub jitter: u32,
    /// The last sender report, and the time since its arrival.
    pub last_report: Option<(u32, Duration)>,
}

impl InStream {
    /// A stream nobody has heard of yet.
    pub fn new(ssrc: u32, video: bool, repeats: bool) -> Self {
        Self {
            ssrc,
            video,
            repeats,
            source: None,
            numbers: Unwrapper::default(),
            first: 0,
            received: 0,
            missing: Vec::new(),
            given_up: 0,
            needs_key_frame: video,
            key_frame_asked: None,
            jitter: Jitter::default(),
            shown: Shown::default(),
            last_report: None,
            renaming: None,
            expected_before: 0,
            received_before: 0,
        }
    }

    /// Records an arrival and the gap that it shows or closes; returns whether it was requested.
    pub fn count(&mut self, now: Instant, sequence: u16) -> bool {
        let before = self.numbers.highest();
        let number = self.numbers.extend(sequence);
        self.received += 1;
        let Some(highest) = before else {
            self.first = number;
            return false;
        };
        if number == highest + 1 {
            return false;
        }
        if number <= highest {
            let place = self.missing.iter().position(|missing| missing.number == number);
            return place.is_some_and(|place| self.missing.remove(place).asked.is_some());
        }
        if number - highest > GAP_MAX {
            self.given_up += self.missing.drain(..).count() as u64;
            self.needs_key_frame = self.video;
        } else {
            let missing = |number| Missing {
                number,
                since: now,
                asked: None,
            };
            self.missing.extend((highest + 1..number).map(missing));
        }
        false
    }

    /// Records a packet's arrival from its header; returns whether it was requested.
    pub fn arrive(&mut self, now: Instant, arrived_ns: u64, packet: &RtpPacket<'_>) -> bool {
        let repair = self.count(now, packet.sequence().0);
        let clock_rate = if self.video { 90_000 } else { 48_000 };
        self.jitter.update(arrived_ns, packet.timestamp().0, clock_rate);
        self.shown.count(packet.marker(), &self.jitter);
        repair
    }

    /// Whether there is something to ask of the server, now or soon.
    pub fn wants(&self) -> bool {
        self.needs_key_frame || self.key_frame_asked.is_some() || !self.missing.is_empty()
    }

    /// Requests to send to the server now.
    pub fn wanted(&mut self, now: Instant) -> Wanted {
        let mut wanted = Wanted::default();
        if !self.missing.is_empty() {
            let before = self.missing.len();
            self.missing
                .retain(|missing| now.duration_since(missing.since) < GIVE_UP);
            self.given_up += (before - self.missing.len()) as u64;
            self.needs_key_frame |= self.video && self.missing.len() < before;
            let asking = self.missing.iter_mut().filter(|_| self.repeats);
            for missing in asking {
                let due = missing.asked.map_or(missing.since + ASK_AFTER, |at| at + ASK_AGAIN);
                if due <= now {
                    missing.asked = Some(now);
                    wanted.missing.push(missing.number as u16);
                }
            }
        }
        // A server sends a key frame to a new receiver without a request, so the first request
        // waits.
        if self.needs_key_frame {
            match self.key_frame_asked {
                None => self.key_frame_asked = Some(now),
                Some(at) if now.duration_since(at) >= KEY_FRAME_PATIENCE => {
                    (self.key_frame_asked, wanted.key_frame) = (Some(now), true);
                }
                Some(_) => {}
            }
        } else {
            self.key_frame_asked = None;
        }
        wanted
    }

    /// The numbers of a report block; RFC 3550 appendix A.3.
    pub fn reception(&mut self, now: Instant) -> Reception {
        let highest = self.numbers.highest().unwrap_or(self.first).max(1 << 16);
        let expected = highest - self.first + 1;
        let lost = expected as i64 - self.received as i64;
        let expected_now = expected - self.expected_before;
        let lost_now = expected_now.saturating_sub(self.received - self.received_before);
        (self.expected_before, self.received_before) = (expected, self.received);
        Reception {
            ssrc: self.ssrc,
            fraction_lost: (lost_now * 256).checked_div(expected_now).unwrap_or(0).min(255) as u8,
            cumulative_lost: lost.clamp(-0x80_0000, 0x7f_ffff) as i32,
            // The unwrapper begins in cycle one; reports count wraps from zero.
            highest: (highest - (1 << 16)) as u32,
            jitter: (self.jitter.scaled >> 4) as u32,
            last_report: self.last_report.map(|(ntp, at)| (ntp, now.duration_since(at))),
        }
    }
}

impl Shown {
    /// Counts a packet; `ends_frame` is its marker bit.
    pub fn count(&mut self, ends_frame: bool, jitter: &Jitter) {
        self.frames += u64::from(ends_frame);
        self.jitter_max = self.jitter_max.max(jitter.scaled >> 4);
    }
}

impl Jitter {
    /// Notes an arrival.
    pub fn update(&mut self, arrived_ns: u64, timestamp: u32, clock_rate: u64) {
        let arrived = (u128::from(arrived_ns) * u128::from(clock_rate) / 1_000_000_000) as i64;
        let transit = arrived.wrapping_sub(i64::from(timestamp)) as i32;
        if let Some(before) = self.transit {
            let difference = u64::from((transit.wrapping_sub(before as i32)).unsigned_abs());
            self.scaled = self
                .scaled
                .saturating_add(difference)
                .saturating_sub((self.scaled + 8) >> 4);
        }
        self.transit = Some(i64::from(transit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn stream(now: Instant, sequences: &[u16]) -> InStream {
        let mut stream = InStream::new(1, true, true);
        stream.needs_key_frame = false;
        sequences.iter().for_each(|&sequence| {
            stream.count(now, sequence);
        });
        stream
    }

    #[test]
    fn a_gap_is_asked_for_after_a_moment_and_again_until_it_is_given_up() {
        let now = crate::clock::now();
        let mut stream = stream(now, &[65_534, 65_535, 2]);
        assert_eq!(stream.wanted(now), Wanted::default());
        assert_eq!(stream.wanted(now + 5 * MS).missing, [0, 1]);
        assert!(stream.wanted(now + 20 * MS).missing.is_empty());
        assert_eq!(stream.wanted(now + 60 * MS).missing, [0, 1]);
        stream.count(now + 61 * MS, 0);
        assert_eq!(stream.wanted(now + 120 * MS).missing, [1]);
        let last = stream.wanted(now + 1000 * MS);
        assert!(last.missing.is_empty() && stream.needs_key_frame);
        assert_eq!(stream.given_up, 1);
    }

    #[test]
    fn packets_without_retransmission_are_not_requested() {
        let now = crate::clock::now();
        let mut stream = InStream::new(1, false, false);
        for sequence in [0, 2] {
            assert!(!stream.count(now, sequence));
        }
        assert_eq!(stream.wanted(now + 100 * MS), Wanted::default());
        assert_eq!(stream.wanted(now + 2000 * MS), Wanted::default());
    }

    #[test]
    fn reordering_is_not_asked_for() {
        let now = crate::clock::now();
        let mut stream = stream(now, &[10, 12, 11, 13]);
        assert_eq!(stream.wanted(now + 100 * MS), Wanted::default());
    }

    #[test]
    fn a_key_frame_is_asked_for_after_a_second_without_one() {
        let now = crate::clock::now();
        let mut stream = InStream::new(1, true, true);
        stream.count(now, 0);
        assert!(!stream.wanted(now).key_frame);
        assert!(!stream.wanted(now + 900 * MS).key_frame);
        assert!(stream.wanted(now + 1000 * MS).key_frame);
        assert!(!stream.wanted(now + 1100 * MS).key_frame);
    }

    #[test]
    fn reports_count_losses() {
        let now = crate::clock::now();
        let mut stream = stream(now, &[0, 1, 2, 4]);
        let first = stream.reception(now);
        assert_eq!((first.cumulative_lost, first.fraction_lost, first.highest), (1, 51, 4));
        stream.count(now, 5);
        let second = stream.reception(now);
        assert_eq!((second.cumulative_lost, second.fraction_lost), (1, 0));
    }
}
