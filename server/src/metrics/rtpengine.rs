//! Calls of SIP proxies under the names rtpengine has for them, for dashboards that read those.

use sip::Counter;
use sip::statistics::Command;

use super::text::Text;
use crate::metrics::sip_stats::Stats;

/// Why calls ended, in rtpengine's words.
const ENDINGS: [(&str, &[Counter]); 5] = [
    ("rejected", &[Counter::CallsFull, Counter::PortsExhausted]),
    ("timeout", &[Counter::CallsMediaTimeout]),
    ("silent_timeout", &[Counter::CallsSilentTimeout]),
    ("offer_timeout", &[Counter::CallsOfferTimeout]),
    ("terminated", &[Counter::CallsEnded]),
];

/// The families that there are.
pub(super) fn write(stats: &Stats, text: &mut Text) {
    let count = |counter: &Counter| stats.counters[*counter];
    let snapshot = &stats.snapshot;
    gauge(text, "uptime_seconds", "Uptime", snapshot.uptime.as_secs());
    text.family("rtpengine_sessions", "gauge", "Sessions");
    text.sample("rtpengine_sessions", &[("type", "own")], snapshot.calls);
    text.sample("rtpengine_sessions", &[("type", "foreign")], 0);
    // A counter of this name would be a second family of the gauge's name.
    text.family("rtpengine_sessions_total", "unknown", "Sessions begun");
    text.sample("rtpengine_sessions_total", &[], count(&Counter::CallsBegun));
    text.family("rtpengine_closed_sessions", "counter", "Sessions ended, by reason");
    for (reason, counters) in ENDINGS {
        let ended: u64 = counters.iter().map(count).sum();
        text.sample("rtpengine_closed_sessions_total", &[("reason", reason)], ended);
    }
    counter(
        text,
        "packets",
        "Packets relayed, as far as calls have told",
        snapshot.relayed.packets,
    );
    counter(text, "bytes", "Their bytes", snapshot.relayed.bytes);
    counter(text, "packet_errors", "Packets dropped", snapshot.relayed.errors);
    counter(
        text,
        "zero_packet_streams",
        "Streams of ended calls without a packet either way",
        snapshot.ended.silent,
    );
    counter(
        text,
        "one_way_sessions",
        "Streams of ended calls with packets one way only",
        snapshot.ended.one_way,
    );
    gauge(
        text,
        "call_duration_avg",
        "Mean duration of ended calls in seconds",
        snapshot.ended.mean(),
    );
    let duration = snapshot.ended.duration.as_secs_f64();
    counter(text, "call_duration", "Duration of ended calls in seconds", duration);
    counter(text, "call_duration2", "The sum of its squares", snapshot.ended.squares);
    counter(text, "mos", "Sum of scores", stats.scores.sum);
    counter(text, "mos2", "Sum of their squares", stats.scores.squares);
    counter(
        text,
        "mos_samples",
        "How many there were",
        stats.scores.counts.iter().sum::<u64>(),
    );
    write_proxies(stats, text);
    write_ports(stats, text);
}

fn write_proxies(stats: &Stats, text: &mut Text) {
    let proxies = || {
        stats
            .snapshot
            .proxies
            .iter()
            .map(|(from, proxy)| (from.to_string(), proxy))
    };
    text.family("rtpengine_requests", "counter", "Requests, by proxy and command");
    for (from, proxy) in proxies() {
        for command in Command::ALL {
            let labels = [("proxy", from.as_str()), ("request", command.name())];
            text.sample("rtpengine_requests_total", &labels, proxy.counts[command as usize]);
        }
    }
    text.family(
        "rtpengine_request_seconds",
        "counter",
        "Seconds until they were answered",
    );
    for (from, proxy) in proxies() {
        for command in Command::ALL {
            let labels = [("proxy", from.as_str()), ("request", command.name())];
            let seconds = proxy.durations[command as usize].as_secs_f64();
            text.sample("rtpengine_request_seconds_total", &labels, seconds);
        }
    }
    text.family(
        "rtpengine_errors",
        "counter",
        "Requests answered with an error, by proxy",
    );
    for (from, proxy) in proxies() {
        text.sample("rtpengine_errors_total", &[("proxy", from.as_str())], proxy.errors);
    }
}

fn write_ports(stats: &Stats, text: &mut Text) {
    let families = [
        ("rtpengine_ports_used", "Ports that calls have"),
        ("rtpengine_ports_free", "Ports that are free"),
        ("rtpengine_ports", "Ports there are"),
    ];
    for (position, (name, help)) in families.into_iter().enumerate() {
        text.family(name, "gauge", help);
        for pool in &stats.snapshot.pools {
            let address = pool.address.to_string();
            let labels = [("name", pool.name.as_str()), ("address", address.as_str())];
            text.sample(name, &labels, [pool.used, pool.free, pool.used + pool.free][position]);
        }
    }
}

fn gauge(text: &mut Text, name: &str, help: &str, value: impl std::fmt::Display) {
    let name = format!("rtpengine_{name}");
    text.family(&name, "gauge", help);
    text.sample(&name, &[], value);
}

fn counter(text: &mut Text, name: &str, help: &str, value: impl std::fmt::Display) {
    let name = format!("rtpengine_{name}");
    text.family(&name, "counter", help);
    text.sample(&format!("{name}_total"), &[], value);
}
