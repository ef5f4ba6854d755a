//! How much of a stream arrives, layer by layer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wire::codec::Layer;

use crate::limits::LAYERS_MAX;

/// Packets are counted together for so long,
const SPAN: Duration = Duration::from_millis(500);
/// and so many of those counts make a rate. The one with most bytes is left out once there are all: a key frame that a receiver asks for is no faster stream, and
/// would make others ask for theirs.
const SPANS: usize = 5;
/// Less than this long says nothing yet.
const READY: Duration = Duration::from_secs(1);

/// Those, and the one under way.
const SLOTS: usize = SPANS + 1;

/// Counts one stream's packets. What it says changes when a span ends and never in between, so that it is the same whoever asks when.
#[derive(Debug, Default)]
pub(super) struct Meter {
    began: Option<Instant>,
    /// The newest span, counted from the beginning.
    span: u64,
    layers: BTreeMap<(u8, u8), [Tally; SLOTS]>,
    /// Its packets say which layer they are of.
    layered: bool,
    /// What was known before the stream paused: the best guess of what comes after.
    before: Vec<Measured>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: u64,
    frames: u32,
}

/// One layer's own packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) layer: Layer,
    /// Shape: bits per second of UDP payload.
    pub(super) rate: u64,
    /// Shape: frames per second.
    pub(super) frames: f64,
}

impl Meter {
    /// The stream starts, perhaps again.
    pub(super) fn restart(&mut self, now: Instant) {
        let before = match self.began {
            Some(_) => self.measured_until_silence(),
            None => Vec::new(),
        };
        if !before.is_empty() {
            self.before = before;
        }
        (self.began, self.span) = (Some(now), 0);
        self.layers.clear();
    }

    /// A packet came.
    pub(super) fn arrived(&mut self, at: Instant, layer: Option<Layer>, size: u16, ends_frame: bool) {
        self.layered |= layer.is_some();
        if self.layered && layer.is_none() {
            // Who says so does with every packet of a picture: this one is padding, and goes to nobody.
            return;
        }
        let began = *self.began.get_or_insert(at);
        self.advance(span_at(began, at));
        let layer = layer.unwrap_or_default();
        let key = (layer.spatial, layer.temporal);
        if self.layers.len() >= LAYERS_MAX && !self.layers.contains_key(&key) {
            return;
        }
        let tally = &mut self.layers.entry(key).or_default()[self.span as usize % SLOTS];
        tally.bytes += u64::from(size);
        tally.frames += u32::from(ends_frame);
    }

    /// What is known of each layer, the lowest first; what was before the stream paused until enough has come since; `None` where nothing is known.
    pub(super) fn measured(&mut self, now: Instant) -> Option<Vec<Measured>> {
        let began = self.began?;
        self.advance(span_at(began, now));
        if now.saturating_duration_since(began) >= READY {
            return Some(self.over_whole_spans());
        }
        (!self.before.is_empty()).then(|| self.before.clone())
    }

    /// What is known of the time before now, in which nothing came.
    fn measured_until_silence(&self) -> Vec<Measured> {
        if self.span == 0 {
            return Vec::new();
        }
        self.over_whole_spans()
    }

    /// When what [`measured`](Self::measured) says may change next.
    pub(super) fn changes_at(&self, now: Instant) -> Instant {
        let began = self.began.unwrap_or(now);
        began + SPAN * (span_at(began, now) as u32 + 1)
    }

    fn over_whole_spans(&self) -> Vec<Measured> {
        let seconds = (SPAN * self.span.min(SPANS as u64) as u32).as_secs_f64();
        let under_way = self.span as usize % SLOTS;
        let measured = |((spatial, temporal), spans): (&(u8, u8), &[Tally; SLOTS])| {
            let whole = || {
                let others = spans.iter().enumerate().filter(|(slot, _)| *slot != under_way);
                others.map(|(_, tally)| tally)
            };
            let bytes: u64 = whole().map(|tally| tally.bytes).sum();
            let most = whole().map(|tally| tally.bytes).max().unwrap_or(0);
            let (bytes, span) = match self.span >= SPANS as u64 {
                true => (bytes - most, seconds - SPAN.as_secs_f64()),
                false => (bytes, seconds),
            };
            Measured {
                layer: Layer {
                    spatial: *spatial,
                    temporal: *temporal,
                },
                rate: (bytes as f64 * 8.0 / span) as u64,
                frames: f64::from(whole().map(|tally| tally.frames).sum::<u32>()) / seconds,
            }
        };
        self.layers.iter().map(measured).collect()
    }

    /// Begins the spans up to this one, empty.
    fn advance(&mut self, span: u64) {
        let new = span.saturating_sub(self.span).min(SLOTS as u64);
        for index in 1..=new {
            for spans in self.layers.values_mut() {
                spans[(span - new + index) as usize % SLOTS] = Tally::default();
            }
        }
        self.span = self.span.max(span);
    }
}

fn span_at(began: Instant, at: Instant) -> u64 {
    (at.saturating_duration_since(began).as_millis() / SPAN.as_millis()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: Layer = Layer {
        spatial: 0,
        temporal: 1,
    };

    /// 1,000 bytes every 20 ms, every second one of them in layer T1.
    fn feed(meter: &mut Meter, start: Instant, millis: std::ops::Range<u64>) {
        for at in millis.step_by(20) {
            let layer = if at % 40 == 0 { Layer::default() } else { LAYER };
            meter.arrived(start + Duration::from_millis(at), Some(layer), 1_000, true);
        }
    }

    #[test]
    fn each_layer_has_its_own_rate_after_a_second() {
        let (mut meter, start) = (Meter::default(), Instant::now());
        feed(&mut meter, start, 0..1_000);
        assert_eq!(meter.measured(start + Duration::from_millis(999)), None);
        feed(&mut meter, start, 1_000..10_000);
        let measured = meter.measured(start + Duration::from_secs(10)).unwrap();
        for layer in &measured {
            assert!((190_000..=210_000).contains(&layer.rate), "{measured:?}");
            assert!((24.0..=26.0).contains(&layer.frames), "{measured:?}");
        }
        assert_eq!(measured.len(), 2);
    }

    #[test]
    fn what_stops_is_nothing_after_two_seconds_and_remembered_when_it_comes_again() {
        let (mut meter, start) = (Meter::default(), Instant::now());
        feed(&mut meter, start, 0..5_000);
        meter.restart(start + Duration::from_secs(60));
        let again = meter.measured(start + Duration::from_millis(60_100)).unwrap();
        assert!((190_000..=210_000).contains(&again[0].rate), "{again:?}");
        let silent = meter.measured(start + Duration::from_secs(70)).unwrap();
        assert!(silent.iter().all(|layer| layer.rate == 0));
    }

    #[test]
    fn layers_are_bounded() {
        let (mut meter, now) = (Meter::default(), Instant::now());
        for spatial in 0..=u8::MAX {
            meter.arrived(now, Some(Layer { spatial, temporal: 0 }), 1, true);
        }
        assert_eq!(meter.layers.len(), LAYERS_MAX);
    }

    #[test]
    fn padding_is_no_part_of_a_stream_in_layers() {
        let (mut meter, start) = (Meter::default(), Instant::now());
        for step in 0..300 {
            let at = start + Duration::from_millis(step * 10);
            meter.arrived(at, None, 1_200, false);
            meter.arrived(at, Some(Layer::default()), 100, true);
            meter.arrived(at, None, 1_200, false);
        }
        let measured = meter.measured(start + Duration::from_secs(3)).expect("enough has come");
        assert!(measured[0].rate < 100_000, "{measured:?}");
    }
}
