//! How much of a stream arrives, layer by layer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dataplane::Arrival;
use wire::codec::Layer;

use crate::limits::LAYERS_MAX;

/// Packets are counted together for this long.
const SPAN: Duration = Duration::from_millis(500);
/// Number of counts that make a rate.
const SPANS: usize = 5;
/// Number of counts that make the rate over a longer time.
const LONG_SPANS: usize = 20;
/// The highest of five counts is capped at this multiple of the median. A key frame that a receiver
/// asks for does not make the stream faster, and counting it in full would make other receivers ask
/// for theirs. Frames that larger sizes need may be key frames only. They count when they recur
/// within the long period.
const USUAL: f64 = 1.5;
/// Nothing is known after less than this time.
const READY: Duration = Duration::from_secs(1);

/// The counts of the long rate, and the one under way.
const SLOTS: usize = LONG_SPANS + 1;

/// Measures the bit rate of one stream's layers. Its result changes only when a span ends, so that
/// it does not depend on the time of the query.
#[derive(Debug, Default)]
pub(super) struct LayerBitrate {
    began: Option<Instant>,
    /// The newest span, counted from the beginning.
    span: u64,
    layers: BTreeMap<(u8, u8), [Tally; SLOTS]>,
    /// Whether its packets carry their layer.
    layered: bool,
    /// Packets without a layer in such a stream.
    unsaid: [Tally; SLOTS],
    /// The measurement from before the stream paused: the best guess for its next packets.
    before: Vec<Measured>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: u64,
    /// Bytes of frames that larger sizes need.
    above: u64,
    frames: u32,
}

/// One layer's own packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) layer: Layer,
    /// Shape: bits per second of UDP payload.
    pub(super) rate: u64,
    /// The part of it that is sent with larger sizes too.
    pub(super) needed_above: u64,
    /// Shape: frames per second.
    pub(super) frames: f64,
}

impl LayerBitrate {
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
        self.unsaid = Default::default();
    }

    /// A packet arrived.
    pub(super) fn arrived(&mut self, packet: &Arrival) {
        self.layered |= packet.layer.is_some();
        let began = *self.began.get_or_insert(packet.at);
        self.advance(span_at(began, packet.at));
        let layer = packet.layer.unwrap_or_default();
        let key = (layer.spatial, layer.temporal);
        let tallies = match packet.layer {
            None if self.layered => &mut self.unsaid,
            _ if self.layers.len() >= LAYERS_MAX && !self.layers.contains_key(&key) => return,
            _ => self.layers.entry(key).or_default(),
        };
        let tally = &mut tallies[self.span as usize % SLOTS];
        tally.bytes += u64::from(packet.size);
        tally.above += u64::from(packet.size) * u64::from(packet.needed_above);
        tally.frames += u32::from(packet.ends_frame);
    }

    /// The measurement of each layer, the lowest first. It is the one from before the stream paused
    /// until enough has arrived since, and `None` if nothing is known.
    pub(super) fn measured(&mut self, now: Instant) -> Option<Vec<Measured>> {
        let began = self.began?;
        self.advance(span_at(began, now));
        if now.saturating_duration_since(began) >= READY {
            return Some(self.over_whole_spans());
        }
        (!self.before.is_empty()).then(|| self.before.clone())
    }

    /// The measurement up to the time when the stream fell silent.
    fn measured_until_silence(&self) -> Vec<Measured> {
        if self.span == 0 {
            return Vec::new();
        }
        self.over_whole_spans()
    }

    /// The earliest time at which [`measured`](Self::measured) may change.
    pub(super) fn changes_at(&self, now: Instant) -> Instant {
        let began = self.began.unwrap_or(now);
        began + SPAN * (span_at(began, now) as u32 + 1)
    }

    fn over_whole_spans(&self) -> Vec<Measured> {
        let measured = |(spatial, temporal), tallies| Measured {
            layer: Layer { spatial, temporal },
            rate: self.rate(tallies, |tally| tally.bytes),
            needed_above: self.rate(tallies, |tally| tally.above),
            frames: self.frames(tallies),
        };
        let layers: Vec<Measured> = self.layers.iter().map(|(key, it)| measured(*key, it)).collect();
        if layers.iter().any(|layer| layer.rate > 0) {
            return layers;
        }
        // Packets that end frames are not padding. They may still arrive without a layer: their
        // reader lacks the structure that their descriptors refer to, for example after a move to
        // another data plane. If they counted for nothing, no receiver would switch to the stream
        // and ask for the key frame that repeats the structure.
        let whole = measured((0, 0), &self.unsaid);
        if whole.frames > 0.0 { vec![whole] } else { layers }
    }

    /// Bits per second: the current rate, or the rate over a longer time if that is higher. An
    /// encoder that has just made a key frame or is short of CPU sends less for a moment than a
    /// larger size will need.
    fn rate(&self, tallies: &[Tally; SLOTS], bytes: fn(&Tally) -> u64) -> u64 {
        let over = |spans| rate(self.newest(tallies, spans).map(bytes));
        match over(SPANS) {
            0 => 0,
            now => now.max(over(LONG_SPANS)),
        }
    }

    /// Frames a second, likewise. An encoder skips some frames after a key frame. A size with a
    /// lower utility for that would be given up, and the change would need another key frame.
    fn frames(&self, tallies: &[Tally; SLOTS]) -> f64 {
        let over = |spans| {
            let newest = self.newest(tallies, spans);
            let count = newest.len();
            newest.map(|tally| f64::from(tally.frames)).sum::<f64>() / seconds(count)
        };
        match over(SPANS) {
            0.0 => 0.0,
            now => now.max(over(LONG_SPANS)),
        }
    }

    /// The counts of the last whole spans, at most `spans`.
    fn newest<'a>(
        &self,
        tallies: &'a [Tally; SLOTS],
        spans: usize,
    ) -> impl ExactSizeIterator<Item = &'a Tally> + use<'a> {
        let (span, whole) = (self.span as usize, self.span.min(spans as u64) as usize);
        (1..whole + 1).map(move |back| &tallies[(span - back) % SLOTS])
    }

    /// Begins the spans up to this one, empty.
    fn advance(&mut self, span: u64) {
        let new = span.saturating_sub(self.span).min(SLOTS as u64);
        for index in 1..=new {
            for spans in self.layers.values_mut().chain([&mut self.unsaid]) {
                spans[(span - new + index) as usize % SLOTS] = Tally::default();
            }
        }
        self.span = self.span.max(span);
    }
}

/// Bits per second. The busiest spans are capped, once there are enough to know the usual rate.
fn rate(bytes: impl ExactSizeIterator<Item = u64>) -> u64 {
    let mut counts = [0; LONG_SPANS];
    let count = bytes.len();
    let counts = &mut counts[..count];
    for (count, bytes) in counts.iter_mut().zip(bytes) {
        *count = bytes;
    }
    counts.sort_unstable();
    let most = match count < SPANS {
        true => u64::MAX,
        false => ((counts[count / 2] as f64 * USUAL) as u64).max(counts[count - 1 - count / SPANS]),
    };
    let sum: u64 = counts.iter().map(|bytes| *bytes.min(&most)).sum();
    match count {
        0 => 0,
        count => (sum as f64 * 8.0 / seconds(count)) as u64,
    }
}

fn seconds(spans: usize) -> f64 {
    (SPAN * spans as u32).as_secs_f64()
}

fn span_at(began: Instant, at: Instant) -> u64 {
    (at.saturating_duration_since(began).as_millis() / SPAN.as_millis()) as u64
}

#[cfg(test)]
mod tests;
