//! Calls of SIP proxies in `/metrics`.

use std::collections::BTreeMap;

use sip::quality::Scores;

use super::closed::Closed;
use super::rtpengine;
use super::sip_stats::Stats;
use super::text::Text;

/// The families of all calls together, with the numbers of requests that were denied, and of those
/// whose proxy had too many.
pub(crate) fn write_sip(stats: &Stats, (denied, full): (u64, u64), closed: &BTreeMap<Closed, u64>, text: &mut Text) {
    let name = "weir_sip";
    text.family(
        name,
        "counter",
        "Requests of SIP proxies and results of calls, by reason",
    );
    for (counter, value) in stats.counters.iter() {
        text.sample("weir_sip_total", &[("reason", counter.name())], value);
    }
    text.sample("weir_sip_total", &[("reason", "control_denied")], denied);
    text.sample("weir_sip_total", &[("reason", "proxy_full")], full);
    let name = "weir_sip_control_connections_closed";
    text.family(
        name,
        "counter",
        "Control connections the server closed or did not take, by reason",
    );
    for (why, reason) in Closed::NAMES {
        let value = closed.get(&why).copied().unwrap_or_default();
        text.sample(&format!("{name}_total"), &[("reason", reason)], value);
    }
    let gauges = [
        (
            "weir_sip_calls",
            "Calls, with those that are over and still kept",
            stats.calls,
        ),
        ("weir_sip_ports", "Ports that calls have", stats.ports),
    ];
    for (name, help, value) in gauges {
        text.family(name, "gauge", help);
        text.sample(name, &[], value);
    }
    write_scores(&stats.scores, text);
    rtpengine::write(stats, text);
}

fn write_scores(scores: &Scores, text: &mut Text) {
    let name = "weir_sip_mos";
    text.family(
        name,
        "histogram",
        "Mean opinion scores by G.107, one for each RTCP report",
    );
    let edges = Scores::BOUNDS.iter().map(|edge| format!("{edge:?}"));
    let mut total = 0;
    for (edge, count) in edges.chain(["+Inf".to_owned()]).zip(scores.counts) {
        total += count;
        text.sample("weir_sip_mos_bucket", &[("le", &edge)], total);
    }
    text.sample("weir_sip_mos_count", &[], total);
    text.sample("weir_sip_mos_sum", &[], scores.sum);
}
