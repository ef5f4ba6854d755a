//! Relays: several offloads in a row, of which the first that takes an entry has it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Answer, Capabilities, Counters, DataPlane, Event, Inject, Offload, Refused, Relay, Statistics, Update, WriteError,
    WriteId, Written,
};

use crate::deferred_reports::{DeferredReports, Part};
use crate::gone::Gone;
use crate::limits::ANSWER_TIME;
use crate::places::{Entry, Place, Places};

/// How many events of the base are taken before the offloads are asked for answers: a base that
/// always has another one must not keep them waiting.
const POLLS_MAX: u32 = 64;

/// A base with offloads for relays in front of it, the first one first.
#[derive(Debug)]
pub struct RelayLayer<B, O> {
    base: B,
    offloads: Vec<O>,
    places: Places,
    entries: HashMap<SocketAddr, State>,
    /// The relay that the newest write to its holder is of.
    owners: HashMap<WriteId, SocketAddr>,
    removals: BTreeMap<WriteId, Removal>,
    deferred_reports: DeferredReports,
    /// Of each offload.
    gone: Vec<Gone>,
    /// The pending writes of the last [`ANSWER_TIME`], and some that were answered, the oldest
    /// first.
    asked: VecDeque<(Instant, WriteId)>,
    writes: u64,
    /// How often events were asked for since the offloads were asked for answers.
    polls: u32,
    /// When the agent last said what time it is.
    now: Option<Instant>,
}

/// A relay that the base has.
#[derive(Debug, Default)]
struct State {
    /// Counts since the relay was first written: of offloads that have it no more.
    before: Part,
    /// The offload that has it, or may have it.
    holder: Option<usize>,
    /// The newest write to the holder, and while that is pending, the value.
    write: Option<(WriteId, Option<Box<Relay>>)>,
}

/// A removal whose outcome is to come.
#[derive(Clone, Copy, Debug)]
struct Removal {
    at: SocketAddr,
    offload: usize,
    /// The relay itself is still there, elsewhere.
    is_move: bool,
}

impl<B: DataPlane, O: Offload> RelayLayer<B, O> {
    /// Puts offloads in front of a base. None of them has entries of ours yet.
    pub fn new(base: B, offloads: Vec<O>) -> Self {
        RelayLayer {
            base,
            gone: offloads.iter().map(|_| Gone::default()).collect(),
            offloads,
            places: Places::default(),
            entries: HashMap::new(),
            owners: HashMap::new(),
            removals: BTreeMap::new(),
            deferred_reports: DeferredReports::default(),
            asked: VecDeque::new(),
            writes: 0,
            polls: 0,
            now: None,
        }
    }

    /// The base.
    pub fn base(&self) -> &B {
        &self.base
    }

    /// The same, to be used for what is not an entry.
    pub fn base_mut(&mut self) -> &mut B {
        &mut self.base
    }

    /// The offloads, in their order.
    pub fn offloads(&self) -> &[O] {
        &self.offloads
    }

    /// The same, to be used for what is not an entry.
    pub fn offloads_mut(&mut self) -> &mut [O] {
        &mut self.offloads
    }

    /// Which relay runs where, readable while this runs.
    pub fn places(&self) -> Places {
        self.places.clone()
    }

    /// The base has it first, so that there is no moment at which nobody has it.
    fn set(&mut self, now: Instant, at: SocketAddr, relay: Box<Relay>) -> Result<(), WriteError> {
        self.base.write(now, Update::SetRelay(at, relay.clone()))?;
        self.entries.entry(at).or_default();
        self.offer_anew(now, at, relay);
        Ok(())
    }

    /// Offers an entry to all offloads.
    fn offer_anew(&mut self, now: Instant, at: SocketAddr, relay: Box<Relay>) {
        self.gone.iter_mut().for_each(|gone| gone.forget(at));
        self.places.begin(Entry::Relay(at));
        self.offer(now, at, relay, 0);
    }

