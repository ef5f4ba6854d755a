//! Other busy processes: a measurement beside one is worth little.

use std::collections::HashMap;
use std::fs;

use serde::{Deserialize, Serialize};

/// The processor time of every process so far, in clock ticks, without kernel threads.
#[derive(Clone, Debug, Default)]
pub struct Processes(HashMap<u32, (String, u64)>);

/// A process and the processors that it kept busy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Busiest {
    /// Its command's name.
    pub name: String,
    /// Processors.
    pub cores: f64,
}

/// Clock ticks in a second, on every Linux there is.
const TICKS: f64 = 100.0;
/// The parent of all kernel threads.
const KERNEL: &str = "2";

impl Processes {
    /// Reads all of them.
    pub fn sample() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Self::default();
        };
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let read = |pid| account(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|it| (pid, it));
        Self(pids.filter_map(read).collect())
    }

    /// The busiest since `earlier`, over `seconds` seconds, except for these. A process that has
    /// ended is not seen.
    pub fn busiest_since(&self, earlier: &Self, seconds: f64, except: &[u32]) -> Option<Busiest> {
        let used = |(pid, (name, ticks)): (&u32, &(String, u64))| {
            let before = earlier.0.get(pid).map_or(0, |(_, ticks)| *ticks);
            (ticks.saturating_sub(before), name.clone())
        };
        let others = self.0.iter().filter(|(pid, _)| !except.contains(pid));
        let (ticks, name) = others.map(used).max()?;
        let cores = ticks as f64 / TICKS / seconds.max(1e-3);
        Some(Busiest { name, cores })
    }
}

/// Name, and user and system time, from a process's `stat`; `None` for threads of the kernel.
fn account(stat: &str) -> Option<(String, u64)> {
    let (front, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    if *fields.get(1)? == KERNEL {
        return None;
    }
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some((front.split_once('(')?.1.to_owned(), ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "77 (a (b) c) S 1 77 77 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 1 0 5 6 7";

    #[test]
    fn a_name_may_hold_parentheses_and_kernel_threads_are_left_out() {
        assert_eq!(account(STAT), Some(("a (b) c".into(), 42)));
        assert_eq!(account(&STAT.replace("S 1 ", "S 2 ")), None);
        assert_eq!(account(""), None);
    }

    #[test]
    fn the_busiest_other_is_found() {
        let at = |ticks: [u64; 3]| {
            let named = |(pid, ticks): (usize, u64)| (pid as u32, (format!("p{pid}"), ticks));
            Processes(ticks.into_iter().enumerate().map(named).collect())
        };
        let busiest = at([900, 50, 130]).busiest_since(&at([0, 0, 100]), 10.0, &[0]);
        assert_eq!(
            busiest,
            Some(Busiest {
                name: "p1".into(),
                cores: 0.05
            })
        );
    }
}
