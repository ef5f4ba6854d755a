//! Relays on the switch: RTP of a call whose address is known is forwarded from one party to the
//! other.
//!
//! A relay's entry is in the switch's tables while the port it sends from is a relay, too, because
//! the base counts its packets as not ready otherwise. An entry stays while the switch is away:
//! the base has the relay as well, and the switch gets it again when it is back.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Answer, Reason, Refused, Relay, RelayTraffic, WriteId, Written};

use self::plan::{Planned, plan};
use crate::cells::Cell;
use crate::context::{ANSWER_MAX, Context};
use crate::entry::{Key, Value};
use crate::slots::Slots;
use crate::table_writer::{Failed, Settled};

/// The counts of a relay, and when it last forwarded something.
pub(crate) type Counted = (RelayTraffic, Option<Instant>);

/// Ethernet, IP and UDP before a relayed payload, in bytes.
const HEADERS_V4: u64 = 14 + 20 + 8;
const HEADERS_V6: u64 = 14 + 40 + 8;

/// All relays of the base, and those that the switch is to have.
#[derive(Debug)]
pub(crate) struct Relays {
    rows: BTreeMap<SocketAddr, Row>,
    by_key: BTreeMap<Key, SocketAddr>,
    /// By the port they send from.
    from: BTreeMap<SocketAddr, BTreeSet<SocketAddr>>,
    leaving: Vec<Leaving>,
    indexes: Slots,
    written: VecDeque<Written>,
}

#[derive(Debug, Default)]
struct Row {
    /// The place of its counts, kept until it is removed.
    index: Option<u16>,
    planned: Option<Planned>,
    /// Whether its entry is to be on the switch.
    is_wanted: bool,
    /// Writes whose outcome is to come, and since when.
    pending: Vec<(WriteId, Instant)>,
    /// The newest write.
    newest: Option<WriteId>,
    /// Entries of earlier values that may still be on the switch.
    old: Vec<Key>,
}

/// A relay that is removed and whose counts are read a last time.
#[derive(Debug)]
struct Leaving {
    write: WriteId,
    at: SocketAddr,
    index: u16,
    keys: Vec<Key>,
    since: Instant,
    /// The newest reading that was asked for when its entries were gone.
    reading: Option<u64>,
}

impl Relays {
    /// None, with counters for so many.
    pub(crate) fn new(counters: u32) -> Self {
        Relays {
            rows: BTreeMap::new(),
            by_key: BTreeMap::new(),
            from: BTreeMap::new(),
            leaving: Vec::new(),
            indexes: Slots::new(0, counters),
            written: VecDeque::new(),
        }
    }

    /// Adds or replaces a relay.
    pub(crate) fn set(&mut self, context: &mut Context<'_>, write: WriteId, at: SocketAddr, relay: &Relay) -> Answer {
        self.rows.entry(at).or_default();
        let answer = self
            .plan(context, at, relay)
            .map(|planned| self.replace(context, at, planned));
        let row = self.rows.get_mut(&at).expect("it was put there");
        row.newest = Some(write);
        let answer = match answer {
            Ok(true) => {
                row.pending.push((write, context.now));
                Answer::Pending
            }
            Ok(false) => {
                self.settle(at, Ok(()));
                Answer::Taken
            }
            Err(refused) => {
                self.want_nothing(context, at);
                self.settle(at, Err(refused));
                Answer::Refused(refused)
            }
        };
        self.look_again(context, at);
        answer
    }

    fn plan(&mut self, context: &mut Context<'_>, at: SocketAddr, relay: &Relay) -> Result<Planned, Refused> {
        let planned = plan(context.config, at, relay).map_err(Refused::Unsupported)?;
        if context.is_gone() {
            return Err(Refused::Gone);
        }
        let row = self.rows.get_mut(&at).expect("it was put there");
        if row.index.is_none() {
            let index = self.indexes.take().ok_or(Refused::Full)?;
            context.cells.start(Cell::Relayed(index));
            row.index = Some(index);
        }
        match self.by_key.get(&planned.key) {
            // No two relays have one local port.
            Some(other) if *other != at => Err(Refused::Unsupported(Reason::Companion)),
            _ => Ok(planned),
        }
    }

