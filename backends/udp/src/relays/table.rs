//! The control handle's part of relays.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::KEYS_PER_RELAY_MAX;
use dataplane::{Counter, Counters, Event, Hop, MasterKey, Path, Relay, RelayProtection, WriteError};

use super::keyring::Keyring;
use super::keystream::Keystream;
use super::port::{Destination, Protect, Unprotect};
use super::shard::{RelayEntry, RelayShard, RelayShardCommand};
use super::{RelaySocket, SocketFactory};
use crate::channel::WorkerLink;
use crate::srtp::Opener;
use crate::wakeup::Wakeup;

/// How many relays there may be: as many as one address has ports.
pub(crate) const RELAYS_MAX: usize = 65_536;

/// The relays of all workers, the relay shard of each, and the keystreams of their keys.
pub(crate) struct Relays<S: SocketFactory> {
    factory: S,
    shards: Vec<WorkerLink<RelayShardCommand<S::Socket>>>,
    records: HashMap<SocketAddr, RelayRecord<S::Socket>>,
    /// By the port that hops are sent from: the relays of those hops.
    leaving: HashMap<SocketAddr, BTreeSet<SocketAddr>>,
    keyring: Keyring,
    /// How many relays each relay shard has.
    loads: Vec<usize>,
    /// The relay shard of the last new relay, until [`next_event`](Self::next_event) finds none.
    recent: Option<usize>,
    /// The relay shard that is asked first for the next event.
    turn: usize,
    /// Counters of datagrams that no relay shard sent.
    counters: Counters,
}

/// One relay.
struct RelayRecord<D> {
    shard: usize,
    socket: D,
    relay: Relay,
    /// The keys that its hops have sealed with, the last named last.
    keys: Vec<(MasterKey, Arc<Keystream>)>,
}

impl<S: SocketFactory> Relays<S> {
    /// A handle and as many relay shards as there are wake-ups, each of which wakes the thread of
    /// its relay shard. `agent` wakes the handle's owner.
    pub(crate) fn new(factory: S, wakeups: &[Arc<Wakeup>], agent: &Arc<Wakeup>) -> (Self, Vec<RelayShard<S::Socket>>) {
        let parts = wakeups.iter().map(|wakeup| WorkerLink::new(wakeup, agent));
        let (links, ends): (Vec<_>, Vec<_>) = parts.unzip();
        let relays = Relays {
            factory,
            loads: vec![0; links.len()],
            recent: None,
            shards: links,
            records: HashMap::new(),
            leaving: HashMap::new(),
            keyring: Keyring::default(),
            turn: 0,
            counters: Counters::default(),
        };
        (relays, ends.into_iter().map(RelayShard::new).collect())
    }

    /// How many relays there are.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Validates an entry and has its relay shard apply it.
    pub(crate) fn set(&mut self, at: SocketAddr, relay: Relay) -> Result<(), WriteError> {
        let known = self.records.get(&at);
        if known.is_some_and(|record| record.relay == relay) {
            return Ok(());
        }
        let (is_new, opens_as_before) = match known {
            Some(record) => (false, record.relay.ingress_protection == relay.ingress_protection),
            None => {
                let record = self.new_record(at, &relay)?;
                self.records.insert(at, record);
                (true, false)
            }
        };
        let record = self.records.get_mut(&at).expect("it is in the table by now");
        name_keys(&mut record.keys, &relay, &mut self.keyring);
        let former = std::mem::replace(&mut record.relay, relay.clone());
        for hop in hops(&former) {
            self.forget_leaving(hop.path.local, at);
        }
        for hop in hops(&relay) {
            self.leaving.entry(hop.path.local).or_default().insert(at);
        }
        let record = &self.records[&at];
        let entry = RelayEntry {
            socket: is_new.then(|| record.socket.clone()),
            accept: relay.accept,
            terminated: relay.terminated,
            ingress_protection: (!opens_as_before).then(|| ingress_protection(&relay.ingress_protection)),
            rtp: relay.rtp.as_ref().map(|hop| self.destination(record, hop)),
            rtcp: relay.rtcp.as_ref().map(|hop| self.destination(record, hop)),
        };
        let (shard, socket) = (record.shard, record.socket.clone());
        self.shards[shard].post(RelayShardCommand::Set(at, Box::new(entry)));
        if is_new {
            self.announce(at, Some(&socket));
        }
        Ok(())
    }

