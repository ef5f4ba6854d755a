//! A timeline as a trace of Chrome's JSON format, which Perfetto and `chrome://tracing` show.
//!
//! Each stream is a track of its own, and each layer that is sent of it a slice. Rates, losses and
//! delays are counters, and everything else an instant.
//!
//! Source: "Trace Event Format", Google, 2016.

use std::collections::BTreeMap;

use operator::observation::Direction;
use operator::receivers::Target;
use operator::{Observation, Timeline, TimelineEntry, TimelineTrack};
use serde_json::{Value, json};

/// The track of what is about no stream.
const PARTICIPANT: usize = 0;

/// The trace of a timeline. Shape: times in microseconds since the Unix epoch.
pub(super) fn trace(timeline: &Timeline) -> Value {
    let mut trace = Trace {
        events: Vec::new(),
        streams: BTreeMap::new(),
    };
    let name = format!("{} in {}", timeline.participant, timeline.room);
    trace.name("process_name", PARTICIPANT, &name);
    trace.name("thread_name", PARTICIPANT, "participant");
    for entry in &timeline.entries {
        trace.add(entry);
    }
    let end = timeline.entries.last().map_or(0, |entry| entry.at_ms);
    for stream in std::mem::take(&mut trace.streams).into_values() {
        trace.end_slice(&stream, end);
    }
    json!({
        "displayTimeUnit": "ms",
        "traceEvents": trace.events,
        "otherData": {"overwritten": timeline.overwritten.to_string()},
    })
}

struct Trace<'a> {
    events: Vec<Value>,
    /// By the ids of their tracks.
    streams: BTreeMap<&'a str, Stream>,
}

struct Stream {
    number: usize,
    /// Its slice that lasts: the beginning, the name and the arguments.
    slice: Option<(u64, String, Value)>,
}

impl<'a> Trace<'a> {
    fn add(&mut self, entry: &'a TimelineEntry) {
        let number = match &entry.track {
            Some(track) => self.stream(track),
            None => PARTICIPANT,
        };
        match entry.observation {
            Observation::Estimate {
                target_bps,
                allocated_bps,
                wanted_bps,
                loss_permille,
                round_trip_ms,
                queue_ms,
                ..
            } => {
                let rates = json!({"estimated": target_bps, "allocated": allocated_bps, "wanted": wanted_bps});
                self.counter(entry.at_ms, "downlink (bit/s)", rates);
                let delays = json!({"round trip": round_trip_ms.unwrap_or(0), "queue": queue_ms});
                self.counter(entry.at_ms, "delay (ms)", delays);
                self.counter(entry.at_ms, "estimated loss (0.1 %)", json!({"loss": loss_permille}));
            }
            Observation::Loss { direction, lost, .. } => {
                let name = match direction {
                    Direction::Uplink => "lost on the uplink",
                    Direction::Downlink => "lost on the downlink",
                };
                self.counter(entry.at_ms, name, json!({"packets": lost}));
            }
            Observation::LayerSwitch { to, cause, .. } => {
                self.begin_slice(entry, layer(to), json!({"cause": word(&cause)}));
            }
            Observation::Pause { paused: true } => self.begin_slice(entry, "paused".to_owned(), json!({})),
            Observation::Arrival { encodings } if encodings != 0 => {
                self.begin_slice(entry, format!("{} encodings arrive", encodings.count_ones()), json!({}));
            }
            Observation::Pause { paused: false }
            | Observation::Arrival { .. }
            | Observation::Unsubscribe
            | Observation::Unpublish => {
                self.stop_slice(entry);
                self.instant(entry, number);
            }
            Observation::Leave { .. } => {
                let ids: Vec<&str> = self.streams.keys().copied().collect();
                for id in ids {
                    self.stop(id, entry.at_ms);
                }
                self.instant(entry, number);
            }
            _ => self.instant(entry, number),
        }
    }

    /// The number of a stream's track in the trace.
    fn stream(&mut self, track: &'a TimelineTrack) -> usize {
        if let Some(stream) = self.streams.get(track.id.as_str()) {
            return stream.number;
        }
        let number = self.streams.len() + 1;
        let name = format!("{} of {} ({})", word(&track.source), track.peer, track.id);
        self.name("thread_name", number, &name);
        self.streams.insert(&track.id, Stream { number, slice: None });
        number
    }

    fn begin_slice(&mut self, entry: &'a TimelineEntry, name: String, arguments: Value) {
        self.stop_slice(entry);
        let id = entry.track.as_ref().map(|track| track.id.as_str());
        if let Some(stream) = id.and_then(|id| self.streams.get_mut(id)) {
            stream.slice = Some((entry.at_ms, name, arguments));
        }
    }

