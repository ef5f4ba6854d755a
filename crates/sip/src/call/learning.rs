//! The sources that are accepted of a party, and what is learned from them.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use southbound::relay::Accept;

use super::media::{Component, Side};
use super::source::Rules;
use crate::config::{Config, Learning};
use crate::counters::Counter;

impl Side {
    /// The sources that are accepted at our address for a component.
    pub(crate) fn accept(&self, component: Component) -> Option<Accept> {
        let expected = self.heard.as_ref()?.at(component);
        let source = &self.sources[component as usize];
        Some(match (self.policy.learning, source.settled()) {
            (Learning::Off, _) if self.checked().is_none() => Accept::Only(expected),
            (_, Some(from)) if !self.policy.handover => Accept::Only(from),
            _ => Accept::Learn {
                within: self.within(component),
                window: source.window(),
                rtp_only: component == Component::Rtp && !self.mux,
            },
        })
    }

    /// The only address that may be learned; none while a strict party is on hold without an
    /// address.
    fn within(&self, component: Component) -> Option<IpAddr> {
        let strict = self.policy.strict && self.checked().is_none();
        let said = self.heard.as_ref().filter(|_| strict)?.at(component).ip();
        let ours = self.local.as_ref().map(|pair| pair.advertised);
        // If ours is public, a private address is behind a NAT: its packets have a source that is
        // in no description.
        let is_translated = is_private(said) && ours.is_some_and(|ours| !is_private(ours));
        (!is_translated).then_some(said)
    }

    /// A packet arrived from this source, or the party proved it by ICE. Returns the outcome.
    pub(crate) fn learn(&mut self, component: Component, from: SocketAddr, now: Instant, config: &Config) -> Counter {
        let within = self.within(component);
        let Some(heard) = &self.heard else {
            return Counter::SourceRefused;
        };
        let expected = heard.at(component);
        let is_proof = self.checked().is_some();
        let source = &mut self.sources[component as usize];
        if is_proof {
            source.prove(from);
            return Counter::SourceLearned;
        }
        let rules = Rules {
            learning: self.policy.learning,
            handover: self.policy.handover,
            expected,
            received: heard.received,
            now,
            window: config.learning_window,
        };
        let may = rules.learning != Learning::Off && within.is_none_or(|only| only == from.ip());
        if may && source.learn(from, &rules) {
            Counter::SourceLearned
        } else {
            Counter::SourceRefused
        }
    }

    /// The learned address stays.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.sources.iter_mut().for_each(|source| source.settle(now));
    }
}

/// Whether an address has no meaning outside its own network (RFC 1918, 3927, 4193, 4291, 6598).
fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_private() || ip.is_link_local() || ip.is_loopback() || a == 100 && b & 0xc0 == 64
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback(),
    }
}
