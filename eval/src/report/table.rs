//! Several reports, a line each.

use super::Report;

/// Runs beside their floors, one line each.
pub fn table(pairs: &[(Report, Option<Report>)]) -> String {
    let mut out = String::from(
        "target        scenario  replicas/s     lost  p50 us  p99 us  p99.9 us  us/replica  cores  kB/part  idle %  others\n",
    );
    for (report, floor) in pairs {
        out.push_str(&line(report));
        if let Some(floor) = floor {
            out.push_str(&line(floor));
            out.push_str(&ratios(report, floor));
        }
    }
    out
}

fn line(report: &Report) -> String {
    let l = &report.latency;
    let cost = report.server.unwrap_or_default();
    format!(
        "{:<13} {:<9} {:>10.0} {:>8} {:>7.0} {:>7.0} {:>9.0} {:>11.2} {:>6.2} {:>8.0} {:>7.0} {:>7.2}\n",
        report.target,
        report.scenario,
        report.replicas_expected as f64 / report.seconds,
        report.lost,
        l.p50,
        l.p99,
        l.p999,
        cost.cpu_us_per_replica,
        cost.cores,
        cost.resident_per_participant / 1e3,
        report.idle_share * 100.0,
        report.elsewhere_cores
    )
}

fn ratios(report: &Report, floor: &Report) -> String {
    let ratio = |ours: f64, least: f64| {
        if least > 0.0 {
            format!("{:.2}x", ours / least)
        } else {
            "-".into()
        }
    };
    let cost = |report: &Report| report.server.map_or(0.0, |server| server.cpu_us_per_replica);
    format!(
        "{:<13} {:<9} {:>10} {:>8} {:>7} {:>7} {:>9} {:>11}\n",
        "  / floor",
        "",
        "",
        "",
        ratio(report.latency.p50, floor.latency.p50),
        ratio(report.latency.p99, floor.latency.p99),
        ratio(report.latency.p999, floor.latency.p999),
        ratio(cost(report), cost(floor))
    )
}

/// Signalling costs of crowds, a line for each size; nothing if there is none. The cost of a join
/// should grow with the number of participants that the newcomer sees, and no faster.
pub fn crowds(reports: &[&Report]) -> String {
    let lines: String = reports.iter().filter_map(|report| crowd(report)).collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "crowd      joins/s  media p50  p99 ms  lost  signalled B/join: reply  others  negotiation | B/change: mute    leave | kB/part  kB/sub  server ms/join: all  joining  cores\n{lines}"
    )
}

fn crowd(report: &Report) -> Option<String> {
    let (joining, signalling) = (report.joining?, report.signalling?);
    let (changes, cost) = (signalling.changes?, report.server.unwrap_or_default());
    Some(format!(
        "{:<9} {:>8.1} {:>10.0} {:>7.0} {:>5} {:>24.0} {:>7.0} {:>12.0} {:>17.0} {:>8.0} {:>9.0} {:>7.1} {:>20.2} {:>8.2} {:>6.2}\n",
        report.scenario,
        joining.per_second,
        joining.first_media.p50 * 1e3,
        joining.first_media.p99 * 1e3,
        report.lost,
        signalling.join_bytes,
        signalling.participants_bytes,
        signalling.negotiation_bytes,
        changes.mute_bytes,
        changes.leave_bytes,
        cost.resident_per_participant / 1e3,
        cost.resident_per_subscription / 1e3,
        joining.server_cpu_ms,
        joining.join_cpu_ms,
        cost.cores,
    ))
}
