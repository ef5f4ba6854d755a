//! Small pictures, and none: what a receiver was sent of others, and why not more.

use std::collections::BTreeMap;

use operator::observation::SwitchCause;
use operator::receivers::Target;
use operator::{Observation, TimelineTrack};

use super::evidence::Evidence;
use super::figures::{noun, rate};
use super::{Analysis, Cause, Severity};

/// Shorter episodes are not noticed, or are parts of a change.
const SHORT_MS: u64 = 2_000;

/// So much less than what is wanted is seen.
const SHORTAGE: f64 = 0.7;

/// A shortage this long is no start.
const SHORTAGE_MS: u64 = 10_000;

/// The episodes of one track that last.
#[derive(Default)]
struct Shown<'a> {
    small: Option<Small<'a>>,
    paused: Option<(u64, &'a TimelineTrack)>,
}

/// A smaller picture than before.
#[derive(Clone, Copy)]
struct Small<'a> {
    from_ms: u64,
    track: &'a TimelineTrack,
    cause: SwitchCause,
    /// It is over with this layer, or a better one.
    before: Target,
}

pub(super) fn find(analysis: &mut Analysis<'_>) {
    let entries = analysis.entries;
    let mut tracks: BTreeMap<&str, Shown<'_>> = BTreeMap::new();
    for entry in entries {
        let at = entry.at_ms;
        if matches!(entry.observation, Observation::Leave { .. }) {
            for (_, shown) in std::mem::take(&mut tracks) {
                shown.end(analysis, at);
            }
        }
        let Some(track) = &entry.track else { continue };
        match entry.observation {
            Observation::LayerSwitch { from, to, cause } => {
                let shown = tracks.entry(&track.id).or_default();
                if let Some(small) = shown.small
                    && size(to) >= size(small.before)
                {
                    shown.end_small(analysis, at);
                }
                if let Some(before) = from.filter(|from| size(to) < size(*from)) {
                    let begins_anew = shown.small.is_none_or(|small| small.cause != cause);
                    if begins_anew {
                        shown.end_small(analysis, at);
                        shown.small = Some(Small {
                            from_ms: at,
                            track,
                            cause,
                            before,
                        });
                    }
                }
            }
            Observation::Pause { paused: true } => {
                let shown = tracks.entry(&track.id).or_default();
                shown.end_small(analysis, at);
                shown.paused.get_or_insert((at, track));
            }
            Observation::Pause { paused: false } => tracks.entry(&track.id).or_default().end_pause(analysis, at),
            Observation::Unsubscribe => {
                if let Some(shown) = tracks.remove(track.id.as_str()) {
                    shown.end(analysis, at);
                }
            }
            _ => {}
        }
    }
    let end_ms = analysis.end_ms;
    for (_, shown) in tracks {
        shown.end(analysis, end_ms);
    }
    find_shortage(analysis);
}

impl Shown<'_> {
    fn end(mut self, analysis: &mut Analysis<'_>, at: u64) {
        self.end_small(analysis, at);
        self.end_pause(analysis, at);
    }

    fn end_small(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        let Some(small) = self
            .small
            .take()
            .filter(|small| at.saturating_sub(small.from_ms) >= SHORT_MS)
        else {
            return;
        };
        let (track, span) = (small.track, (small.from_ms, at));
        let what = format!("small {} from {}", noun(track), track.peer);
        let evidence = Evidence::about(analysis.entries, span.0, span.1);
        let (severity, cause, why) = match small.cause {
            SwitchCause::Start | SwitchCause::Downlink => {
                let why = format!("{}; {}", evidence.downlink_words(), evidence.uplink_words());
                (Severity::Fault, Cause::Downlink, why)
            }
            SwitchCause::Request => (
                Severity::Info,
                Cause::Request,
                "the client asked for no larger one".to_owned(),
            ),
            SwitchCause::Publisher => {
                let why = format!("the client of {} sent no larger one", track.peer);
                (Severity::Fault, Cause::Publisher, why)
            }
        };
        analysis.add(span, severity, cause, Some(&track.peer), format!("{what}: {why}"));
    }

    fn end_pause(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        let Some((from, track)) = self.paused.take() else {
            return;
        };
        let evidence = Evidence::about(analysis.entries, from, at);
        let text = format!(
            "no {} from {}: {}; {}",
            noun(track),
            track.peer,
            evidence.downlink_words(),
            evidence.uplink_words()
        );
        analysis.add((from, at), Severity::Fault, Cause::Downlink, Some(&track.peer), text);
    }
}

/// A receiver that gets less than is wanted from the start on has no switch to a smaller size.
fn find_shortage(analysis: &mut Analysis<'_>) {
    let mut shortage: Option<Shortage> = None;
    for entry in analysis.entries {
        let Observation::Estimate {
            allocated_bps,
            wanted_bps,
            ..
        } = entry.observation
        else {
            continue;
        };
        let is_short = f64::from(allocated_bps) < f64::from(wanted_bps) * SHORTAGE;
        match (&mut shortage, is_short) {
            (Some(known), true) => {
                known.to_ms = entry.at_ms;
                known.wanted_bps = known.wanted_bps.max(wanted_bps);
            }
            (None, true) => {
                shortage = Some(Shortage {
                    from_ms: entry.at_ms,
                    to_ms: entry.at_ms,
                    wanted_bps,
                });
            }
            (Some(known), false) => {
                known.to_ms = entry.at_ms;
                known.end(analysis);
                shortage = None;
            }
            (None, false) => {}
        }
    }
    if let Some(mut known) = shortage {
        known.to_ms = known.to_ms.max(analysis.end_ms);
        known.end(analysis);
    }
}

struct Shortage {
    from_ms: u64,
    to_ms: u64,
    wanted_bps: u32,
}

impl Shortage {
    fn end(&self, analysis: &mut Analysis<'_>) {
        let is_told = analysis.findings.iter().any(|finding| {
            finding.cause == Cause::Downlink && finding.from_ms <= self.to_ms && finding.to_ms >= self.from_ms
        });
        if is_told || self.to_ms.saturating_sub(self.from_ms) < SHORTAGE_MS {
            return;
        }
        let evidence = Evidence::about(analysis.entries, self.from_ms, self.to_ms);
        let text = format!(
            "small pictures: {} where {} were wanted; {}",
            evidence.downlink_words(),
            rate(self.wanted_bps),
            evidence.uplink_words()
        );
        let span = (self.from_ms, self.to_ms);
        analysis.add(span, Severity::Fault, Cause::Downlink, None, text);
    }
}

/// The size of a layer; its frame rate does not count.
fn size(target: Target) -> (u8, u8) {
    (target.encoding, target.spatial.unwrap_or(u8::MAX))
}
