//! Offers and answers in a call, and the end of calls, as both control protocols have them.

use std::net::IpAddr;
use std::time::Instant;

use super::Calls;
use crate::call::{Call, CallName, Context, Dialogue, EndResult, Names, Place, Refused, Role, Target};
use crate::counters::Counter;
use crate::messages::Output;
use crate::sdp::Description;

/// An offer or an answer: the dialogue that it is in.
pub(crate) struct Exchange<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) role: Role,
    /// The address of the speaking party.
    pub(crate) party: Option<IpAddr>,
    /// The interfaces of a new dialogue, for the speaking party and for the other.
    pub(crate) interfaces: [usize; 2],
    /// The party that an offer is for, if the offer tells.
    pub(crate) target: Option<Target>,
    /// The description, in a protocol that has any.
    pub(crate) description: Option<&'a Description<'a>>,
}

impl Calls {
    /// Finds or begins the dialogue of an offer or an answer, and runs `work` there. A dialogue
    /// that is begun for it ends with it if it is refused.
    pub(crate) fn exchange<T>(
        &mut self,
        now: Instant,
        call: &mut Call,
        exchange: Exchange<'_>,
        out: &mut Vec<Output>,
        mut work: impl FnMut(&mut Call, Place, &mut Context<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let before = call.dialogues.len();
        let Exchange {
            names,
            role,
            party,
            interfaces,
            target,
            description,
        } = exchange;
        let place = match role {
            Role::Offer => self.with(now, |context| call.place_of_offer(&names, interfaces, target, context))?,
            Role::Answer => call.place_of_answer(&names, description).ok_or(Refused::Unknown)?,
        };
        let done = self.with_ports(now, party, out, |context| work(call, place, context));
        if done.is_err() && call.dialogues.len() > before {
            call.dialogues[place.dialogue].kept_until = Some(now);
            call.forget(&mut self.ports, |dialogue| dialogue.kept_until == Some(now));
        }
        done
    }

    /// Ends those dialogues of a request, or of all, that may end; they are kept until
    /// `kept_until`.
    pub(crate) fn end(
        &mut self,
        now: Instant,
        call: &mut Call,
        names: Option<&Names<'_>>,
        kept_until: Instant,
        may_end: impl Fn(&Dialogue) -> bool,
    ) -> EndResult {
        let found = call.end_where(names, kept_until, may_end);
        if found.ended {
            self.counters.count(Counter::CallsEnded);
            self.statistics.ended(now, call, self.calls.len());
        }
        found
    }

    /// Removes the dialogues of a call that are over and are not kept any longer.
    pub(crate) fn forget_ended(&mut self, now: Instant, call: &mut Call) {
        call.forget(&mut self.ports, |dialogue| {
            dialogue.kept_until.is_some_and(|until| until <= now)
        });
    }

    /// Ends all calls at once.
    pub(crate) fn end_all(&mut self, now: Instant, out: &mut Vec<Output>) {
        let names: Vec<CallName> = self.calls.keys().cloned().collect();
        for name in names {
            let mut call = self.calls.remove(&name).expect("it was just there");
            self.statistics.ended(now, &call, self.calls.len());
            call.forget(&mut self.ports, |_| true);
            self.counters.count(Counter::CallsEnded);
            self.put(name, call, out);
        }
    }
}
