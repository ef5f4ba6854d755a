//! Hosts something was learned of not long ago.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::limits::HOSTS_MAX;

/// How long it is remembered.
const MEMORY: Duration = Duration::from_secs(600);

/// A bounded memory of hosts.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    seen: HashMap<IpAddr, Instant>,
}

impl Hosts {
    /// Remembers a host.
    pub(crate) fn remember(&mut self, now: Instant, host: IpAddr) {
        if self.seen.len() >= HOSTS_MAX {
            self.seen.retain(|_, at| now.saturating_duration_since(*at) < MEMORY);
        }
        if self.seen.len() < HOSTS_MAX {
            self.seen.insert(host, now);
        }
    }

    /// Whether a host is remembered.
    pub(crate) fn knows(&self, now: Instant, host: IpAddr) -> bool {
        self.seen
            .get(&host)
            .is_some_and(|at| now.saturating_duration_since(*at) < MEMORY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_remembered_for_a_while_and_not_without_end() {
        let start = Instant::now();
        let host = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        let mut hosts = Hosts::default();
        for number in 0..=HOSTS_MAX {
            hosts.remember(start, host(number));
        }
        assert!(hosts.knows(start, host(0)) && !hosts.knows(start, host(HOSTS_MAX)));
        let later = start + MEMORY;
        assert!(!hosts.knows(later, host(0)));
        hosts.remember(later, host(HOSTS_MAX));
        assert!(hosts.knows(later, host(HOSTS_MAX)));
    }
}