    /// Removes an entry. Its relay shard reports its traffic a last time.
    pub(crate) fn remove(&mut self, at: SocketAddr) -> Result<(), WriteError> {
        let record = self.records.remove(&at).ok_or(WriteError::UnknownRelay)?;
        for hop in hops(&record.relay) {
            self.forget_leaving(hop.path.local, at);
        }
        self.announce(at, None);
        self.loads[record.shard] -= 1;
        self.shards[record.shard].post(RelayShardCommand::Remove(at));
        for (key, _) in &record.keys {
            self.keyring.give_back(key);
        }
        Ok(())
    }

    /// Requests a relay's report, if there is such a relay.
    pub(crate) fn report(&mut self, at: SocketAddr) {
        if let Some(record) = self.records.get(&at) {
            self.shards[record.shard].post(RelayShardCommand::Report(at));
        }
    }

    /// Has a relay take in a datagram that arrived before; false when `path` ends at none.
    pub(crate) fn receive(&mut self, at: Instant, path: Path, datagram: &[u8]) -> bool {
        let Some(record) = self.records.get(&path.local) else {
            return false;
        };
        let datagram = datagram.into();
        if !self.shards[record.shard].try_send(RelayShardCommand::Receive { at, path, datagram }) {
            self.counters.count(Counter::WorkerQueueFull);
        }
        true
    }

    /// Sends a datagram of the agent from a relay's port; false when `path` starts at none.
    pub(crate) fn send(&mut self, path: Path, datagram: &[u8]) -> bool {
        let Some(record) = self.records.get(&path.local) else {
            return false;
        };
        if !record.socket.send(path.remote, None, datagram) {
            self.counters.count(Counter::SendFailed);
        }
        true
    }

    /// Whether the relay shards have taken everything written so far.
    pub(crate) fn is_applied(&self) -> bool {
        self.shards.iter().all(WorkerLink::wake_unless_drained)
    }

    /// The next event, relay shard by relay shard in turn. If there is none, the relay shards are
    /// woken for everything written since the last time: a call's ports change together.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let event = (0..self.shards.len()).find_map(|_| {
            let shard = self.turn;
            self.turn = (shard + 1) % self.shards.len();
            self.shards[shard].next_event()
        });
        if event.is_none() {
            self.recent = None;
            self.shards.iter_mut().for_each(WorkerLink::wake_for_posted);
        }
        event
    }

    /// The sum of all relay shards' counters.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = self.counters.clone();
        self.shards.iter().for_each(|shard| sum.add(&shard.counters()));
        sum
    }

    fn new_record(&mut self, at: SocketAddr, relay: &Relay) -> Result<RelayRecord<S::Socket>, WriteError> {
        if self.records.len() >= RELAYS_MAX {
            return Err(WriteError::TableFull);
        }
        let socket = self.factory.open(at).map_err(|_| WriteError::PortTaken)?;
        let shard = self.shard_for(at, relay);
        self.recent = Some(shard);
        self.loads[shard] += 1;
        Ok(RelayRecord {
            shard,
            socket,
            relay: relay.clone(),
            keys: Vec::new(),
        })
    }

    /// The relay shard of the port that packets are sent from, or of one whose packets are sent
    /// from here, or of the other port of a pair, or of a port that was opened together with this
    /// one, which is mostly one of the same call; otherwise the one with the fewest relays.
    fn shard_for(&self, at: SocketAddr, relay: &Relay) -> usize {
        let onward = hops(relay).map(|hop| hop.path.local);
        let back = self.leaving.get(&at).into_iter().flatten().copied();
        let pair = SocketAddr::new(at.ip(), at.port() ^ 1);
        let known = onward
            .chain(back)
            .chain([pair])
            .find_map(|port| self.records.get(&port));
        let least = || {
            (0..self.loads.len())
                .min_by_key(|shard| self.loads[*shard])
                .expect("there is a relay shard")
        };
        known.map(|record| record.shard).or(self.recent).unwrap_or_else(least)
    }

    /// Tells relays that send from a port that it was opened or closed.
    fn announce(&mut self, local: SocketAddr, socket: Option<&S::Socket>) {
        for relay in self
            .leaving
            .get(&local)
            .into_iter()
            .flatten()
            .filter(|relay| **relay != local)
        {
            let shard = self.records[relay].shard;
            self.shards[shard].post(RelayShardCommand::Socket {
                relay: *relay,
                local,
                socket: socket.cloned(),
            });
        }
    }

    fn forget_leaving(&mut self, local: SocketAddr, relay: SocketAddr) {
        if let Entry::Occupied(mut relays) = self.leaving.entry(local) {
            relays.get_mut().remove(&relay);
            if relays.get().is_empty() {
                relays.remove();
            }
        }
    }

    fn destination(&self, record: &RelayRecord<S::Socket>, hop: &Hop) -> Destination<S::Socket> {
        let egress_protection = match &hop.egress_protection {
            RelayProtection::Pending => Protect::Pending,
            RelayProtection::Clear => Protect::Clear,
            RelayProtection::Srtp(key) => {
                let found = record.keys.iter().find(|(known, _)| known == key);
                Protect::Srtp(found.expect("its keys were entered").1.clone())
            }
        };
        Destination {
            path: hop.path,
            tos: hop.tos,
            socket: self.records.get(&hop.path.local).map(|record| record.socket.clone()),
            egress_protection,
        }
    }
}

