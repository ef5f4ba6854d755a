//! Which encoding a receiver gets.

use crate::media::uplink::EncodingState;

/// The best encoding that arrives and is not better than `max`, otherwise the lowest that arrives.
/// While nothing arrives, `current` stays; without one it is the best that may arrive, so that the
/// first packet has a source to match.
pub(super) fn select(max: usize, encodings: &[EncodingState], current: Option<usize>) -> Option<usize> {
    let arrives = |index: &usize| encodings[*index].active.is_some();
    let is_known = |index: &usize| encodings[*index].stream.is_some();
    let at_most = 0..encodings.len().min(max.saturating_add(1));
    let above = at_most.end..encodings.len();
    (at_most.clone().rev().find(arrives))
        .or_else(|| above.clone().find(arrives))
        .or(current.filter(|index| *index < encodings.len() && is_known(index)))
        .or_else(|| at_most.rev().find(is_known))
        .or_else(|| above.into_iter().find(is_known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::{LegId, StreamKey};
    use std::time::Instant;
    use wire::Ssrc;

    /// `a` arrives, `k` is known, `-` is neither.
    fn encodings(states: &str) -> Vec<EncodingState> {
        let key = StreamKey {
            leg: LegId(1),
            ssrc: Ssrc(1),
        };
        let state = |state| EncodingState {
            stream: (state != '-').then_some(key),
            rtx: None,
            active: (state == 'a').then(Instant::now),
        };
        states.chars().map(state).collect()
    }

    #[test]
    fn the_best_that_arrives_at_or_below_the_wanted_one_else_the_lowest_above() {
        for (states, max, current, expected) in [
            ("aaa", 1, None, Some(1)),
            ("aaa", 9, None, Some(2)),
            ("aka", 1, Some(2), Some(0)),
            ("kka", 0, None, Some(2)),
            ("kaa", 0, None, Some(1)),
            ("kkk", 1, Some(2), Some(2)),
            ("kkk", 1, None, Some(1)),
            ("-kk", 0, None, Some(1)),
            ("---", 1, Some(2), None),
            ("", 0, None, None),
        ] {
            assert_eq!(
                select(max, &encodings(states), current),
                expected,
                "{states} {max} {current:?}"
            );
        }
    }
}
