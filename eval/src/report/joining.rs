//! Durations of joining, and its signalling.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How joining went.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Joining {
    /// From the first connection until everybody heard everybody, in seconds.
    pub seconds: f64,
    /// Connections begun per second, from the first to the last.
    pub begun_per_second: f64,
    /// Participants let in per second, from the first to the last.
    pub per_second: f64,
    /// From beginning to connect to being let in.
    pub joined: Spread,
    /// ... to having keys for media.
    pub connected: Spread,
    /// ... to the first media packet.
    pub first_media: Spread,
    /// ... to receiving everybody who was there.
    pub complete: Spread,
    /// ... to having a key frame of all that is to be seen.
    pub decodable: Spread,
    /// Processor time of the server per join while clients joined, in milliseconds, including the
    /// media of those who had joined.
    pub server_cpu_ms: f64,
    /// The part of it for joining itself: without the media, if each replica cost as much as in the
    /// window.
    #[serde(default)]
    pub join_cpu_ms: f64,
    /// Processors that the server and the generator kept busy while people joined.
    pub cores: [f64; 2],
}

/// How long something took the participants, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Half of them, at most.
    pub p50: f64,
    /// Of a hundred, 99.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
    /// The number of clients that reached this.
    pub count: u64,
}

/// Messages that the server signalled to all clients together: bytes of protocol messages, without
/// WebSocket's framing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Signalling {
    /// Of the answer to joining, per join.
    pub join_bytes: f64,
    /// Of news about participants to everybody, per join.
    pub participants_bytes: f64,
    /// The messages of these, per join.
    pub participants_messages: f64,
    /// Of descriptions, candidates and subscriptions, per join.
    pub negotiation_bytes: f64,
    /// Of all else until the measured window, per join.
    pub other_bytes: f64,
    /// Of the answer to joining that the last participant got.
    pub last_join_bytes: u64,
    /// In the window, to each client, per second: of news about speakers, and of everything.
    pub window_bytes: [f64; 2],
    /// Messages about changes, if changes were made.
    pub changes: Option<Changes>,
}

/// Messages about one change, to all clients together.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    /// A publisher mutes her microphone, or stops: bytes.
    pub mute_bytes: f64,
    /// Messages.
    pub mute_messages: f64,
    /// A listener leaves: bytes.
    pub leave_bytes: f64,
    /// Messages.
    pub leave_messages: f64,
}

impl Spread {
    /// Of the known times.
    pub fn of(times: impl Iterator<Item = Option<Duration>>) -> Self {
        let mut times: Vec<f64> = times.flatten().map(|time| time.as_secs_f64()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (times.len() as f64 * share).ceil() as usize;
            times.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self {
            p50: at(0.5),
            p99: at(0.99),
            max: at(1.0),
            count: times.len() as u64,
        }
    }

    fn text(&self) -> String {
        format!(
            "p50 {:.0}, p99 {:.0}, max {:.0} ms",
            self.p50 * 1e3,
            self.p99 * 1e3,
            self.max * 1e3
        )
    }
}

impl Joining {
    /// Subtracts the cost of media from that of joining, in milliseconds per join.
    pub fn take_media(&mut self, media_ms: f64) {
        self.join_cpu_ms = (self.server_cpu_ms - media_ms).max(0.0);
    }

    /// Adds its lines to a report.
    pub(super) fn rows(&self, row: &mut impl FnMut(&str, String)) {
        row(
            "joined",
            format!(
                "{:.1}/s of {:.1}/s who asked, all complete after {:.2} s",
                self.per_second, self.begun_per_second, self.seconds
            ),
        );
        row("  let in", self.joined.text());
        row("  media connected", self.connected.text());
        row("  first media", self.first_media.text());
        row("  everybody heard", self.complete.text());
        row("  everybody seen", self.decodable.text());
        row(
            "  cost",
            format!(
                "server {:.2} ms/join, {:.2} without the media, {:.2} cores; generator {:.2} cores",
                self.server_cpu_ms, self.join_cpu_ms, self.cores[0], self.cores[1]
            ),
        );
    }
}

impl Signalling {
    /// Adds its lines to a report.
    pub(super) fn rows(&self, row: &mut impl FnMut(&str, String)) {
        row(
            "signalled per join",
            format!(
                "{:.0} B reply (the last {}), {:.0} B in {:.1} messages about it to others, {:.0} B negotiation, {:.0} B other",
                self.join_bytes,
                self.last_join_bytes,
                self.participants_bytes,
                self.participants_messages,
                self.negotiation_bytes,
                self.other_bytes
            ),
        );
        row(
            "signalled in the window",
            format!(
                "{:.1} B/s to each client, of these {:.1} about speakers",
                self.window_bytes[1], self.window_bytes[0]
            ),
        );
        if let Some(changes) = &self.changes {
            row(
                "signalled per change",
                format!(
                    "mute {:.0} B in {:.0} messages, leave {:.0} B in {:.0}",
                    changes.mute_bytes, changes.mute_messages, changes.leave_bytes, changes.leave_messages
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_counts_only_known_times() {
        let times = (1..=200).map(|ms| (ms > 100).then_some(Duration::from_millis(ms)));
        let spread = Spread::of(times);
        assert_eq!(spread.count, 100);
        assert_eq!(
            [spread.p50, spread.p99, spread.max].map(|s| (s * 1e3).round()),
            [150.0, 199.0, 200.0]
        );
        assert_eq!(Spread::of([None].into_iter()).max, 0.0);
    }
}
