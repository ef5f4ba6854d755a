//! Memory that is given back to the system after a peak.

use std::fs;
use std::time::Duration;

use backend_udp::trim_heap;

/// How often the memory in use is read.
const INTERVAL: Duration = Duration::from_secs(5);

/// The heap is trimmed once the process has so many pages more than after the last time.
const GROWTH: usize = (32 << 20) / PAGE;

/// The unit of the system's figure. With larger pages the heap is trimmed more seldom.
const PAGE: usize = 4096;

/// Trims the heap after it has grown, for as long as the process runs: at a peak and, as long as
/// that gives memory back, again.
pub(crate) async fn give_back() {
    let mut interval = tokio::time::interval(INTERVAL);
    let mut least = resident().unwrap_or(usize::MAX);
    loop {
        interval.tick().await;
        let Some(pages) = resident() else { return };
        least = least.min(pages);
        if pages > least + GROWTH {
            // It takes some milliseconds, so it is done on a thread of its own.
            let _ = tokio::task::spawn_blocking(trim_heap).await;
            let left = resident().unwrap_or(pages);
            if left + GROWTH / 4 > pages {
                // The memory is in use.
                least = left;
            }
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
    fn the_memory_in_use_is_known_and_the_heap_can_be_trimmed() {
        assert!(resident().is_some_and(|pages| pages > 0));
        trim_heap();
    }
}
