use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// The publisher that sends next: with hundreds of publishers, asking each one on every turn costs
/// more than their packets.
#[derive(Default)]
pub(crate) struct Agenda {
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    /// By place: whether it is in there.
    has: Vec<bool>,
}

impl Agenda {
    /// Whether this one is to be put here as soon as it has something to send.
    pub(crate) fn lacks(&self, place: usize) -> bool {
        !self.has.get(place).is_some_and(|&has| has)
    }

    /// Puts one here that is not.
    pub(crate) fn put(&mut self, place: usize, due: Instant) {
        if self.has.len() <= place {
            self.has.resize(place + 1, false);
        }
        self.has[place] = true;
        self.due.push(Reverse((due, place)));
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    /// Takes out one that is due.
    pub(crate) fn take(&mut self, now: Instant) -> Option<usize> {
        let place = self.due.peek().filter(|Reverse((due, _))| *due <= now)?.0.1;
        self.due.pop();
        self.has[place] = false;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_is_taken_when_it_is_due_and_lacks_then() {
        let (now, ms) = (crate::clock::now(), Duration::from_millis(1));
        let mut agenda = Agenda::default();
        agenda.put(7, now + 2 * ms);
        agenda.put(3, now + ms);
        assert!(!agenda.lacks(7) && agenda.lacks(0));
        assert_eq!((agenda.next(), agenda.take(now)), (Some(now + ms), None));
        assert_eq!(
            [agenda.take(now + 2 * ms), agenda.take(now + 2 * ms)],
            [Some(3), Some(7)]
        );
        assert!(agenda.lacks(3) && agenda.next().is_none());
    }
}
