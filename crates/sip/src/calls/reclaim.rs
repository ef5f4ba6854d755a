//! Calls that give way when ports or calls are at their limit: those that are over, then those that
//! nobody has answered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use slots::address_block;

use super::Calls;
use crate::call::{Call, CallName, Context, Refused};
use crate::counters::Counter;
use crate::limits::UNANSWERED_MIN;
use crate::messages::Output;

/// Finding the first ones costs a look at every call, so some are taken at once.
const AT_ONCE: usize = 64;

impl Calls {
    /// Runs work that needs ports, for a party at an address. If none is free, others give theirs
    /// back.
    pub(super) fn with_ports<T>(
        &mut self,
        now: Instant,
        party: Option<IpAddr>,
        out: &mut Vec<Output>,
        mut work: impl FnMut(&mut Context<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        loop {
            match self.with(now, &mut work) {
                Err(Refused::NoPorts) if self.reclaim(out) || self.evict_unanswered(now, party, out) => {}
                Err(Refused::NoPorts) => {
                    self.counters.count(Counter::PortsExhausted);
                    return Err(Refused::NoPorts);
                }
                done => return done,
            }
        }
    }

    /// Takes the call of that name out of all calls, or begins a new one of a party at an address.
    /// The caller puts it back.
    pub(crate) fn take_or_begin(
        &mut self,
        now: Instant,
        name: &CallName,
        party: Option<IpAddr>,
        out: &mut Vec<Output>,
    ) -> Result<Call, Refused> {
        if let Some(call) = self.calls.remove(name) {
            return Ok(call);
        }
        if self.calls.len() >= self.config.calls_max && !self.evict_unanswered(now, party, out) {
            self.counters.count(Counter::CallsFull);
            return Err(Refused::Full);
        }
        self.counters.count(Counter::CallsBegun);
        let mut call = Call::new(now);
        call.caller = party.map(address_block);
        Ok(call)
    }

    /// Takes the ports of the oldest calls that are over; returns whether there were any.
    pub(super) fn reclaim(&mut self, out: &mut Vec<Output>) -> bool {
        let oldest = |(name, call): (&CallName, &Call)| {
            let kept = call.dialogues.iter().filter(|dialogue| !dialogue.media.is_empty());
            kept.filter_map(|dialogue| dialogue.kept_until)
                .min()
                .map(|until| (until, name.clone()))
        };
        let mut kept: Vec<_> = self.calls.iter().filter_map(oldest).collect();
        kept.sort();
        for (_, name) in kept.iter().take(AT_ONCE) {
            let mut call = self.calls.remove(name).expect("it was just there");
            call.forget(&mut self.ports, |dialogue| dialogue.is_over());
            self.counters.count(Counter::PortsReclaimed);
            self.put(name.clone(), call, out);
        }
        !kept.is_empty()
    }

    /// Ends calls that were not answered for [`UNANSWERED_MIN`]: the oldest ones of the address
    /// with the most of them, of another than the party's where several have as many. Those of the
    /// party that needs a place stay, so that an address that begins many calls loses none of them
    /// to itself.
    fn evict_unanswered(&mut self, now: Instant, party: Option<IpAddr>, out: &mut Vec<Output>) -> bool {
        let party = party.map(address_block);
        let mut callers: HashMap<IpAddr, Vec<(Instant, CallName)>> = HashMap::new();
        for (name, call) in &self.calls {
            if let Some(caller) = call.caller.filter(|_| call.is_unanswered()) {
                callers.entry(caller).or_default().push((call.created, name.clone()));
            }
        }
        let rank = |caller: IpAddr, calls: usize| (calls, Some(caller) != party, caller);
        let most = callers
            .into_iter()
            .max_by_key(|(caller, calls)| rank(*caller, calls.len()));
        let Some((largest, mut calls)) = most else {
            return false;
        };
        calls.sort();
        let count = calls.len().div_ceil(2).min(AT_ONCE);
        let is_old = |since: Instant| now.saturating_duration_since(since) >= UNANSWERED_MIN;
        let victims = calls.into_iter().take(count).filter(|(since, _)| is_old(*since));
        let victims: Vec<_> = victims.filter(|_| Some(largest) != party).collect();
        for (_, name) in &victims {
            let mut call = self.calls.remove(name).expect("it was just there");
            call.forget(&mut self.ports, |_| true);
            self.counters.count(Counter::CallsEvicted);
            self.put(name.clone(), call, out);
        }
        !victims.is_empty()
    }
}
