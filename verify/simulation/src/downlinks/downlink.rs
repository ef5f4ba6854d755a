//! The way to one receiver, whose rate changes, and what comes of what was sent on it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pretended::Link;
use wire::RtpPacket;

pub(super) const NUMBER_EXTENSION: u8 = 4;

/// What a way is like.
#[derive(Clone, Debug)]
pub struct Way {
    /// What it carries from each time on. Shape: bits per second.
    pub rates: Vec<(Duration, u64)>,
    /// One way, without queue.
    pub delay: Duration,
    /// The longest wait in the queue.
    pub queue: Duration,
    /// What passes at once after a while of less, as through the kernel's token bucket. Shape: bytes.
    pub bucket: u32,
}

impl Way {
    /// What it carries at a time.
    pub fn rate(&self, at: Duration) -> u64 {
        let past = self.rates.iter().rev().find(|(from, _)| *from <= at);
        past.map_or(self.rates[0].1, |(_, rate)| *rate)
    }
}

/// The way, with what is on it.
pub(super) struct Downlink {
    way: Way,
    pub(super) link: Link,
    start: Instant,
    frames: BTreeMap<u32, Frames>,
    /// Bytes sent in each second.
    pub(super) sent: Vec<u64>,
    /// When sound was sent last, and the longest time without any.
    sound: BTreeMap<u32, Instant>,
    pub(super) longest_silence: Duration,
}

impl Downlink {
    pub(super) fn new(way: Way, start: Instant) -> Self {
        let mut link = Link::new(way.rate(Duration::ZERO), NUMBER_EXTENSION, start);
        (link.delay, link.queue, link.bucket) = (way.delay, way.queue, way.bucket);
        Downlink {
            way,
            link,
            start,
            frames: BTreeMap::new(),
            sent: Vec::new(),
            sound: BTreeMap::new(),
            longest_silence: Duration::ZERO,
        }
    }

    /// A packet leaves towards the receiver.
    pub(super) fn take(&mut self, now: Instant, bytes: &[u8], sound: bool) {
        let Ok(packet) = RtpPacket::parse(bytes) else { return };
        let second = (now - self.start).as_secs() as usize;
        self.sent.resize(self.sent.len().max(second + 1), 0);
        self.sent[second] += bytes.len() as u64;
        if sound && let Some(before) = self.sound.insert(packet.ssrc().0, now) {
            self.longest_silence = self.longest_silence.max(now - before);
        }
        self.link.rate = self.way.rate(now - self.start);
        let arrival = self.link.take(now, packet, bytes.len());
        if !sound {
            let frames = self.frames.entry(packet.ssrc().0).or_default();
            frames.packet(packet.timestamp().0, packet.marker(), arrival);
        }
    }

    /// When each whole frame of a stream had arrived.
    pub(super) fn frames(&self, ssrc: u32) -> Vec<Duration> {
        let whole = self.frames.get(&ssrc).map(|frames| &frames.whole[..]);
        whole.unwrap_or_default().iter().map(|at| *at - self.start).collect()
    }
}

/// The frames of one stream.
#[derive(Default)]
struct Frames {
    timestamp: Option<u32>,
    is_broken: bool,
    whole: Vec<Instant>,
}

impl Frames {
    fn packet(&mut self, timestamp: u32, marker: bool, arrival: Option<Instant>) {
        if self.timestamp.replace(timestamp) != Some(timestamp) {
            self.is_broken = false;
        }
        self.is_broken |= arrival.is_none();
        if let (true, false, Some(at)) = (marker, self.is_broken, arrival) {
            self.whole.push(at);
        }
    }
}