fn hops(relay: &Relay) -> impl Iterator<Item = &Hop> {
    relay.rtp.iter().chain(&relay.rtcp)
}

/// Puts the keys of a relay's hops last, with new ones from the keyring, and retires those that
/// were named least recently.
fn name_keys(keys: &mut Vec<(MasterKey, Arc<Keystream>)>, relay: &Relay, keyring: &mut Keyring) {
    for key in hops(relay).filter_map(|hop| hop.egress_protection.key()) {
        let named = match keys.iter().position(|(known, _)| known == key) {
            Some(known) => keys.remove(known),
            None => (key.clone(), keyring.take(key)),
        };
        keys.push(named);
    }
    let retired = keys.len().saturating_sub(KEYS_PER_RELAY_MAX);
    for (key, _) in keys.drain(..retired) {
        keyring.give_back(&key);
    }
}

fn ingress_protection(cover: &RelayProtection) -> Unprotect {
    match cover {
        RelayProtection::Pending => Unprotect::Pending,
        RelayProtection::Clear => Unprotect::Clear,
        RelayProtection::Srtp(key) => Unprotect::Srtp(Box::new(Opener::new(key))),
    }
}

#[cfg(test)]
mod tests {
    use dataplane::Accept;

    use super::super::shard::{RelaySlot, SocketRegistry};
    use super::*;
    use crate::inline::ports::{InlineSocket, InlineSockets};
    use crate::inline::sent::Sent;

    /// Asks whether entries are applied while one is.
    struct Asks<'a>(&'a Relays<InlineSockets>);

    impl SocketRegistry<InlineSocket> for Asks<'_> {
        fn register(&mut self, _slot: usize, _entry: &RelaySlot<InlineSocket>) {
            assert!(!self.0.is_applied());
        }

        fn unregister(&mut self, _entry: &RelaySlot<InlineSocket>) {}
    }

    /// Another worker may forward for a relay as soon as its entry counts as applied.
    #[test]
    fn an_entry_is_applied_when_its_shard_has_finished_with_it() {
        let wakeup = Arc::new(Wakeup::silent());
        let factory = InlineSockets::new(Sent::default());
        let (mut relays, mut shards) = Relays::new(factory, std::slice::from_ref(&wakeup), &wakeup);
        let relay = Relay {
            accept: Accept::Nobody,
            ingress_protection: RelayProtection::Clear,
            terminated: false,
            rtp: None,
            rtcp: None,
        };
        relays.set("192.0.2.1:20000".parse().unwrap(), relay).unwrap();
        assert!(!relays.is_applied());
        assert_eq!(shards[0].take_commands(&mut Asks(&relays)), 1);
        assert!(relays.is_applied());
    }
}
