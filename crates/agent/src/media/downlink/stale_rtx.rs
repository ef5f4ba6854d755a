//! Useless requests of a receiver: for packets before its last key frame.

use std::time::{Duration, Instant};

/// Time until a key frame is forgotten. A receiver that misses a packet for longer asks for a key
/// frame instead.
const MEMORY: Duration = Duration::from_secs(2);

/// The packets of one subscription that precede its last key frame.
///
/// Lost packets of a larger size that did not fit are still asked for when the smaller size already
/// arrives. Resending them would fill the path again. A device reports that it switched to another
/// source or size, but not the sequence number of the switch. Packets sent after the switch cannot
/// be asked for until some time has passed. So a packet that is asked for sooner was sent before
/// the switch, and so was every packet with a lower number.
#[derive(Debug, Default)]
pub(super) struct StaleRtx(Option<Since>);

#[derive(Clone, Copy, Debug)]
struct Since {
    at: Instant,
    /// The newest packet that was asked for while only earlier packets could be.
    newest: Option<u16>,
}

impl StaleRtx {
    /// The subscription continues with a key frame.
    pub(super) fn begin(&mut self, now: Instant) {
        self.0 = Some(Since { at: now, newest: None });
    }

    /// Whether it went on with a key frame after that time.
    pub(super) fn began_after(&self, time: Instant) -> bool {
        self.0.is_some_and(|since| since.at > time)
    }

    /// Whether a packet that is asked for now was sent before the key frame. Packets after it are
    /// not asked for sooner than `soonest` later.
    pub(super) fn has(&mut self, now: Instant, sequence: u16, soonest: Duration) -> bool {
        let Some(since) = self.0.as_mut().filter(|since| now < since.at + MEMORY) else {
            return false;
        };
        let is_newer = |newest: u16| sequence.wrapping_sub(newest).wrapping_sub(1) < u16::MAX / 2;
        if now < since.at + soonest {
            since.newest = Some(since.newest.filter(|newest| !is_newer(*newest)).unwrap_or(sequence));
        }
        since.newest.is_some_and(|newest| !is_newer(newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_requests_and_older_packets_are_stale() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut stale_rtx = StaleRtx::default();
        assert!(!stale_rtx.has(at(0), 7, Duration::from_millis(100)));
        stale_rtx.begin(at(0));
        let mut has = |millis, sequence| stale_rtx.has(at(millis), sequence, Duration::from_millis(100));
        assert!(has(20, 3));
        assert!(has(99, u16::MAX));
        assert!(has(99, 1));
        for (sequence, expected) in [(3, true), (u16::MAX - 9, true), (4, false), (500, false)] {
            assert_eq!(has(200, sequence), expected, "{sequence}");
        }
        assert!(!has(2_000, 3), "numbers come round");
    }

    #[test]
    fn a_later_request_is_not_stale() {
        let start = Instant::now();
        let mut stale_rtx = StaleRtx::default();
        stale_rtx.begin(start);
        let soonest = Duration::from_millis(100);
        assert!(!stale_rtx.has(start + soonest, 3, soonest));
    }
}