    /// Offers an entry to the offloads from this one on, until one takes it or answers later.
    fn offer(&mut self, now: Instant, at: SocketAddr, relay: Box<Relay>, first: usize) {
        for offload in first..self.offloads.len() {
            let write = self.next_write();
            let answer = self.offloads[offload].offer(now, write, at, Some(&relay));
            let name = self.offloads[offload].name();
            let state = self.entries.get_mut(&at).expect("the base has it");
            match answer {
                Answer::Refused(refused) => {
                    if state.holder == Some(offload) {
                        // It has no value any more, but its counts.
                        state.holder = None;
                        self.own(at, None);
                    }
                    self.places.refused(Entry::Relay(at), name, refused);
                    self.gone[offload].refused(now, at, &relay, refused);
                    continue;
                }
                Answer::Taken => self.places.settled(Entry::Relay(at), Place::Offload(name)),
                Answer::Pending => self.places.settled(Entry::Relay(at), Place::Pending(name)),
            }
            if answer == Answer::Pending {
                self.asked.push_back((now, write));
            }
            let value = (answer == Answer::Pending).then_some(relay);
            let before = state.holder.replace(offload);
            self.own(at, Some((write, value)));
            if let Some(before) = before.filter(|before| *before != offload) {
                self.move_away(now, at, before);
            }
            return;
        }
        self.own(at, None);
        let state = self.entries.get_mut(&at).expect("the base has it");
        if let Some(before) = state.holder.take() {
            self.move_away(now, at, before);
        }
    }

    /// This write to its holder is the newest of a relay, or there is no holder.
    fn own(&mut self, at: SocketAddr, write: Option<(WriteId, Option<Box<Relay>>)>) {
        let Some(state) = self.entries.get_mut(&at) else { return };
        if let Some((old, _)) = &state.write {
            self.owners.remove(old);
        }
        self.owners.extend(write.iter().map(|(write, _)| (*write, at)));
        state.write = write;
    }

    /// Another place has a relay from now on than this offload.
    fn move_away(&mut self, now: Instant, at: SocketAddr, offload: usize) {
        if let Err(word) = self.remove_from(now, at, offload, true) {
            self.remember(at, word);
        }
    }

    /// Removes a relay from an offload: the write that is pending, or the last word.
    fn remove_from(&mut self, now: Instant, at: SocketAddr, offload: usize, is_move: bool) -> Result<WriteId, Part> {
        let write = self.next_write();
        match self.offloads[offload].offer(now, write, at, None) {
            Answer::Pending => {
                self.asked.push_back((now, write));
                self.removals.insert(write, Removal { at, offload, is_move });
                Ok(write)
            }
            Answer::Taken | Answer::Refused(_) => Err(Part::new(self.offloads[offload].relay_traffic(at))),
        }
    }

    fn remember(&mut self, at: SocketAddr, word: Part) {
        if let Some(state) = self.entries.get_mut(&at) {
            state.before = state.before.and(word);
        }
    }

    /// The offloads lose it first, so that there is no moment at which nobody has it.
    fn remove(&mut self, now: Instant, at: SocketAddr) -> Result<(), WriteError> {
        self.own(at, None);
        self.gone.iter_mut().for_each(|gone| gone.forget(at));
        if let Some(state) = self.entries.remove(&at) {
            let (mut part, mut waits) = (state.before, Vec::new());
            // One that refused it may have counted something earlier.
            for offload in 0..self.offloads.len() {
                match self.remove_from(now, at, offload, false) {
                    Ok(write) => waits.push(write),
                    Err(word) => part = part.and(word),
                }
            }
            let moves = self
                .removals
                .iter()
                .filter(|(_, removal)| removal.at == at && removal.is_move);
            waits.extend(moves.map(|(write, _)| *write));
            self.deferred_reports.expect(at, part, waits);
            self.places.remove(&Update::RemoveRelay(at));
        }
        self.base.write(now, Update::RemoveRelay(at))
    }

    fn next_write(&mut self) -> WriteId {
        self.writes += 1;
        WriteId(self.writes)
    }

    /// Takes in what offloads have answered meanwhile.
    fn settle(&mut self, now: Instant) {
        self.polls = 0;
        for offload in 0..self.offloads.len() {
            while let Some(written) = self.offloads[offload].next_written() {
                match self.removals.remove(&written.write) {
                    Some(removal) => self.removed(removal, written),
                    None => self.written(now, offload, written),
                }
            }
        }
        self.end_overdue(now);
        self.offer_again(now);
    }

    /// Offers the relays again that an offload refused while it did not answer.
    fn offer_again(&mut self, now: Instant) {
        for offload in 0..self.offloads.len() {
            let (name, answers) = (self.offloads[offload].name(), self.offloads[offload].answers());
            self.places.answers(name, answers);
            for (at, relay) in self.gone[offload].due(now, answers) {
                self.offer_anew(now, at, relay);
            }
        }
    }

