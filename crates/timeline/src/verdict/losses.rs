//! Spans with losses, and with long round trips.

use operator::Observation;
use operator::observation::Direction;

use super::evidence::{LOSS_MIN, Losses};
use super::figures::percent;
use super::{Analysis, Cause, Severity};

/// Seconds with losses that are so far apart are of two spans.
const GAP_MS: u64 = 5_000;

/// Losses in fewer seconds are repaired, or are one event.
const SECONDS_MIN: u32 = 3;

/// A round trip that people notice in what they say. Shape: milliseconds.
const ROUND_TRIP_MS: u16 = 400;

/// So long it is no moment.
const LONG_MS: u64 = 10_000;

#[derive(Default)]
struct Span {
    from_ms: u64,
    to_ms: u64,
    seconds: u32,
    losses: Losses,
}

pub(super) fn find(analysis: &mut Analysis<'_>) {
    for direction in [Direction::Uplink, Direction::Downlink] {
        find_losses(analysis, direction);
    }
    find_distance(analysis);
}

fn find_losses(analysis: &mut Analysis<'_>, of: Direction) {
    let mut span = Span::default();
    for entry in analysis.entries {
        let Observation::Loss {
            direction,
            expected,
            lost,
        } = entry.observation
        else {
            continue;
        };
        if direction != of || f64::from(lost) < f64::from(expected) * LOSS_MIN {
            continue;
        }
        if entry.at_ms.saturating_sub(span.to_ms) > GAP_MS {
            end(analysis, &span, of);
            span = Span {
                from_ms: entry.at_ms,
                ..Span::default()
            };
        }
        span.to_ms = entry.at_ms;
        span.seconds += 1;
        span.losses.add(expected, lost);
    }
    end(analysis, &span, of);
}

fn end(analysis: &mut Analysis<'_>, span: &Span, direction: Direction) {
    if span.seconds < SECONDS_MIN {
        return;
    }
    let (cause, way) = match direction {
        Direction::Uplink => (Cause::Uplink, "uplink"),
        Direction::Downlink => (Cause::Downlink, "downlink"),
    };
    let text = format!(
        "the {way} lost {} of its packets ({} of {})",
        percent(span.losses.ratio()),
        span.losses.lost,
        span.losses.expected
    );
    // A report is about the second before it.
    let span = (span.from_ms.saturating_sub(1_000), span.to_ms);
    analysis.add(span, Severity::Fault, cause, None, text);
}

fn find_distance(analysis: &mut Analysis<'_>) {
    let mut far: Option<(u64, u64, u16)> = None;
    let mut ended = Vec::new();
    for entry in analysis.entries {
        let Observation::Estimate {
            round_trip_ms: Some(time),
            queue_ms,
            ..
        } = entry.observation
        else {
            continue;
        };
        // A queue that we fill is no distance.
        let distance = time.saturating_sub(queue_ms);
        match &mut far {
            Some((_, to, most)) if distance >= ROUND_TRIP_MS => (*to, *most) = (entry.at_ms, distance.max(*most)),
            None if distance >= ROUND_TRIP_MS => far = Some((entry.at_ms, entry.at_ms, distance)),
            Some(_) => ended.extend(far.take()),
            None => {}
        }
    }
    ended.extend(far);
    for (from, to, most) in ended {
        if to.saturating_sub(from) >= LONG_MS {
            let text = format!("far away: packets took up to {most} ms to the participant and back");
            analysis.add((from, to), Severity::Fault, Cause::Distance, None, text);
        }
    }
}
