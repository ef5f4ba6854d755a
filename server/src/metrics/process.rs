//! The program and its process, under the names that Prometheus' client libraries give them.

use std::fs;

use super::Text;

/// The unit of times in `/proc`, which is the same on all machines of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Writes the version, and what the kernel says of this process. Values that it does not say are
/// left out.
pub(crate) fn write(text: &mut Text) {
    text.family("weir_build", "info", "The version of this program");
    text.sample("weir_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(ticks) = cpu_ticks(&stat) {
        text.family(
            "process_cpu_seconds",
            "counter",
            "Processor time of this process in seconds",
        );
        text.sample("process_cpu_seconds_total", &[], ticks as f64 / TICKS_PER_SECOND);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (name, field, help) in [
        (
            "process_resident_memory_bytes",
            "VmRSS:",
            "Memory of this process that is resident",
        ),
        (
            "process_virtual_memory_bytes",
            "VmSize:",
            "Memory of this process that is mapped",
        ),
    ] {
        if let Some(kibibytes) = kibibytes(&status, field) {
            text.family(name, "gauge", help);
            text.sample(name, &[], kibibytes * 1024);
        }
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        text.family("process_open_fds", "gauge", "Descriptors that this process has open");
        text.sample("process_open_fds", &[], files.count());
    }
}

/// The user's and the system's time of a process. Its name stands before them, in parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn kibibytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_process_are_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 5 1 1";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(cpu_ticks(""), None);
        assert_eq!(kibibytes("Name:\tx\nVmRSS:\t  2048 kB\n", "VmRSS:"), Some(2048));
        assert_eq!(kibibytes("Name:\tx\n", "VmRSS:"), None);
    }
}
