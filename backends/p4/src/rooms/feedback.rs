//! Estimates that the switch forwards from one leg to another. The host gets them as well.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use dataplane::{LegId, Reason, Refused};

use super::{Entries, Rooms, fit, replace};
use crate::address::{pair, way};
use crate::context::Context;
use crate::entry::{Key, Table, Value};

/// The legs whose feedback goes on, and their entries.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    wanted: BTreeMap<LegId, LegId>,
    entries: Entries,
    services: BTreeSet<SocketAddr>,
}

impl Rooms {
    /// Has estimates from one leg sent to another, or no longer.
    ///
    /// Errors: the reason why the switch cannot. It then forwards none.
    pub(crate) fn set_feedback(
        &mut self,
        context: &mut Context<'_>,
        from: LegId,
        to: Option<LegId>,
    ) -> Result<(), Refused> {
        self.feedback.wanted.remove(&from);
        let answer = match to {
            Some(to) => self.may_forward(context, from, to).map(|()| {
                self.feedback.wanted.insert(from, to);
            }),
            None => Ok(()),
        };
        self.publish_feedback(context);
        answer
    }

    fn may_forward(&self, context: &Context<'_>, from: LegId, to: LegId) -> Result<(), Refused> {
        let leg = |id| self.legs.get(&id).map(|row| &row.leg).ok_or(Reason::Companion);
        let fits = || {
            let (from, to) = (leg(from)?, leg(to)?);
            fit::leg(context.config, from)?;
            fit::leg(context.config, to)?;
            // The table of feedback is by addresses, and would take that of all legs there.
            if from.shared.is_some() {
                return Err(Reason::Addresses);
            }
            let family = |(_, remote): (SocketAddr, SocketAddr)| remote.is_ipv4();
            match fit::nominated(from).map(family) == fit::nominated(to).map(family) {
                true => Ok(()),
                false => Err(Reason::Families),
            }
        };
        fits().map_err(Refused::Unsupported)
    }

    /// A leg is gone, and with it what goes on from it or to it.
    pub(super) fn forget_feedback(&mut self, context: &mut Context<'_>, leg: LegId) {
        self.feedback.wanted.retain(|from, to| *from != leg && *to != leg);
        self.publish_feedback(context);
    }

    /// Writes the entries of all that goes on.
    pub(super) fn publish_feedback(&mut self, context: &mut Context<'_>) {
        if self.feedback.wanted.is_empty() && self.feedback.entries.is_empty() {
            return;
        }
        let (mut entries, mut services) = (Entries::new(), BTreeSet::new());
        for (from, to) in &self.feedback.wanted {
            if self.may_forward(context, *from, *to).is_err() {
                continue;
            }
            let to = self.legs.get(to).and_then(|row| fit::nominated(&row.leg));
            let (Some(row), Some((local, remote))) = (self.legs.get(from), to) else {
                continue;
            };
            for path in &row.leg.paths {
                let key = way(path.remote, path.local);
                let data = [pair(local), pair(remote)].concat();
                entries.insert(Key::Entry(Table::Feedback, key), Value::Data(data));
                services.insert(path.local);
            }
        }
        replace(context, &mut self.feedback.entries, entries);
        let before = std::mem::replace(&mut self.feedback.services, services);
        for at in self.feedback.services.difference(&before) {
            context.services.hold(context.writer, context.config, *at);
        }
        for at in before.difference(&self.feedback.services) {
            context.services.release(context.writer, *at);
        }
    }
}
