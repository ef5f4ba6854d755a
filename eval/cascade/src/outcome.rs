//! The figures of one scene.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use harness::{Histogram, MachineSample, Processes};

use crate::cable::Crossed;
use crate::camera::{Picture, Published};
use crate::variant::{Seats, Variant};
use crate::viewer::Viewer;

/// Everything that is known of one scene, by name.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of its variant.
    pub variant: &'static str,
    /// Figures by their names.
    pub figures: BTreeMap<String, f64>,
    /// Faults of the scene, in words.
    pub faults: Vec<String>,
    /// The busiest other process, if there was one.
    pub beside: Option<String>,
}

/// Readings of a scene, beside the camera and the receivers.
pub(crate) struct Seen {
    pub(crate) window: Range<u64>,
    pub(crate) before: Sample,
    pub(crate) after: Sample,
    /// The cable's counts in the end.
    pub(crate) settled: Crossed,
    pub(crate) faults: Vec<String>,
}

/// Readings of one moment.
pub(crate) struct Sample {
    pub(crate) processor_times: Vec<Duration>,
    pub(crate) overflows: u64,
    pub(crate) crossed: Crossed,
    pub(crate) machine: MachineSample,
    pub(crate) processes: Processes,
}

/// Processors that another process may take without being named.
const BESIDE_MIN: f64 = 0.05;
/// The least share of packets that have to arrive.
const ARRIVED_MIN: f64 = 0.999;

