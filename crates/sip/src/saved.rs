//! Calls that outlive the process: the record of each for the next process, and their continuation
//! there.
//!
//! A call that is encrypted here cannot continue. Its DTLS keys are lost with the process. With
//! SDES keys, sequence numbers would be used twice, since nobody knows the last ones. So such calls
//! are not recorded, and records contain no media keys.

pub(crate) mod form;
mod record;

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use southbound::relay::RelayCommand;

use crate::call::{Call, CallName, Media, Security, Side};
use crate::{Counter, Output, Relay};
use record::{CallRecord, Times};

/// A call that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub call: Arc<[u8]>,
    /// Its record for [`Relay::resume`], one line of text; `None` if there is nothing left to
    /// continue.
    pub record: Option<String>,
}

/// Whether we encrypt a call, on either side.
pub(crate) fn is_encrypted_here(call: &Call) -> bool {
    call.dialogues
        .iter()
        .any(|dialogue| are_encrypted_here(dialogue.relayed()))
}

/// The same of some media.
pub(crate) fn are_encrypted_here(media: &[Media]) -> bool {
    let is_ours = |side: &Side| !matches!(side.security, Security::Clear);
    media.iter().flat_map(|media| &media.sides).any(is_ours)
}

impl Relay {
    /// The calls that have changed since this was last asked, where
    /// [`Config::saves`](crate::Config::saves).
    pub fn take_changes(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        self.changes_of(changed)
    }

    /// All calls, as though each had changed: for a caller that has lost the records.
    pub fn take_all(&mut self) -> Vec<Change> {
        self.changed.clear();
        let all: Vec<CallName> = self.calls.keys().cloned().collect();
        self.changes_of(all)
    }

    /// Forgets which calls have changed: records cannot be stored now, and
    /// [`take_all`](Self::take_all) will return them.
    pub fn forget_changes(&mut self) {
        self.changed.clear();
    }

    fn changes_of(&self, changed: impl IntoIterator<Item = CallName>) -> Vec<Change> {
        let times = Times(self.clock);
        let change = |name: CallName| {
            let call = self.calls.get(&name);
            let record = call.and_then(|call| CallRecord::of(&name, call, &self.ports, times));
            Change {
                record: record.map(|record| serde_json::to_string(&record).expect("names of fields are text")),
                call: name,
            }
        };
        changed.into_iter().map(change).collect()
    }

    /// Continues an earlier process's calls, before anything else. A call that cannot continue is
    /// counted, and its ports are free.
    pub fn resume<'a>(&mut self, now: Instant, records: impl IntoIterator<Item = &'a str>, out: &mut Vec<Output>) {
        let records: Vec<Option<CallRecord>> = records
            .into_iter()
            .map(|text| serde_json::from_str(text).ok())
            .collect();
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
        // Of some the time is over already.
        self.handle_timeout(now, out);
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
}
