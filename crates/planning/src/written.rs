use std::fmt::Write as _;

use crate::server::{Cost, Server};

/// The text of a server's device file.
///
/// `comments` are lines at its beginning, and `source` the measurement that the numbers are from.
pub fn server_file(comments: &[String], source: &str, server: &Server) -> String {
    let mut text = String::new();
    for comment in comments {
        let _ = writeln!(text, "# {comment}");
    }
    let _ = writeln!(text, "source: {}", quoted(source));
    let _ = writeln!(text, "server:\n  cores: {}", server.cores);
    if let Some(rate) = server.rate_per_core {
        let _ = writeln!(text, "  rate_per_core: {rate}");
    }
    if let Some(cores) = server.cores_measured {
        let _ = writeln!(text, "  cores_measured: {cores}");
    }
    if server.contention_permille > 0 {
        let _ = writeln!(text, "  contention_permille: {}", server.contention_permille);
    }
    let _ = writeln!(text, "  percent_of_core: {}", server.percent_of_core);
    let _ = writeln!(text, "  base_us: {}", server.base_us);
    let _ = writeln!(text, "  agent_us: {}", server.agent_us);
    let _ = writeln!(text, "  adaptation_percent: {}", server.adaptation_percent);
    if let Some(latency) = server.latency {
        let _ = writeln!(
            text,
            "  latency: {{limit_us: {}, percent: {}, run_ns: {}}}",
            latency.limit_us, latency.percent, latency.run_ns
        );
    }
    match server.bandwidth {
        Some(bandwidth) => writeln!(text, "  bandwidth: {bandwidth}"),
        None => writeln!(
            text,
            "  # bandwidth: 10000000000  # bit/s in each direction; without it, no limit"
        ),
    }
    .unwrap_or_default();
    for (name, cost) in [("srtp", server.srtp), ("clear", server.clear)] {
        if let Some(Cost {
            packet_ns,
            replica_ns,
            receiver_us,
        }) = cost
        {
            let _ = writeln!(
                text,
                "  {name}: {{packet_ns: {packet_ns}, replica_ns: {replica_ns}, receiver_us: {receiver_us}}}"
            );
        }
    }
    if let Some(memory) = server.memory {
        let clear = memory.clear_stream.map(|bytes| format!(", clear_stream: {bytes}"));
        let _ = writeln!(
            text,
            "  memory: {{total: {}, base: {}, participant: {}, subscription: {}, stream: {}{}}}",
            memory.total,
            memory.base,
            memory.participant,
            memory.subscription,
            memory.stream,
            clear.unwrap_or_default()
        );
    }
    text
}

/// A string of YAML, in single quotes (YAML 1.2 section 7.3.2).
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''").replace(['\n', '\r'], " "))
}
