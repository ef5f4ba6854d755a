//! Processor time, memory and dropped datagrams, read from `/proc`.

use std::fs;
use std::time::{Duration, Instant};

use crate::clock;

/// Idle time of all processors together since the machine booted, in clock ticks, and the time of
/// reading.
///
/// Idle time is exact on kernels that stop their tick; the other columns of `/proc/stat` are
/// counted by ticks, which miss work that wakes by the clock. So busy time is the elapsed time
/// minus idle time, not a sum of those columns.
#[derive(Clone, Copy, Debug)]
pub struct MachineSample {
    idle: u64,
    stolen: u64,
    processors: usize,
    at: Instant,
}

/// Clock ticks in a second, on every Linux there is.
const TICKS: f64 = 100.0;

/// The machine's own statistics.
pub struct Machine;

impl Machine {
    /// Reads the idle times; zero where `/proc` has none.
    pub fn sample() -> MachineSample {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let times: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
            .skip(1)
            .filter_map(|field| field.parse().ok())
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal.
        MachineSample {
            idle: times.iter().skip(3).take(2).sum(),
            stolen: times.get(7).copied().unwrap_or(0),
            processors: Self::processors(),
            at: clock::now(),
        }
    }

    /// How many processors there are.
    pub fn processors() -> usize {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        stat.lines()
            .skip(1)
            .take_while(|line| line.starts_with("cpu"))
            .count()
            .max(1)
    }
}

impl MachineSample {
    /// The share of the processors' time that was idle since `earlier`, between 0 and 1.
    pub fn idle_share_since(&self, earlier: &MachineSample) -> f64 {
        self.share(self.idle.saturating_sub(earlier.idle), earlier)
    }

    /// The share that the host gave to other machines.
    pub fn stolen_share_since(&self, earlier: &MachineSample) -> f64 {
        self.share(self.stolen.saturating_sub(earlier.stolen), earlier)
    }

    fn share(&self, ticks: u64, earlier: &MachineSample) -> f64 {
        let seconds = self.at.duration_since(earlier.at).as_secs_f64() * self.processors as f64;
        if seconds > 0.0 {
            (ticks as f64 / TICKS / seconds).min(1.0)
        } else {
            0.0
        }
    }
}

/// One process's use of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessSample {
    /// Processor time of all its threads, those that have ended included.
    pub cpu: Duration,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Threads alive.
    pub threads: u64,
    /// Times that its living threads went to sleep.
    pub sleeps: u64,
}

/// Reads a process's processor time and memory.
///
/// The scheduler's account (nanoseconds, living threads) is used unless ended threads make the
/// coarser account (10 ms ticks, all threads) clearly larger.
///
/// Errors: `None` when there is no such process.
pub fn process(pid: u32) -> Option<ProcessSample> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may contain spaces and parentheses: fields are counted after its last
    // parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let coarse = Duration::from_millis(ticks * 10);
    let fine = scheduled(pid);
    let cpu = if coarse > fine + Duration::from_millis(50) {
        coarse
    } else {
        fine
    };
    Some(ProcessSample {
        cpu,
        resident_bytes: status_kilobytes(pid, "VmRSS:").unwrap_or(0) * 1024,
        threads: fields.get(17)?.parse().ok()?,
        sleeps: sleeps(pid),
    })
}

/// The kernel's threads that continue with packets after interrupts and system calls: one for each
/// processor, and those of interfaces with their own.
pub fn interrupt_threads() -> Vec<u32> {
    [kernel_threads("ksoftirqd/"), kernel_threads("napi/")].concat()
}

/// The kernel's threads whose names begin like this.
pub fn kernel_threads(name: &str) -> Vec<u32> {
    let is_named = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it.starts_with(name));
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(is_named)
        .collect()
}

/// The scheduler's account of the living threads' run time.
fn scheduled(pid: u32) -> Duration {
    let nanoseconds = of_threads(pid, "schedstat")
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .sum();
    Duration::from_nanos(nanoseconds)
}

/// The times that the living threads gave up their processor to wait.
fn sleeps(pid: u32) -> u64 {
    let count = |status: String| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line?.trim().parse::<u64>().ok()
    };
    of_threads(pid, "status").filter_map(count).sum()
}

/// A file of each living thread.
fn of_threads(pid: u32, file: &'static str) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    tasks.filter_map(move |task| fs::read_to_string(task.path().join(file)).ok())
}

fn status_kilobytes(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Datagrams that the kernel dropped at full receive buffers, by local port.
#[derive(Clone, Debug, Default)]
pub struct SocketDrops(Vec<(u16, u64)>);

impl SocketDrops {
    /// Reads the drop counts of every UDP socket in this network namespace.
    pub fn sample() -> Self {
        Self::within("self")
    }

    /// The same of the network namespace in which another process runs.
    pub fn sample_of(pid: u32) -> Self {
        Self::within(&pid.to_string())
    }

    fn within(process: &str) -> Self {
        let read = |table: &str| fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        let tables = ["udp", "udp6"].map(read);
        Self(
            tables
                .iter()
                .flat_map(|table| table.lines().skip(1))
                .filter_map(port_and_drops)
                .collect(),
        )
    }

    /// The drops at sockets whose port is wanted.
    pub fn at(&self, wanted: impl Fn(u16) -> bool) -> u64 {
        self.0
            .iter()
            .filter(|(port, _)| wanted(*port))
            .map(|(_, drops)| drops)
            .sum()
    }
}

fn port_and_drops(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let port = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    Some((port, fields.last()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_socket_table() {
        let line = " 1234: 0100007F:6CEA 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 5678 2 0000000000000000 42";
        assert_eq!(port_and_drops(line), Some((0x6cea, 42)));
        assert_eq!(port_and_drops(""), None);
    }

    #[test]
    fn this_process_has_run_and_takes_memory() {
        let sample = process(std::process::id()).expect("this process exists");
        assert!(sample.cpu > Duration::ZERO && sample.resident_bytes > 100_000 && sample.threads >= 1);
    }

    #[test]
    fn idle_share_is_a_share() {
        let at = clock::now();
        let sample = |seconds, idle, stolen| MachineSample {
            idle,
            stolen,
            processors: 2,
            at: at + Duration::from_secs(seconds),
        };
        let (earlier, later) = (sample(0, 100, 7), sample(10, 600, 107));
        assert!((later.idle_share_since(&earlier) - 0.25).abs() < 1e-9);
        assert!((later.stolen_share_since(&earlier) - 0.05).abs() < 1e-9);
        assert_eq!(earlier.idle_share_since(&earlier), 0.0);
    }
}
