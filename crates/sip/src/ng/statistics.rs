//! Statistics of the relay, under rtpengine's names.

use std::time::Instant;

use super::value::{Dictionary, Value};
use crate::calls::Calls;
use crate::counters::Counter;
use crate::statistics::{Command, Ended, Interval, Pool, Proxy, Snapshot, Span};

/// rtpengine's statistics, except for transcoding. Traffic of any offload counts as the kernel's.
/// Fractions are texts with six digits, as in rtpengine.
pub(super) fn of(calls: &mut Calls, now: Instant) -> Dictionary {
    calls.statistics.rounds.watch(now);
    let snapshot = calls.snapshot(now);
    Dictionary::default()
        .with("currentstatistics", current(&snapshot))
        .with("totalstatistics", total(calls, &snapshot))
        .with("intervalstatistics", interval(&snapshot.interval))
        .with("mos", scores(calls))
        .with("controlstatistics", control(calls, &snapshot))
        .with(
            "interfaces",
            snapshot
                .pools
                .iter()
                .map(|pool| Value::from(interface(pool)))
                .collect::<Vec<_>>(),
        )
}

fn current(snapshot: &Snapshot) -> Dictionary {
    let sessions = snapshot.calls as u64;
    let (rates, kernel) = (snapshot.rates, snapshot.rates.offloaded);
    Dictionary::default()
        .with("sessionsown", sessions)
        .with("sessionsforeign", 0_u64)
        .with("sessionstotal", sessions)
        .with("transcodedmedia", 0_u64)
        .with("packetrate_user", rates.packets.saturating_sub(kernel.packets))
        .with("byterate_user", rates.bytes.saturating_sub(kernel.bytes))
        .with("errorrate_user", rates.errors.saturating_sub(kernel.errors))
        .with("packetrate_kernel", kernel.packets)
        .with("byterate_kernel", kernel.bytes)
        .with("errorrate_kernel", kernel.errors)
        .with("packetrate", rates.packets)
        .with("byterate", rates.bytes)
        .with("errorrate", rates.errors)
}

fn total(calls: &Calls, snapshot: &Snapshot) -> Dictionary {
    let count = |counter: Counter| calls.counters[counter];
    let Ended {
        duration,
        squares,
        one_way,
        silent,
        ..
    } = snapshot.ended;
    let (relayed, kernel) = (snapshot.relayed, snapshot.relayed.offloaded);
    Dictionary::default()
        .with("uptime", snapshot.uptime.as_secs().to_string())
        .with("managedsessions", count(Counter::CallsBegun))
        .with(
            "rejectedsessions",
            count(Counter::CallsFull) + count(Counter::PortsExhausted),
        )
        .with("timeoutsessions", count(Counter::CallsMediaTimeout))
        .with("silenttimeoutsessions", count(Counter::CallsSilentTimeout))
        .with("finaltimeoutsessions", 0_u64)
        .with("offertimeoutsessions", count(Counter::CallsOfferTimeout))
        .with("regularterminatedsessions", count(Counter::CallsEnded))
        .with("forcedterminatedsessions", 0_u64)
        .with("relayedpackets_user", relayed.packets.saturating_sub(kernel.packets))
        .with("relayedpacketerrors_user", relayed.errors.saturating_sub(kernel.errors))
        .with("relayedbytes_user", relayed.bytes.saturating_sub(kernel.bytes))
        .with("relayedpackets_kernel", kernel.packets)
        .with("relayedpacketerrors_kernel", kernel.errors)
        .with("relayedbytes_kernel", kernel.bytes)
        .with("relayedpackets", relayed.packets)
        .with("relayedpacketerrors", relayed.errors)
        .with("relayedbytes", relayed.bytes)
        .with("zerowaystreams", silent)
        .with("onewaystreams", one_way)
        .with("avgcallduration", fraction(snapshot.ended.mean()))
        .with("totalcallsduration", fraction(duration.as_secs_f64()))
        .with("totalcallsduration2", fraction(squares))
        .with("totalcallsduration_stddev", fraction(snapshot.ended.deviation()))
}

fn interval(interval: &Interval) -> Dictionary {
    let (least, most) = interval.calls;
    let mut told = Dictionary::default()
        .with("totalcallsduration", fraction(interval.duration.as_secs_f64()))
        .with("minmanagedsessions", least as u64)
        .with("maxmanagedsessions", most as u64);
    for command in Command::ALL {
        let Span { min, max, mean } = interval.delays[command as usize];
        for (which, value) in [("min", min), ("max", max), ("avg", mean)] {
            told.push(format!("{which}{}delay", command.name()), fraction(value));
        }
    }
    for command in Command::ALL {
        let Span { min, max, mean } = interval.rates[command as usize];
        for (which, value) in [("min", min), ("max", max), ("avg", mean)] {
            told.push(format!("{which}{}requestrate", command.name()), value.round() as u64);
        }
    }
    told
}

fn scores(calls: &Calls) -> Dictionary {
    let scores = &calls.statistics.scores;
    let count: u64 = scores.counts.iter().sum();
    let mean = scores.sum / count.max(1) as f64;
    let variance = scores.squares / count.max(1) as f64 - mean * mean;
    Dictionary::default()
        .with("mos_total", fraction(scores.sum))
        .with("mos2_total", fraction(scores.squares))
        .with("mos_samples_total", count)
        .with("mos_average", fraction(mean))
        .with("mos_stddev", fraction(variance.max(0.0).sqrt()))
}

fn control(calls: &Calls, snapshot: &Snapshot) -> Dictionary {
    let count = |counter: Counter| calls.counters[counter];
    let proxies: Vec<Value> = snapshot
        .proxies
        .iter()
        .map(|(from, proxy)| Value::from(asked(Dictionary::default().with("proxy", from.to_string()), proxy)))
        .collect();
    Dictionary::default()
        .with("proxies", proxies)
        .with("totalpingcount", count(Counter::Pings))
        .with("totaloffercount", count(Counter::Offers))
        .with("totalanswercount", count(Counter::Answers))
        .with("totaldeletecount", count(Counter::Deletes))
        .with("totalquerycount", count(Counter::Queries))
        .with("totallistcount", count(Counter::Lists))
        .with("totalstatscount", count(Counter::StatisticsAsked))
        .with("totalerrorcount", count(Counter::Errors))
}

fn asked(mut told: Dictionary, proxy: &Proxy) -> Dictionary {
    for command in Command::ALL {
        let name = match command {
            Command::Statistics => "stats",
            command => command.name(),
        };
        told.push(format!("{name}count"), proxy.counts[command as usize]);
        let duration = proxy.durations[command as usize];
        told.push(format!("{name}duration"), fraction(duration.as_secs_f64()));
    }
    told.with("errorcount", proxy.errors)
}

fn interface(pool: &Pool) -> Dictionary {
    let (min, max) = pool.range;
    let all = pool.used + pool.free;
    let ports = Dictionary::default()
        .with("min", u64::from(min))
        .with("max", u64::from(max))
        .with("used", pool.used as u64)
        .with(
            "used_pct",
            format!("{:.2}", pool.used as f64 * 100.0 / all.max(1) as f64),
        )
        .with("free", pool.free as u64)
        .with("totals", all as u64)
        .with("last", u64::from(pool.last));
    Dictionary::default()
        .with("name", pool.name.as_str())
        .with("address", pool.address.to_string())
        .with("ports", ports)
}

fn fraction(value: f64) -> String {
    format!("{value:.6}")
}