impl Outcome {
    /// A figure, or not a number where the variant has none.
    pub fn figure(&self, name: &str) -> f64 {
        self.figures.get(name).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn new(variant: &Variant, seen: Seen, published: &Published, viewers: &[Viewer]) -> Self {
        let sent = published
            .pictures
            .iter()
            .filter(|picture| seen.window.contains(&picture.sent_ns));
        let sent: Vec<&Picture> = sent.collect();
        let mut outcome = Outcome {
            variant: variant.name,
            figures: BTreeMap::new(),
            faults: seen.faults.clone(),
            beside: None,
        };
        outcome.costs(variant, &seen, &sent, viewers);
        outcome.times(variant, viewers);
        outcome.repairs(&sent, viewers);
        if variant.link.is_some() {
            outcome.crossed(&seen, &sent);
        }
        outcome.machine(&seen);
        outcome.set("asked_of_camera", published.asked as f64);
        outcome
    }

    fn set(&mut self, name: &str, value: f64) {
        self.figures.insert(name.to_owned(), value);
    }

    fn costs(&mut self, variant: &Variant, seen: &Seen, sent: &[&Picture], viewers: &[Viewer]) {
        let seconds = Duration::from_nanos(seen.window.end - seen.window.start).as_secs_f64();
        let spent = |node: usize| seen.after.processor_times[node].saturating_sub(seen.before.processor_times[node]);
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let all: Duration = (0..variant.nodes).map(spent).sum();
        let packets: u64 = sent.iter().map(|picture| picture.count()).sum();
        let expected: u64 = viewers.iter().map(|viewer| expected(sent, viewer)).sum();
        let arrived: u64 = viewers.iter().map(|viewer| viewer.arrived).sum();
        self.set("seconds", seconds);
        self.set("packets_per_s", packets as f64 / seconds);
        self.set("replicas_per_s", arrived as f64 / seconds);
        self.set("arrived", arrived as f64 / expected as f64);
        self.set("cores", all.as_secs_f64() / seconds);
        self.set("us_per_replica", microseconds(all) / arrived as f64);
        for node in 0..variant.nodes {
            self.set(&format!("cores_{node}"), spent(node).as_secs_f64() / seconds);
        }
        // A node in the middle has nobody: it takes each packet from a trunk and gives it to one.
        let passing = match variant.seats {
            Seats::Last => variant.nodes / 2,
            Seats::Everywhere => 0,
        };
        self.set("us_per_packet", microseconds(spent(passing)) / packets as f64);
        if (arrived as f64) < expected as f64 * ARRIVED_MIN && variant.link.is_none_or(|link| link.loss == 0.0) {
            self.faults.push(format!("of {expected} packets {arrived} arrived"));
        }
    }

    /// The times of packets, by the number of trunks that they crossed.
    fn times(&mut self, variant: &Variant, viewers: &[Viewer]) {
        for depth in 0..=variant.depth_max() {
            let mut times = Histogram::default();
            let theirs = viewers.iter().filter(|viewer| viewer.depth == depth);
            theirs.for_each(|viewer| times.add(&viewer.times[0]));
            if times.count() > 0 {
                self.set(&format!("p50_us_{depth}"), times.quantile(0.5) as f64 / 1e3);
                self.set(&format!("p99_us_{depth}"), times.quantile(0.99) as f64 / 1e3);
            }
        }
    }

    /// Whole pictures at receivers that open every packet, and the times of packets that came
    /// later than others.
    fn repairs(&mut self, sent: &[&Picture], viewers: &[Viewer]) {
        let (mut pictures, mut whole, mut late) = ([0; 2], [0; 2], Histogram::default());
        for viewer in viewers.iter().filter(|viewer| viewer.is_probe) {
            let is_far = usize::from(viewer.depth > 0);
            for picture in sent.iter().filter(|picture| picture.encoding == viewer.encoding) {
                pictures[is_far] += 1;
                whole[is_far] += u64::from(viewer.tally.window(picture.numbers.clone()).lost() == 0);
            }
            late.add(&viewer.times[1]);
        }
        for (place, name) in ["pictures_near", "pictures_far"].into_iter().enumerate() {
            if pictures[place] > 0 {
                self.set(name, pictures[place] as f64);
                self.set(
                    &name.replace("pictures", "whole"),
                    whole[place] as f64 / pictures[place] as f64,
                );
            }
        }
        let unwanted: u64 = viewers.iter().map(|viewer| viewer.unwanted).sum();
        let asked: u64 = viewers.iter().map(|viewer| viewer.asked).sum();
        self.set("unwanted", unwanted as f64);
        self.set("asked_by_viewers", asked as f64);
        if late.count() > 0 {
            self.set("late", late.count() as f64);
            self.set("late_p50_ms", late.quantile(0.5) as f64 / 1e6);
            self.set("late_p99_ms", late.quantile(0.99) as f64 / 1e6);
        }
    }

    /// Bytes between the nodes over those of one copy of each encoding, and requests for what was
    /// lost.
    fn crossed(&mut self, seen: &Seen, sent: &[&Picture]) {
        let crossed = seen.after.crossed.since(&seen.before.crossed);
        let bytes: u64 = sent.iter().map(|picture| picture.bytes).sum();
        let packets: u64 = sent.iter().map(|picture| picture.count()).sum();
        let part = |of: u64| of as f64 / bytes as f64;
        self.set("media_packets", crossed.media as f64 / packets as f64);
        self.set("media_bytes", part(crossed.media_bytes));
        self.set("repair_bytes", part(crossed.repair_bytes));
        self.set("down_rtcp_bytes", part(crossed.down_rtcp_bytes));
        self.set("up_rtcp_bytes", part(crossed.up_rtcp_bytes));
        let settled = seen.settled.since(&seen.before.crossed);
        if settled.lost > 0 {
            self.set("lost", settled.lost as f64);
            self.set("lost_repairs", settled.lost_repairs as f64);
            self.set("asked_per_lost", settled.asked as f64 / settled.lost as f64);
            self.set("repairs_per_lost", settled.repairs as f64 / settled.lost as f64);
        }
    }

    fn machine(&mut self, seen: &Seen) {
        let seconds = Duration::from_nanos(seen.window.end - seen.window.start).as_secs_f64();
        let (before, after) = (&seen.before, &seen.after);
        self.set("idle", after.machine.idle_share_since(&before.machine));
        self.set("overflows", (after.overflows - before.overflows) as f64);
        let except = [std::process::id()];
        let busiest = after.processes.busiest_since(&before.processes, seconds, &except);
        if let Some(busiest) = busiest.filter(|busiest| busiest.cores >= BESIDE_MIN) {
            self.set("beside_cores", busiest.cores);
            self.beside = Some(busiest.name);
        }
    }
}

/// Packets of the encoding that a receiver wants.
fn expected(sent: &[&Picture], viewer: &Viewer) -> u64 {
    let theirs = sent.iter().filter(|picture| picture.encoding == viewer.encoding);
    theirs.map(|picture| picture.count()).sum()
}

impl Picture {
    fn count(&self) -> u64 {
        self.numbers.end - self.numbers.start
    }
}
