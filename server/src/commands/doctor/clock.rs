//! The clocks: how they are read, and whether the time of day is kept.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::finding::Finding;

/// The source of the kernel's monotonic time.
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Sources that are read by a system call and a slow register of the machine.
const SLOW: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "pit"];

/// The program of systemd that knows whether some program keeps the time of day.
const TIMEDATECTL: &str = "timedatectl";

/// How often it is looked at until it has answered, and the time between.
const LOOKS: u32 = 30;
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) fn check(findings: &mut Vec<Finding>) {
    if let Ok(source) = fs::read_to_string(SOURCE) {
        findings.push(monotonic(source.trim()));
    }
    findings.push(wall(synchronization().as_deref()));
}

fn monotonic(source: &str) -> Finding {
    const CHECK: &str = "monotonic clock";
    match SLOW.contains(&source) {
        true => Finding::warning(
            CHECK,
            format!("the kernel reads it from {source}, which takes about a microsecond each time"),
            "boot with clocksource=tsc tsc=reliable if the processor's counter is stable, or let the host of this \
             virtual machine offer kvm-clock",
        ),
        false => Finding::ok(CHECK, format!("the kernel reads it from {source}")),
    }
}

/// The answer of systemd about the time of day; nothing on a machine without it.
fn synchronization() -> Option<String> {
    let mut child = Command::new(TIMEDATECTL)
        .args(["show", "--property=NTPSynchronized", "--value"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    for _ in 0..LOOKS {
        if child.try_wait().ok()?.is_some() {
            let output = child.wait_with_output().ok()?;
            return String::from_utf8(output.stdout).ok();
        }
        thread::sleep(LOOK_EVERY);
    }
    // It is ours, and waits for a service that does not answer.
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn wall(is_synchronized: Option<&str>) -> Finding {
    const CHECK: &str = "time of day";
    match is_synchronized.map(str::trim) {
        Some("yes") => Finding::ok(CHECK, "a source of time keeps it"),
        Some("no") => Finding::warning(
            CHECK,
            "no source of time keeps it",
            "enable systemd-timesyncd or install chrony: tokens and certificates are valid by this clock, and in a \
             cluster leases of rooms are told by it",
        ),
        _ => Finding::info(
            CHECK,
            "it is not known whether a source of time keeps it: timedatectl does not say",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn doctor_warns_of_a_slow_or_unkept_clock() {
        assert_eq!(monotonic("tsc").severity, Severity::Ok);
        assert_eq!(monotonic("hpet").severity, Severity::Warning);
        assert_eq!(wall(Some("yes\n")).severity, Severity::Ok);
        assert_eq!(wall(Some("no\n")).severity, Severity::Warning);
        assert_eq!(wall(Some("")).severity, Severity::Info);
        assert_eq!(wall(None).severity, Severity::Info);
    }
}
