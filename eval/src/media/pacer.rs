use std::time::{Duration, Instant};

/// Interval of bursts, and length of a burst at the pacing rate.
const BURST: Duration = Duration::from_millis(5);
/// The pacing rate as a multiple of the encoder's.
const PACING_FACTOR: f64 = 2.5;

/// Sends a frame as libwebrtc's sender does: in bursts of at most 5 ms, at two and a half times the
/// video's rate.
///
/// At 2 Mbit/s that is one to three packets at a time, so a server finds short runs where an
/// unpaced frame is one long run.
///
/// Shape: bytes; time is an argument. Source: libwebrtc's `PacingController`: a debt that drains at
/// the pacing rate, and bursts as long as it is small.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    bytes_per_second: f64,
    debt: f64,
    drained: Instant,
    next: Instant,
}

impl Pacer {
    /// For video of `bitrate` bits a second.
    pub(crate) fn new(bitrate: u64, now: Instant) -> Self {
        Self {
            bytes_per_second: bitrate as f64 / 8.0 * PACING_FACTOR,
            debt: 0.0,
            drained: now,
            next: now,
        }
    }

    /// The time of the next burst.
    pub(crate) fn due(&self) -> Instant {
        self.next
    }

    /// Begins a burst, if it is time.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let passed = now.saturating_duration_since(self.drained).as_secs_f64();
        self.debt = (self.debt - passed * self.bytes_per_second).max(0.0);
        self.drained = now;
        // Bursts keep their interval unless there was no packet to send, or the sender was held up.
        let on_beat = self.next + BURST;
        self.next = if on_beat > now { on_beat } else { now + BURST };
        true
    }

    /// Whether one more packet, of this length, belongs to the burst.
    pub(crate) fn take(&mut self, len: usize) -> bool {
        let fits = self.debt < self.bytes_per_second * BURST.as_secs_f64();
        if fits {
            self.debt += len as f64;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_frame_of_two_megabits_leaves_in_runs_of_one_to_three() {
        let start = crate::clock::now();
        let mut pacer = Pacer::new(2_000_000, start);
        let (mut runs, mut bytes) = (Vec::new(), 0);
        for ms in 0..1000 {
            if pacer.begin(start + MS * ms) {
                let run = std::iter::repeat_with(|| pacer.take(1150))
                    .take_while(|&taken| taken)
                    .count();
                bytes += run * 1150;
                runs.push(run);
            }
        }
        assert!(runs[1..].iter().all(|run| (1..=3).contains(run)), "{runs:?}");
        assert_eq!(runs.len(), 200, "a burst every 5 ms");
        assert!((620_000..635_000).contains(&bytes), "{bytes} at 5 Mbit/s");
    }

    #[test]
    fn packets_without_a_queue_are_sent_at_once() {
        let start = crate::clock::now();
        let mut pacer = Pacer::new(2_000_000, start);
        assert!(pacer.begin(start) && pacer.take(1150) && !pacer.begin(start + MS));
        assert!(pacer.begin(start + 33 * MS));
        assert_eq!(pacer.due(), start + 38 * MS);
    }
}