    /// Gives a relay its new value; true if the switch has to be written.
    fn replace(&mut self, context: &mut Context<'_>, at: SocketAddr, planned: Planned) -> bool {
        let row = self.rows.get_mut(&at).expect("it was put there");
        if row.planned.as_ref() != Some(&planned) {
            if row.planned.as_ref().is_some_and(|before| before.key != planned.key) {
                self.want_nothing(context, at);
            }
            let row = self.rows.get_mut(&at).expect("it was put there");
            let before = row.planned.replace(planned.clone());
            if let Some(before) = before {
                self.forget_from(at, before.from);
            }
            self.from.entry(planned.from).or_default().insert(at);
            self.by_key.insert(planned.key.clone(), at);
        }
        if self.rows.contains_key(&planned.from) {
            return self.want(context, at);
        }
        // The entry that is there sends from the port before.
        self.unwant(context, at);
        false
    }

    /// Has the switch have a relay's entry; true if it has to be written.
    fn want(&mut self, context: &mut Context<'_>, at: SocketAddr) -> bool {
        let row = self.rows.get_mut(&at).expect("it was looked at");
        let (Some(planned), Some(index)) = (&row.planned, row.index) else {
            return false;
        };
        if !std::mem::replace(&mut row.is_wanted, true) {
            context.services.hold(context.writer, context.config, at);
        }
        row.old.retain(|key| *key != planned.key);
        context
            .writer
            .want(planned.key.clone(), Value::Data(planned.data(index)));
        !context.writer.is_written(&planned.key)
    }

    /// Removes a relay's entry from the switch.
    fn unwant(&mut self, context: &mut Context<'_>, at: SocketAddr) {
        let Some(row) = self.rows.get_mut(&at) else { return };
        if let Some(planned) = &row.planned
            && std::mem::take(&mut row.is_wanted)
        {
            context.writer.unwant(&planned.key);
            row.old.push(planned.key.clone());
            context.services.release(context.writer, at);
        }
        row.old.retain(|key| !context.writer.is_absent(key));
    }

    fn want_nothing(&mut self, context: &mut Context<'_>, at: SocketAddr) {
        self.unwant(context, at);
        if let Some(planned) = self.rows.get_mut(&at).and_then(|row| row.planned.take()) {
            self.by_key.remove(&planned.key);
            self.forget_from(at, planned.from);
        }
    }

    fn forget_from(&mut self, at: SocketAddr, from: SocketAddr) {
        if let Some(others) = self.from.get_mut(&from) {
            others.remove(&at);
            if others.is_empty() {
                self.from.remove(&from);
            }
        }
    }

    /// A port was added or removed, and with it what relays that send from it need.
    fn look_again(&mut self, context: &mut Context<'_>, port: SocketAddr) {
        let is_there = self.rows.contains_key(&port);
        let senders: Vec<SocketAddr> = self.from.get(&port).into_iter().flatten().copied().collect();
        for at in senders {
            match is_there {
                true => drop(self.want(context, at)),
                false => {
                    self.unwant(context, at);
                    self.settle(at, Ok(()));
                }
            }
        }
    }

    /// Removes a relay.
    pub(crate) fn remove(&mut self, context: &mut Context<'_>, write: WriteId, at: SocketAddr) -> Answer {
        self.want_nothing(context, at);
        self.settle(at, Ok(()));
        let row = self.rows.remove(&at);
        self.look_again(context, at);
        let Some((row, index)) = row.and_then(|row| row.index.map(|index| (row, index))) else {
            return Answer::Taken;
        };
        if row.old.is_empty() && context.cells.get(Cell::Relayed(index)).packets == 0 {
            self.indexes.give_back(index, row.old);
            return Answer::Taken;
        }
        let leaving = Leaving {
            write,
            at,
            index,
            keys: row.old,
            since: context.now,
            reading: None,
        };
        self.leaving.push(leaving);
        Answer::Pending
    }

