//! Pictures of which a part has come, and whether the rest is worth a moment's wait.
//!
//! A picture that was sent at once arrives within some tens of microseconds, and whoever is woken
//! by its first packet finds only that one. What goes out in two parts costs each receiver two runs
//! in place of one. So a worker that has nothing else to do waits for the rest, where that has come
//! in time before; where a sender paces, or a slow link spreads a picture, it does not, and it is
//! only looked now and again whether that is still so.

use super::Shard;
use super::slab::Slab;
use super::stream::StreamState;

/// Waits in vain and not in vain are balanced up to so much.
const BALANCE_MAX: i8 = 8;
/// A stream whose waits were in vain is waited for once in so many pictures.
const SELDOM: u8 = 32;

/// What is known of a stream's pictures: whether more comes in the first wait, and whether still
/// more does in those behind it. What is paced comes in bursts, of which the first may bring the
/// end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rest {
    first: Waits,
    again: Waits,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    /// So many more were of use than in vain.
    balance: i8,
    passed: u8,
}

impl Rest {
    fn waits(&mut self, again: bool) -> &mut Waits {
        match again {
            true => &mut self.again,
            false => &mut self.first,
        }
    }
}

impl Waits {
    /// Whether to wait for the rest of a picture.
    fn is_worth_it(&mut self) -> bool {
        self.passed = (self.passed + 1) % SELDOM;
        self.balance >= 0 || self.passed == 0
    }

    /// More has come, or not.
    fn waited(&mut self, came: bool) {
        self.balance = match came {
            true => (self.balance + 1).min(BALANCE_MAX),
            // So that what is of use half of the time is not done.
            false => (self.balance - 2).max(-BALANCE_MAX),
        };
    }
}

/// The streams of which the last packet that came is not the last one of its picture.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The places of such streams.
    open: Vec<usize>,
    /// Those that are waited for, and how many of their packets there were before.
    awaited: Vec<(usize, u64)>,
}

impl Parts {
    /// A packet of a picture came that ends it, or does not.
    #[inline]
    pub(super) fn came(&mut self, stream: usize, ends: bool) {
        match self.open.iter().rposition(|open| *open == stream) {
            Some(place) if ends => drop(self.open.swap_remove(place)),
            None if !ends => self.open.push(stream),
            Some(_) | None => {}
        }
    }

    /// What has come is sent now, whole or not.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.awaited.clear();
    }

    fn is_worth_it(&mut self, streams: &mut Slab<StreamState>, again: bool) -> bool {
        self.awaited.clear();
        for place in &self.open {
            let stream = &mut streams[*place];
            if stream.rest.waits(again).is_worth_it() {
                self.awaited.push((*place, stream.statistics.packets));
            }
        }
        !self.awaited.is_empty()
    }

    fn waited(&mut self, streams: &mut Slab<StreamState>, again: bool) {
        for (place, before) in self.awaited.drain(..) {
            let stream = &mut streams[place];
            let came = stream.statistics.packets > before;
            stream.rest.waits(again).waited(came);
        }
    }
}

impl Shard {
    /// Whether a moment's wait, or one more, is likely to bring the rest of pictures of which a
    /// part has come since the last [`work`](Self::work). Whoever waits then tells so by
    /// [`waited`](Self::waited), behind what it received.
    pub fn awaits_rest(&mut self, again: bool) -> bool {
        self.parts.is_worth_it(&mut self.streams, again)
    }

    /// It was waited for the rest, or once more.
    pub fn waited(&mut self, again: bool) {
        self.parts.waited(&mut self.streams, again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many pictures are waited for.
    fn waits(rest: &mut Waits, pictures: usize, came: impl Fn(usize) -> bool) -> usize {
        let waited = (0..pictures).filter(|picture| {
            let waits = rest.is_worth_it();
            if waits {
                rest.waited(came(*picture));
            }
            waits
        });
        waited.count()
    }

    #[test]
    fn what_comes_in_time_is_waited_for_and_what_does_not_hardly_ever() {
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
    fn what_comes_half_of_the_time_is_not_worth_it() {
        let mut rest = Waits::default();
        waits(&mut rest, 1_000, |picture| picture % 2 == 0);
        assert!(waits(&mut rest, 320, |picture| picture % 2 == 0) <= 40);
    }

    #[test]
    fn a_picture_is_open_until_its_end() {
        let mut parts = Parts::default();
        parts.came(3, false);
        parts.came(5, false);
        parts.came(3, false);
        assert_eq!(parts.open, [3, 5]);
        parts.came(3, true);
        parts.came(7, true);
        assert_eq!(parts.open, [5]);
        parts.forget();
        assert!(parts.open.is_empty());
    }
}
