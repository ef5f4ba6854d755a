//! The participant's own tracks: silence, mutes, permissions, and key frames.

use std::collections::{BTreeMap, BTreeSet};

use operator::receivers::MediaKind;
use operator::{Observation, TimelineEntry, TimelineTrack};

use super::evidence::{Evidence, LOSS_MIN};
use super::figures::{noun, percent};
use super::{Analysis, Cause, Severity};

/// A track that is silent for less is not missed.
const SILENT_MS: u64 = 3_000;

/// So many requests without an answer are no accident.
const ATTEMPTS: u16 = 4;

/// So many requests of a decoder within [`REQUESTS_MS`] are no accident.
const REQUESTS: usize = 5;
const REQUESTS_MS: u64 = 10_000;

/// One track that the participant publishes.
struct Own<'a> {
    track: &'a TimelineTrack,
    is_muted: bool,
    muted: Option<u64>,
    /// Since when nothing of it arrives.
    silent: Option<u64>,
    /// Key frames that were asked for in vain: since when, until when, how often.
    asked: Option<(u64, u64, u16)>,
}

pub(super) fn find(analysis: &mut Analysis<'_>) {
    let mut own: BTreeMap<&str, Own<'_>> = BTreeMap::new();
    let mut may_publish = true;
    let mut may_subscribe = true;
    for entry in analysis.entries {
        let at = entry.at_ms;
        if let Observation::Permission { publish, subscribe, .. } = entry.observation {
            let taken = [
                (may_publish && !publish, "publish"),
                (may_subscribe && !subscribe, "get tracks"),
            ];
            for (_, what) in taken.into_iter().filter(|(is_taken, _)| *is_taken) {
                let text = format!("the participant may not {what} any more: its permission was taken");
                analysis.add((at, at), Severity::Fault, Cause::Permission, None, text);
            }
            (may_publish, may_subscribe) = (publish, subscribe);
        }
        if matches!(entry.observation, Observation::Leave { .. }) {
            (may_publish, may_subscribe) = (true, true);
            for (_, mut track) in std::mem::take(&mut own) {
                track.end(analysis, at);
            }
        }
        let Some(track) = &entry.track else { continue };
        match entry.observation {
            Observation::Publish => _ = track_of(&mut own, track),
            Observation::Mute { muted } => track_of(&mut own, track).mute(analysis, at, muted),
            Observation::Arrival { encodings } => track_of(&mut own, track).arrive(analysis, at, encodings),
            Observation::KeyFrameQuery { attempt } => track_of(&mut own, track).ask(analysis, at, attempt),
            Observation::Unpublish => {
                if let Some(mut track) = own.remove(track.id.as_str()) {
                    track.end(analysis, at);
                }
            }
            _ => {}
        }
    }
    let end_ms = analysis.end_ms;
    for (_, mut track) in own {
        track.end(analysis, end_ms);
    }
    find_requests(analysis);
}

fn track_of<'own, 'a>(own: &'own mut BTreeMap<&'a str, Own<'a>>, track: &'a TimelineTrack) -> &'own mut Own<'a> {
    own.entry(&track.id).or_insert(Own {
        track,
        is_muted: false,
        muted: None,
        silent: None,
        asked: None,
    })
}

impl Own<'_> {
    fn mute(&mut self, analysis: &mut Analysis<'_>, at: u64, muted: bool) {
        self.is_muted = muted;
        match muted {
            true => {
                self.end_silence(analysis, at);
                self.muted.get_or_insert(at);
            }
            false => self.end_mute(analysis, at),
        }
    }

    fn arrive(&mut self, analysis: &mut Analysis<'_>, at: u64, encodings: u8) {
        match encodings {
            0 if !self.is_muted => _ = self.silent.get_or_insert(at),
            0 => {}
            _ => {
                self.end_silence(analysis, at);
                self.end_asking(analysis);
            }
        }
    }

    fn ask(&mut self, analysis: &mut Analysis<'_>, at: u64, attempt: u16) {
        match &mut self.asked {
            Some((_, to, most)) if attempt > *most => (*to, *most) = (at, attempt),
            _ => {
                self.end_asking(analysis);
                self.asked = Some((at, at, attempt));
            }
        }
    }

    fn end(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        self.end_silence(analysis, at);
        self.end_mute(analysis, at);
        self.end_asking(analysis);
    }

    fn end_mute(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        if let Some(from) = self.muted.take() {
            let text = format!("the participant had muted its {}", noun(self.track));
            analysis.add((from, at), Severity::Info, Cause::Mute, None, text);
        }
    }

    /// Clients stop sending what nobody wants, so a silent picture is a fault only if somebody
    /// waits for it.
    fn end_silence(&mut self, analysis: &mut Analysis<'_>, at: u64) {
        let Some(from) = self.silent.take().filter(|from| at.saturating_sub(*from) >= SILENT_MS) else {
            return;
        };
        let is_awaited = self
            .asked
            .is_some_and(|(_, to, attempt)| to >= from && attempt >= ATTEMPTS);
        let severity = match is_awaited {
            true => Severity::Fault,
            false => Severity::Info,
        };
        let text = format!(
            "the client sent nothing of its {}, which is not muted",
            noun(self.track)
        );
        analysis.add((from, at), severity, Cause::Publisher, None, text);
        if is_awaited {
            self.asked = None;
        }
    }

    fn end_asking(&mut self, analysis: &mut Analysis<'_>) {
        let Some((from, to, attempt)) = self.asked.take().filter(|(.., attempt)| *attempt >= ATTEMPTS) else {
            return;
        };
        let lost = Evidence::about(analysis.entries, from, to).uplink.ratio();
        let loss = match lost >= LOSS_MIN {
            true => format!("; the uplink lost {}", percent(lost)),
            false => String::new(),
        };
        let text = format!(
            "the client sent no key frame of its {} that others could use, though it was asked {attempt} times{loss}",
            noun(self.track)
        );
        analysis.add((from, to), Severity::Fault, Cause::KeyFrames, None, text);
    }
}

/// Decoders of the participant that ask again and again.
fn find_requests(analysis: &mut Analysis<'_>) {
    let is_own =
        |entry: &&TimelineEntry| matches!(entry.observation, Observation::Publish | Observation::Arrival { .. });
    let own = analysis.entries.iter().filter(is_own);
    let own: BTreeSet<&str> = own
        .filter_map(|entry| Some(entry.track.as_ref()?.id.as_str()))
        .collect();
    let mut requests: BTreeMap<&str, Vec<(u64, &TimelineTrack)>> = BTreeMap::new();
    for entry in analysis.entries {
        if let (Observation::KeyFrameRequest, Some(track)) = (entry.observation, &entry.track)
            && track.kind == MediaKind::Video
            && !own.contains(track.id.as_str())
        {
            requests.entry(&track.id).or_default().push((entry.at_ms, track));
        }
    }
    for (_, times) in requests {
        let mut rest = &times[..];
        while let Some(((from, track), _)) = rest.split_first() {
            let many = rest
                .iter()
                .take_while(|(at, _)| at.saturating_sub(*from) <= REQUESTS_MS)
                .count();
            if many >= REQUESTS {
                let evidence = Evidence::about(analysis.entries, *from, rest[many - 1].0);
                let text = format!(
                    "broken {} from {}: the client asked for {many} key frames; the downlink lost {}",
                    noun(track),
                    track.peer,
                    percent(evidence.downlink.ratio())
                );
                let span = (*from, rest[many - 1].0);
                analysis.add(span, Severity::Fault, Cause::KeyFrames, Some(&track.peer), text);
            }
            rest = &rest[many.max(1)..];
        }
    }
}
