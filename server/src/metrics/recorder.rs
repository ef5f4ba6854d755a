//! The timelines of participants.

use timeline::{Counters, Recorder};

use super::text::Text;

/// The rings and the counts of a recorder.
#[derive(Clone, Debug)]
pub(crate) struct RecorderCounts {
    rings: usize,
    memory: usize,
    counters: Counters,
}

impl From<&Recorder> for RecorderCounts {
    fn from(recorder: &Recorder) -> Self {
        RecorderCounts {
            rings: recorder.rings(),
            memory: recorder.memory(),
            counters: recorder.counters().clone(),
        }
    }
}

impl RecorderCounts {
    /// Appends the rings and counts.
    pub(crate) fn write(&self, text: &mut Text) {
        let name = "weir_timelines";
        text.family(
            name,
            "gauge",
            "Participants with a timeline, those who have left included",
        );
        text.sample(name, &[], self.rings);
        let name = "weir_timelines_bytes";
        text.family(name, "gauge", "Memory of timelines");
        text.sample(name, &[], self.memory);
        let name = "weir_timelines_observations";
        text.family(name, "counter", "Observations for timelines, by result");
        for (counter, value) in self.counters.iter() {
            text.sample(&format!("{name}_total"), &[("result", counter.name())], value);
        }
    }
}
