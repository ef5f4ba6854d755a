//! Notices of the media node about ports of calls.

use std::net::SocketAddr;
use std::time::Instant;

use southbound::relay::{Refusal, RelayNotice};

use super::Calls;
use crate::counters::Counter;
use crate::messages::Output;
use crate::quality::Sample;

impl Calls {
    /// A port reports a source, its traffic or the quality of a stream.
    pub(crate) fn on_notice(&mut self, now: Instant, notice: RelayNotice, out: &mut Vec<Output>) {
        let at = match notice {
            RelayNotice::Source { at, .. } | RelayNotice::Traffic { at, .. } | RelayNotice::Quality { at, .. } => at,
            RelayNotice::Opened { .. } | RelayNotice::Refused { .. } => return,
        };
        let Some(name) = self.owners.get(&at).cloned() else {
            return self.counters.count(Counter::ReportStale);
        };
        let mut call = self.calls.remove(&name).expect("an address in use belongs to a call");
        let unix = self.clock.unix(now);
        let sides = call.dialogues.iter_mut().flat_map(|dialogue| dialogue.sides_mut());
        // Relayed media are before offered ones with the same port.
        let mut is_relayed = true;
        for side in sides {
            let Some(component) = side.component_at(at) else {
                continue;
            };
            match notice {
                RelayNotice::Source { from, .. } => {
                    let outcome = match self.config.destinations.permit(at.ip(), from) {
                        true => side.learn(component, from, now, &self.config),
                        false => Counter::SourceRefused,
                    };
                    self.counters[outcome] += u64::from(is_relayed);
                }
                RelayNotice::Traffic { traffic, idle, .. } => {
                    let before = std::mem::replace(&mut side.traffic[component as usize], traffic);
                    if is_relayed {
                        self.statistics.relayed(before, traffic);
                    }
                    let seen = &mut side.last_packets[component as usize];
                    *seen = (*seen).max(idle.and_then(|idle| now.checked_sub(idle)));
                    call.check.heard(at);
                }
                RelayNotice::Quality { ssrc, report, .. } => {
                    let sample = Sample::new(report, unix);
                    if is_relayed {
                        self.statistics.scores.add(sample.score);
                    }
                    side.rate(ssrc, sample);
                }
                RelayNotice::Opened { .. } | RelayNotice::Refused { .. } => {}
            }
            is_relayed = false;
        }
        match notice {
            RelayNotice::Source { .. } => self.put(name, call, out),
            // Only how long the call may be silent has changed.
            _ => self.keep(name, call),
        }
    }

    /// A port could not be opened, so its call loses the pair. Returns whether another pair would
    /// be better.
    pub(crate) fn refused(&mut self, at: SocketAddr, why: Refusal, out: &mut Vec<Output>) -> bool {
        self.counters.count(Counter::PortsRefused);
        if why == Refusal::NoSrtp {
            // The port is open and silent, and another one would be no better: the call ends as one
            // without media does.
            return false;
        }
        if why == Refusal::Full {
            // Another port fails too, unless a call gives some back.
            self.reclaim(out);
        }
        if let Some(name) = self.owners.get(&at).cloned() {
            let mut call = self.calls.remove(&name).expect("an address in use belongs to a call");
            call.release_at(at, &mut self.ports);
            self.put(name, call, out);
        }
        true
    }
}