    /// An entry is on the switch, or why not.
    pub(crate) fn settled(&mut self, context: &mut Context<'_>, (key, outcome): &Settled) {
        let Some(at) = self.by_key.get(key).copied() else {
            return;
        };
        match outcome {
            Ok(()) => self.settle(at, Ok(())),
            Err(why) => self.lose(context, at, *why),
        }
    }

    /// The switch does not take what a relay needs.
    pub(crate) fn lose(&mut self, context: &mut Context<'_>, at: SocketAddr, why: Failed) {
        let Some(row) = self.rows.get(&at) else { return };
        let outcome = Err(refused(why));
        if row.is_wanted && row.pending.is_empty() {
            // It was there, and the switch that lost it does not take it again.
            self.written.extend(row.newest.map(|write| Written {
                write,
                outcome,
                traffic: None,
            }));
        }
        self.want_nothing(context, at);
        self.settle(at, outcome);
    }

    /// Reports the outcome of all pending writes to a relay.
    fn settle(&mut self, at: SocketAddr, outcome: Result<(), Refused>) {
        let pending = self.rows.get_mut(&at).map(|row| std::mem::take(&mut row.pending));
        let written = pending.into_iter().flatten().map(|(write, _)| Written {
            write,
            outcome,
            traffic: None,
        });
        self.written.extend(written);
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, context: &mut Context<'_>) {
        let is_late = |since: Instant| context.now.saturating_duration_since(since) >= ANSWER_MAX;
        let waits = |row: &Row| row.pending.iter().any(|(_, since)| is_late(*since));
        let late = self.rows.iter().filter(|(_, row)| waits(row)).map(|(at, _)| *at);
        for at in late.collect::<Vec<_>>() {
            self.want_nothing(context, at);
            self.settle(at, Err(Refused::Gone));
        }
        for mut leaving in std::mem::take(&mut self.leaving) {
            if leaving.reading.is_none() && leaving.keys.iter().all(|key| context.writer.is_absent(key)) {
                leaving.reading = Some(context.cells.begun());
            }
            let is_read = leaving
                .reading
                .is_some_and(|reading| context.cells.is_read_after(reading));
            if !is_read && context.now.saturating_duration_since(leaving.since) < ANSWER_MAX {
                self.leaving.push(leaving);
                continue;
            }
            self.written.push_back(Written {
                write: leaving.write,
                outcome: Ok(()),
                traffic: Some(counted(context, leaving.at, leaving.index)),
            });
            self.indexes.give_back(leaving.index, leaving.keys);
        }
        self.indexes.tick(context.now, context.writer);
    }

    /// Whether there is an outcome.
    pub(crate) fn has_news(&self) -> bool {
        !self.written.is_empty()
    }

    /// The next outcome.
    pub(crate) fn next_written(&mut self) -> Option<Written> {
        self.written.pop_front()
    }

    /// The counts of a relay.
    pub(crate) fn traffic(&self, context: &Context<'_>, at: SocketAddr) -> Option<Counted> {
        Some(counted(context, at, self.rows.get(&at)?.index?))
    }

    /// The cells to be read.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let used = self.rows.values().filter_map(|row| row.index);
        let leaving = self.leaving.iter().map(|leaving| leaving.index);
        used.chain(leaving).chain(self.indexes.resting()).map(Cell::Relayed)
    }

    /// How many are to be on the switch.
    pub(crate) fn len(&self) -> usize {
        self.rows.values().filter(|row| row.is_wanted).count()
    }
}

/// The reason for the base to have an entry.
pub(crate) fn refused(why: Failed) -> Refused {
    match why {
        Failed::Full => Refused::Full,
        Failed::Refused => Refused::Unsupported(Reason::Table),
    }
}

/// The counts of a relay. The switch has no register for the SSRC of the last packet.
fn counted(context: &Context<'_>, at: SocketAddr, index: u16) -> Counted {
    let count = context.cells.get(Cell::Relayed(index));
    let headers = if at.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
    let traffic = RelayTraffic {
        packets: count.packets,
        bytes: count.bytes.saturating_sub(count.packets * headers),
        ..RelayTraffic::default()
    };
    (traffic, count.last)
}

/// The entry by which the switch looks at a relay's port.
#[cfg(test)]
fn service(at: SocketAddr) -> Key {
    crate::services::key(at)
}
