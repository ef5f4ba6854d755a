//! A limit on the lines of each place in the program that logs.
//!
//! Peers cause lines: webhooks that nobody takes, connections that libraries complain of, clients
//! that join and leave. Each place may log a number of lines at once and further ones each minute.
//! The rest is left out, and a line says how many were. Levels that an operator turns on to find a
//! fault are not limited.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Metadata, Subscriber, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::os::clock;

/// Lines of one place.
#[derive(Clone, Copy, Debug)]
struct Rate {
    at_once: u32,
    per_minute: u32,
}

/// Lines on what works: a joining or a leaving is one.
const INFO: Rate = Rate {
    at_once: 1_000,
    per_minute: 600,
};

/// Lines on faults. The first ones say all.
const FAULTS: Rate = Rate {
    at_once: 20,
    per_minute: 6,
};

/// The interval at which the log says what it left out.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// The limit. Cheap to clone; all clones count together. The program has so many places, which
/// bounds the map.
#[derive(Clone, Default)]
pub(crate) struct Limit(Arc<Mutex<HashMap<Identifier, CallSite>>>);

struct CallSite {
    name: String,
    left: u32,
    /// The time until which its minutes are counted.
    counted: Instant,
    left_out: u64,
}

impl CallSite {
    fn new(metadata: &Metadata<'_>, rate: Rate, now: Instant) -> Self {
        let line = metadata.line().map(|line| format!(":{line}")).unwrap_or_default();
        CallSite {
            name: format!("{}{line}", metadata.file().unwrap_or(metadata.target())),
            left: rate.at_once,
            counted: now,
            left_out: 0,
        }
    }

    fn admits(&mut self, rate: Rate, now: Instant) -> bool {
        let each = Duration::from_secs(60) / rate.per_minute;
        let earned = now.saturating_duration_since(self.counted).as_micros() / each.as_micros();
        if earned > 0 {
            let earned = u32::try_from(earned).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(earned).min(rate.at_once);
            self.counted += each.saturating_mul(earned);
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left_out += 1;
                false
            }
        }
    }
}

impl Limit {
    /// The places that left lines out since the last time, and how many.
    pub(crate) fn left_out(&self) -> BTreeMap<String, u64> {
        let mut left_out = BTreeMap::new();
        for site in self.sites().values_mut().filter(|site| site.left_out > 0) {
            *left_out.entry(site.name.clone()).or_default() += std::mem::take(&mut site.left_out);
        }
        left_out
    }

    /// Logs what was left out, without an end.
    pub(crate) async fn report(self) {
        loop {
            tokio::time::sleep(REPORT_EVERY).await;
            for (site, lines) in self.left_out() {
                warn!(
                    lines,
                    site, "the log has too many lines of this place: these were left out"
                );
            }
        }
    }

    fn admits(&self, metadata: &Metadata<'_>, now: Instant) -> bool {
        let rate = match *metadata.level() {
            Level::ERROR | Level::WARN => FAULTS,
            Level::INFO => INFO,
            _ => return true,
        };
        let mut sites = self.sites();
        let site = sites.entry(metadata.callsite());
        site.or_insert_with(|| CallSite::new(metadata, rate, now))
            .admits(rate, now)
    }

    fn sites(&self) -> MutexGuard<'_, HashMap<Identifier, CallSite>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Layer<S> for Limit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.admits(event.metadata(), clock::now())
    }
}

#[cfg(test)]
mod tests {
    use tracing::{debug, info};
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{EnvFilter, Registry};

    use super::*;

    struct Lines(Arc<Mutex<BTreeMap<Level, u32>>>);

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().unwrap().entry(*event.metadata().level()).or_default() += 1;
        }
    }

    #[test]
    fn a_place_logs_its_first_lines_and_the_others_are_counted() {
        let (limit, lines) = (Limit::default(), Arc::default());
        let filter = EnvFilter::new("debug");
        let subscriber = Registry::default()
            .with(filter)
            .with(Lines(Arc::clone(&lines)))
            .with(limit.clone());
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..5_000 {
                warn!(number, "a fault");
                info!(number, "a joining");
                debug!(number, "a packet");
            }
            warn!("another place");
        });
        let lines = lines.lock().unwrap().clone();
        // The test may take long enough for a few more.
        assert!((21..100).contains(&lines[&Level::WARN]), "{lines:?}");
        assert!((1_000..2_000).contains(&lines[&Level::INFO]), "{lines:?}");
        assert_eq!(lines[&Level::DEBUG], 5_000);
        let left_out = limit.left_out();
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        assert_eq!(
            left_out.values().sum::<u64>(),
            10_001 - u64::from(lines[&Level::WARN] + lines[&Level::INFO])
        );
        assert!(left_out.keys().all(|site| site.contains("limit.rs:")), "{left_out:?}");
        assert!(limit.left_out().is_empty(), "they are told once");
    }

    #[test]
    fn each_minute_adds_lines_up_to_those_at_once() {
        let now = clock::now();
        let mut site = CallSite {
            name: String::new(),
            left: 0,
            counted: now,
            left_out: 0,
        };
        let mut admitted = |after| {
            let at = now + Duration::from_secs(after);
            (0..100).filter(|_| site.admits(FAULTS, at)).count() as u32
        };
        assert_eq!(admitted(0), 0);
        assert_eq!(admitted(60), FAULTS.per_minute);
        assert_eq!(admitted(3600), FAULTS.at_once);
        assert_eq!(admitted(3600), 0);
    }
}
