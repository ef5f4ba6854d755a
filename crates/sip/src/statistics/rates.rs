//! Rates of relayed packets. A port reports its traffic when it is asked, so ports are asked in
//! rounds while rates are watched, and only then.

use std::net::SocketAddr;
use std::time::Instant;

use southbound::relay::{Offloaded, Traffic};

use crate::limits::{RATE_PORTS_AT_ONCE, RATE_PORTS_EVERY, RATE_ROUND, RATES_WATCHED};

/// Relayed traffic of one second, as the mean of the last whole round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Packets a second.
    pub packets: u64,
    /// Bytes a second.
    pub bytes: u64,
    /// Dropped packets a second.
    pub errors: u64,
    /// The part of all this that was done in the kernel, or by another offload.
    pub offloaded: Offloaded,
}

/// Rounds in which ports are asked.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Until when somebody watches.
    until: Option<Instant>,
    /// When the next ports are asked; `None` while nobody watches.
    next: Option<Instant>,
    began: Option<Instant>,
    /// Ports that are still to be asked in this round.
    left: Vec<SocketAddr>,
    /// When the round began, and the totals then. The first round has none: its reports are of all
    /// the time before.
    totals: Option<(Instant, Traffic)>,
    rates: Rates,
}

impl Rounds {
    /// Somebody watches rates, as far as they are known.
    pub(crate) fn watch(&mut self, now: Instant) {
        self.until = Some(now + RATES_WATCHED);
        self.next.get_or_insert(now);
    }

    pub(crate) fn rates(&self) -> Rates {
        self.rates
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The ports to ask now. A round begins with all ports that relay.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        relayed: Traffic,
        all: impl FnOnce() -> Vec<SocketAddr>,
    ) -> Vec<SocketAddr> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        if self.left.is_empty() {
            if self.until.is_none_or(|until| until <= now) {
                *self = Rounds::default();
                return Vec::new();
            }
            // The reports of the last round have come.
            if let Some((at, before)) = self.totals {
                self.rates = Rates::between(before, relayed, now.saturating_duration_since(at).as_secs_f64());
            }
            self.totals = self.began.is_some().then_some((now, relayed));
            self.began = Some(now);
            self.left = all();
        }
        let asked = self.left.split_off(self.left.len().saturating_sub(RATE_PORTS_AT_ONCE));
        let soonest = now + RATE_PORTS_EVERY;
        let round = self.began.map_or(soonest, |began| (began + RATE_ROUND).max(soonest));
        self.next = Some(if self.left.is_empty() { round } else { soonest });
        asked
    }
}

impl Rates {
    fn between(before: Traffic, now: Traffic, seconds: f64) -> Self {
        let rate = |before: u64, now: u64| (now.saturating_sub(before) as f64 / seconds.max(1.0)).round() as u64;
        Rates {
            packets: rate(before.packets, now.packets),
            bytes: rate(before.bytes, now.bytes),
            errors: rate(before.errors, now.errors),
            offloaded: Offloaded {
                packets: rate(before.offloaded.packets, now.offloaded.packets),
                bytes: rate(before.offloaded.bytes, now.offloaded.bytes),
                errors: rate(before.offloaded.errors, now.offloaded.errors),
            },
        }
    }
}
