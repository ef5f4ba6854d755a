//! Records of calls for the next process, and the end of a process that is to be replaced.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::time::Instant;

use southbound::relay::RelayCommand;

use super::Calls;
use crate::call::{Call, CallName};
use crate::counters::Counter;
use crate::messages::Output;
use crate::saved::{CallRecord, Change, Times, is_encrypted_here};

impl Calls {
    /// The calls that have changed since this was last asked.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        self.changes_of(changed)
    }

    /// All calls, as though each had changed.
    pub(crate) fn take_all(&mut self) -> Vec<Change> {
        self.changed.clear();
        let all: Vec<CallName> = self.calls.keys().cloned().collect();
        self.changes_of(all)
    }

    /// Forgets which calls have changed.
    pub(crate) fn forget_changes(&mut self) {
        self.changed.clear();
    }

    fn changes_of(&self, changed: impl IntoIterator<Item = CallName>) -> Vec<Change> {
        let times = Times(self.clock);
        let change = |name: CallName| {
            let call = self.calls.get(&name);
            let record = call.and_then(|call| CallRecord::of(&name, call, &self.ports, times));
            Change {
                record: record.map(|record| record.line()),
                call: name,
            }
        };
        changed.into_iter().map(change).collect()
    }

    /// Continues an earlier process's calls.
    pub(crate) fn resume<'a>(
        &mut self,
        now: Instant,
        records: impl IntoIterator<Item = &'a str>,
        out: &mut Vec<Output>,
    ) {
        let records: Vec<Option<CallRecord>> = records.into_iter().map(CallRecord::read).collect();
        let wanted: HashSet<SocketAddr> = records.iter().flatten().flat_map(CallRecord::locals).collect();
        let mut pairs = self.ports.take_these(&wanted);
        for record in records {
            let read = record.and_then(|record| {
                let name = record.name();
                let is_new = !self.calls.contains_key(&name);
                let call = record.call(now, Times(self.clock), &mut self.ports, &mut pairs);
                call.filter(|_| is_new).map(|call| (name, call))
            });
            match read {
                Some((name, call)) => {
                    self.counters.count(Counter::CallsResumed);
                    self.resume_call(name, call, out);
                }
                None => self.counters.count(Counter::CallsNotResumed),
            }
        }
        pairs.into_values().for_each(|pair| self.ports.give_back(pair));
    }

    /// Opens its ports, each with its entry.
    fn resume_call(&mut self, name: CallName, mut call: Call, out: &mut Vec<Output>) {
        let locals = call.dialogues.iter().flat_map(|dialogue| dialogue.locals());
        call.open = locals.collect::<BTreeSet<_>>();
        call.installed = self.permitted_entries(&call);
        for at in &call.open {
            self.owners.insert(*at, name.clone());
            out.push(Output::Command(match call.installed.get(at) {
                Some(entry) => RelayCommand::Resume(Box::new(entry.clone())),
                None => RelayCommand::Open(*at),
            }));
        }
        if self.config.saves {
            self.changed.insert(name.clone());
        }
        self.keep(name, call);
    }

    /// Refuses new calls from now on, as if there were too many.
    pub(crate) fn drain(&mut self) {
        self.config.calls_max = 0;
    }

    /// The number of calls that are not over and end with the process.
    pub(crate) fn ending_calls(&self) -> usize {
        let is_alive = |call: &&Call| call.dialogues.iter().any(|dialogue| !dialogue.is_over());
        let ends = |call: &&Call| !self.config.saves || is_encrypted_here(call);
        self.calls.values().filter(is_alive).filter(ends).count()
    }
}
