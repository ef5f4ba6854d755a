//! Transports that were closed recently: late packets of their peers are no fault.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::limits::{DEPARTED_AGE, DEPARTED_MAX};

/// User fragments of closed transports.
#[derive(Default)]
pub(crate) struct Departed {
    closed: HashMap<String, Instant>,
    /// In the order they were closed.
    order: VecDeque<(Instant, String)>,
}

impl Departed {
    /// A transport with this user fragment was closed.
    pub(crate) fn remember(&mut self, now: Instant, ufrag: &str) {
        while self
            .order
            .front()
            .is_some_and(|(at, _)| self.order.len() >= DEPARTED_MAX || *at + DEPARTED_AGE <= now)
        {
            let (at, ufrag) = self.order.pop_front().expect("there is a first one");
            if self.closed.get(&ufrag) == Some(&at) {
                self.closed.remove(&ufrag);
            }
        }
        self.closed.insert(ufrag.to_owned(), now);
        self.order.push_back((now, ufrag.to_owned()));
    }

    /// Whether one was closed a moment ago.
    pub(crate) fn knows(&self, now: Instant, ufrag: &str) -> bool {
        self.closed.get(ufrag).is_some_and(|at| now < *at + DEPARTED_AGE)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn closed_transports_are_known_for_a_while_and_not_too_many() {
        let (mut departed, start) = (Departed::default(), Instant::now());
        departed.remember(start, "ada");
        assert!(departed.knows(start + DEPARTED_AGE / 2, "ada") && !departed.knows(start, "bob"));
        assert!(!departed.knows(start + DEPARTED_AGE, "ada"));
        let later = start + Duration::from_secs(1);
        for number in 0..DEPARTED_MAX {
            departed.remember(later, &number.to_string());
        }
        assert!(!departed.knows(later, "ada") && departed.knows(later, "0"));
        assert_eq!(
            (departed.order.len(), departed.closed.len()),
            (DEPARTED_MAX, DEPARTED_MAX)
        );
    }
}
