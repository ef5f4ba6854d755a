//! Memory that is given back to the system after a peak.

use std::fs;
use std::time::Duration;

use backend_udp::trim_heap;

/// How often the memory in use is read.
const INTERVAL: Duration = Duration::from_secs(5);

/// The heap is trimmed while the process has so many pages more than at its least.
const GROWTH: usize = (32 << 20) / PAGE;

/// How many readings are left out after a trim that gave little back: the memory was in use. It may
/// not be any more when these are over.
const PAUSE: u32 = 2;

/// The unit of the system's figure. With larger pages the heap is trimmed more seldom.
const PAGE: usize = 4096;

/// The time for a trim.
#[derive(Debug)]
struct Schedule {
    /// The fewest pages that the process had.
    least: usize,
    pause: u32,
}

/// Trims the heap while it is larger than it was, for as long as the process runs.
pub(crate) async fn give_back() {
    let mut interval = tokio::time::interval(INTERVAL);
    let mut schedule = Schedule {
        least: usize::MAX,
        pause: 0,
    };
    loop {
        interval.tick().await;
        let Some(pages) = resident() else { return };
        if schedule.is_due(pages) {
            // It takes some milliseconds, so it is done on a thread of its own.
            let _ = tokio::task::spawn_blocking(trim_heap).await;
            schedule.trimmed(pages, resident().unwrap_or(pages));
        }
    }
}

impl Schedule {
    /// Whether to trim now that the process has so many pages.
    fn is_due(&mut self, pages: usize) -> bool {
        self.least = self.least.min(pages);
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        pages > self.least + GROWTH
    }

    /// A trim is done, and has left so many pages.
    fn trimmed(&mut self, before: usize, left: usize) {
        if left + GROWTH / 4 > before {
            self.pause = PAUSE;
        }
    }
}

/// The pages of the process that are in memory.
fn resident() -> Option<usize> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    text.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_in_use_at_a_trim_is_given_back_later() {
        let mut schedule = Schedule {
            least: usize::MAX,
            pause: 0,
        };
        assert!(!schedule.is_due(1_000));
        let peak = 1_000 + 2 * GROWTH;
        assert!(schedule.is_due(peak));
        schedule.trimmed(peak, peak);
        assert_eq!([(); 3].map(|()| schedule.is_due(peak)), [false, false, true]);
        schedule.trimmed(peak, 1_000);
        assert!(!schedule.is_due(1_000) && schedule.is_due(peak));
    }

    #[test]
    fn the_memory_in_use_is_known_and_the_heap_can_be_trimmed() {
        assert!(resident().is_some_and(|pages| pages > 0));
        trim_heap();
    }
}
