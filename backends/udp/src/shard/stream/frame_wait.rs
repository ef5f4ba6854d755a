//! Waiting for the rest of a frame that has arrived in part.
//!
//! A frame that was sent at once arrives within some tens of microseconds, and a worker that is
//! woken by its first packet finds only that one. A frame forwarded in two parts costs each
//! receiver two runs instead of one. So an otherwise idle worker waits for the rest if waits for
//! this stream have helped before. If a sender paces, or a slow link spreads a frame, it does not
//! wait, and only tries again now and then.

/// The largest balance of useful and useless waits.
const BALANCE_MAX: i8 = 8;
/// Of a stream whose waits were useless, one frame in this many is waited for.
const SELDOM: u8 = 32;

/// The history of waits for a stream's frames: the first wait for a frame, and those after it. A
/// paced frame arrives in bursts, and the first wait may bring its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameWait {
    first: Waits,
    again: Waits,
}

/// The history of one kind of waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Useful waits less useless ones, which count twice.
    balance: i8,
    passed: u8,
}

impl FrameWait {
    pub(crate) fn waits(&mut self, again: bool) -> &mut Waits {
        match again {
            true => &mut self.again,
            false => &mut self.first,
        }
    }
}

impl Waits {
    /// Whether to wait for the rest of a frame.
    pub(crate) fn is_worth_it(&mut self) -> bool {
        self.passed = (self.passed + 1) % SELDOM;
        self.balance >= 0 || self.passed == 0
    }

    /// Records whether more arrived in the wait.
    pub(crate) fn waited(&mut self, arrived: bool) {
        self.balance = match arrived {
            true => (self.balance + 1).min(BALANCE_MAX),
            // A wait that is useful half of the time does not pay.
            false => (self.balance - 2).max(-BALANCE_MAX),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many frames are waited for.
    fn waits(rest: &mut Waits, frames: usize, arrived: impl Fn(usize) -> bool) -> usize {
        let waited = (0..frames).filter(|frame| {
            let waits = rest.is_worth_it();
            if waits {
                rest.waited(arrived(*frame));
            }
            waits
        });
        waited.count()
    }

    #[test]
    fn frames_that_arrive_in_time_are_waited_for_and_late_ones_rarely() {
        let mut rest = Waits::default();
        assert_eq!(waits(&mut rest, 100, |_| true), 100);
        assert!(waits(&mut rest, 320, |_| false) <= 15);
        assert!(waits(&mut rest, 320, |_| false) <= 10);
        assert!(
            waits(&mut rest, 320, |_| true) > 50,
            "it is noticed when it comes again"
        );
    }

    #[test]
    fn a_wait_that_helps_half_of_the_time_is_not_worth_it() {
        let mut rest = Waits::default();
        waits(&mut rest, 1_000, |frame| frame % 2 == 0);
        assert!(waits(&mut rest, 320, |frame| frame % 2 == 0) <= 40);
    }
}