    fn stop_slice(&mut self, entry: &'a TimelineEntry) {
        if let Some(track) = &entry.track {
            self.stop(&track.id, entry.at_ms);
        }
    }

    fn stop(&mut self, id: &str, at_ms: u64) {
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        let ended = Stream {
            number: stream.number,
            slice: stream.slice.take(),
        };
        self.end_slice(&ended, at_ms);
    }

    fn end_slice(&mut self, stream: &Stream, at_ms: u64) {
        if let Some((from, name, arguments)) = &stream.slice {
            self.events.push(json!({
                "ph": "X", "name": name, "cat": "layer", "pid": 1, "tid": stream.number,
                "ts": from * 1_000, "dur": at_ms.saturating_sub(*from) * 1_000, "args": arguments,
            }));
        }
    }

    fn counter(&mut self, at_ms: u64, name: &str, values: Value) {
        self.events
            .push(json!({"ph": "C", "name": name, "pid": 1, "ts": at_ms * 1_000, "args": values}));
    }

    fn instant(&mut self, entry: &TimelineEntry, number: usize) {
        let arguments = serde_json::to_value(entry.observation).unwrap_or_default();
        let name = arguments["observation"].clone();
        self.events.push(json!({
            "ph": "i", "s": "t", "name": name, "cat": "observation", "pid": 1, "tid": number,
            "ts": entry.at_ms * 1_000, "args": arguments,
        }));
    }

    fn name(&mut self, kind: &str, number: usize, name: &str) {
        self.events
            .push(json!({"ph": "M", "name": kind, "pid": 1, "tid": number, "args": {"name": name}}));
    }
}

fn layer(target: Target) -> String {
    let part = |name: &str, layer: Option<u8>| layer.map_or(String::new(), |layer| format!(" {name}{layer}"));
    format!(
        "encoding {}{}{}",
        target.encoding,
        part("S", target.spatial),
        part("T", target.temporal)
    )
}

/// The word of a value in JSON.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use operator::observation::{LeaveReason, SwitchCause, TrackSource};
    use operator::receivers::MediaKind;

    use super::*;

    fn entry(at_ms: u64, is_of_stream: bool, observation: Observation) -> TimelineEntry {
        let track = is_of_stream.then(|| TimelineTrack {
            id: "TR_1".to_owned(),
            peer: "ada \"<b>\"".to_owned(),
            kind: MediaKind::Video,
            source: TrackSource::Camera,
        });
        TimelineEntry {
            at_ms,
            track,
            observation,
        }
    }

    fn switch(encoding: u8) -> Observation {
        Observation::LayerSwitch {
            from: None,
            to: Target {
                encoding,
                spatial: Some(0),
                temporal: None,
            },
            cause: SwitchCause::Start,
        }
    }

    #[test]
    fn trace_has_a_slice_for_each_layer_on_the_track_of_its_stream() {
        let reason = LeaveReason::ClientInitiated;
        let timeline = Timeline {
            room: "lobby".to_owned(),
            participant: "ben".to_owned(),
            has_left: true,
            overwritten: 0,
            entries: vec![
                entry(1, false, Observation::Join),
                entry(2, true, switch(0)),
                entry(5, true, switch(2)),
                entry(9, true, Observation::Pause { paused: true }),
                entry(12, false, Observation::Leave { reason }),
            ],
        };
        let trace = trace(&timeline);
        let events = trace["traceEvents"].as_array().unwrap();
        let slices: Vec<_> = events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                (
                    &event["name"],
                    event["ts"].as_u64(),
                    event["dur"].as_u64(),
                    event["tid"].as_u64(),
                )
            })
            .collect();
        assert_eq!(
            slices,
            [
                (&json!("encoding 0 S0"), Some(2_000), Some(3_000), Some(1)),
                (&json!("encoding 2 S0"), Some(5_000), Some(4_000), Some(1)),
                (&json!("paused"), Some(9_000), Some(3_000), Some(1)),
            ]
        );
        let names = events.iter().filter(|event| event["name"] == "thread_name");
        let names: Vec<_> = names.map(|event| &event["args"]["name"]).collect();
        assert_eq!(names, [&json!("participant"), &json!("camera of ada \"<b>\" (TR_1)")]);
        let instants = events.iter().filter(|event| event["ph"] == "i");
        let instants: Vec<_> = instants.map(|event| &event["name"]).collect();
        assert_eq!(instants, [&json!("join"), &json!("leave")]);
    }
}
