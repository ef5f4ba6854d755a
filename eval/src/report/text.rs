//! One report for people.

use std::fmt::Write as _;

use super::{Cost, Report};

impl Report {
    /// The report as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{} {} ({}), {} participants, {:.1} s",
            self.target, self.scenario, self.negotiated, self.participants, self.seconds
        );
        let mut row = |name: &str, value: String| {
            let _ = writeln!(out, "  {name:<26} {value}");
        };
        if let Some(joining) = &self.joining {
            joining.rows(&mut row);
        }
        if let Some(signalling) = &self.signalling {
            signalling.rows(&mut row);
        }
        let per_second = self.replicas_expected as f64 / self.seconds;
        row(
            "offered",
            format!(
                "{:.2} Mbit/s, {per_second:.0} replicas/s",
                self.offered_bits_per_second / 1e6
            ),
        );
        row(
            "packets sent",
            format!("{}, late frames {}", self.packets_sent, self.late_frames),
        );
        row(
            "replicas",
            format!(
                "{} expected, {} received",
                self.replicas_expected, self.replicas_received
            ),
        );
        row(
            "received",
            format!("{:.3} Mbit/s by each receiver", self.received_bits_per_second / 1e6),
        );
        let (client, server) = (self.dropped_at_clients, self.dropped_at_server);
        row(
            "lost",
            format!(
                "{}, of audio {}, withheld {} (full buffers: clients' {client}, server's {server})",
                self.lost,
                self.lost_audio,
                self.withheld()
            ),
        );
        row(
            "repaired",
            format!(
                "{}, asked {} / by server {}",
                self.repaired, self.asked[0], self.asked[1]
            ),
        );
        row(
            "duplicates, reordered",
            format!("{}, {}", self.duplicates, self.reordered),
        );
        let [opened, received] = self.packets_opened;
        let checked = format!("of {opened} decrypted packets of {received}");
        row(
            "foreign, damaged",
            format!("{}, {}, {checked}", self.foreign, self.damaged),
        );
        row(
            "key frames asked",
            format!("{} / by server {}", self.key_frames_asked[0], self.key_frames_asked[1]),
        );
        let l = &self.latency;
        row(
            "latency us",
            format!(
                "p50 {:.0}, p99 {:.0}, p99.9 {:.0}, max {:.0}",
                l.p50, l.p99, l.p999, l.max
            ),
        );
        let l = &self.to_last;
        row(
            "  to the last receiver",
            format!("p50 {:.0}, p99 {:.0}, max {:.0}", l.p50, l.p99, l.max),
        );
        if let Some(quality) = &self.first_room {
            let (frames, jitter) = (quality.frames_per_second, quality.jitter_ms);
            row("first room", format!("{frames:.1} frames/s, jitter {jitter:.1} ms"));
        }
        if let Some(server) = &self.server {
            row(
                "server cpu",
                format!("{:.2} us/replica, {:.2} cores", server.cpu_us_per_replica, server.cores),
            );
            if server.resident_after > 0 {
                row("server memory", memory(server));
            }
        }
        let g = &self.generator;
        row(
            "generator cpu",
            format!("{:.2} us/replica, {:.2} cores", g.cpu_us_per_replica, g.cores),
        );
        let elsewhere = self.elsewhere_cores;
        row(
            "machine idle",
            format!(
                "{:.0} %, {:.1} % stolen; neither server nor generator {elsewhere:.2} cores{}",
                self.idle_share * 100.0,
                self.stolen_share * 100.0,
                self.busiest_other.as_ref().map_or_else(String::new, |other| {
                    format!(", of these {:.2} {}", other.cores, other.name)
                })
            ),
        );
        out
    }
}

fn memory(cost: &Cost) -> String {
    let mega = |bytes: u64| bytes as f64 / 1e6;
    format!(
        "{:.1} -> {:.1} MB, {:.0} kB/participant, {:.1} kB/subscription",
        mega(cost.resident_before),
        mega(cost.resident_after),
        cost.resident_per_participant / 1e3,
        cost.resident_per_subscription / 1e3
    )
}