    /// Ends the writes that were not answered in time. A removal counts as done, without counts. A
    /// value is removed from the offload, which may still take it.
    fn end_overdue(&mut self, now: Instant) {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= ANSWER_TIME;
        while let Some((_, write)) = self.asked.pop_front_if(|(since, _)| is_over(*since)) {
            let written = Written {
                write,
                outcome: Err(Refused::Gone),
                traffic: None,
            };
            if let Some(removal) = self.removals.remove(&write) {
                self.removed(removal, written);
                continue;
            }
            let Some(at) = self.owners.get(&write).copied() else {
                continue;
            };
            let state = self.entries.get(&at);
            let is_pending = state
                .and_then(|state| state.write.as_ref())
                .is_some_and(|(_, value)| value.is_some());
            if let Some(offload) = state.and_then(|state| state.holder).filter(|_| is_pending) {
                self.move_away(now, at, offload);
                self.written(now, offload, written);
            }
        }
    }

    fn removed(&mut self, removal: Removal, written: Written) {
        let Removal { at, is_move, .. } = removal;
        let word = Part::new(written.traffic);
        // Of a relay that is gone meanwhile the question about its last word waits.
        if !self.deferred_reports.removed(at, written.write, word) && is_move {
            self.remember(at, word);
        }
    }

    /// The outcome of a write, or the loss of what it wrote. Of an entry only the newest write to
    /// its holder counts.
    fn written(&mut self, now: Instant, offload: usize, written: Written) {
        let Some(at) = self.owners.get(&written.write).copied() else {
            return;
        };
        let Some(state) = self.entries.get_mut(&at) else { return };
        let name = self.offloads[offload].name();
        let value = state.write.as_mut().and_then(|(_, value)| value.take());
        match written.outcome {
            Ok(()) => self.places.settled(Entry::Relay(at), Place::Offload(name)),
            Err(refused) => {
                state.holder = None;
                self.own(at, None);
                self.places.refused(Entry::Relay(at), name, refused);
                // One that was lost later runs in the base until it is written again.
                if let Some(relay) = value {
                    self.gone[offload].refused(now, at, &relay, refused);
                    self.offer(now, at, relay, offload + 1);
                }
            }
        }
    }

    /// The offloads' counts of a relay that the base is asked about.
    fn part_of(&mut self, at: SocketAddr) -> Option<Part> {
        let before = self.entries.get(&at)?.before;
        // An offload that is yet to remove an earlier relay at this port counts for that.
        let is_earlier = |removal: &&Removal| removal.at == at && !removal.is_move;
        let earlier = self.removals.values().filter(is_earlier).map(|removal| removal.offload);
        let earlier: Vec<usize> = earlier.collect();
        let offloads = self.offloads.iter_mut().enumerate();
        let offloads = offloads.filter(|(offload, _)| !earlier.contains(offload));
        let parts = offloads.map(|(_, offload)| Part::new(offload.relay_traffic(at)));
        Some(parts.fold(before, Part::and))
    }
}

impl<B: DataPlane, O: Offload> DataPlane for RelayLayer<B, O> {
    fn capabilities(&self) -> Capabilities {
        self.base.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.now = Some(now);
        match update {
            Update::SetRelay(at, relay) => self.set(now, at, relay),
            Update::RemoveRelay(at) => self.remove(now, at),
            update => self.base.write(now, update),
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.now = Some(now);
        if let Inject::ReportRelay { at } = what {
            self.settle(now);
            if let Some(part) = self.part_of(at) {
                self.deferred_reports.expect(at, part, Vec::new());
            }
        }
        self.base.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        self.polls += 1;
        if self.polls >= POLLS_MAX
            && let Some(now) = self.now
        {
            self.settle(now);
        }
        loop {
            if let Some(event) = self.deferred_reports.next() {
                return Some(event);
            }
            match self.base.poll() {
                Some(Event::RelayTraffic { at, traffic, last }) => self.deferred_reports.answered(at, traffic, last),
                Some(event) => return Some(event),
                None => {
                    self.settle(self.now?);
                    return self.deferred_reports.next();
                }
            }
        }
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.base.counters();
        for offload in &mut self.offloads {
            counters.add(&offload.counters());
        }
        counters
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        let own = self.offloads.iter().flat_map(Offload::statistics);
        let places: Arc<dyn Statistics> = Arc::new(self.places.clone());
        own.chain(self.base.statistics()).chain([places]).collect()
    }

    fn ping_workers(&mut self) {
        self.base.ping_workers();
    }

    fn workers_answered(&mut self) -> bool {
        self.base.workers_answered()
    }
}
