//! The control handle's part of relays.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;

use dataplane::limits::KEYS_PER_RELAY_MAX;
use dataplane::{Counter, Counters, Event, Hop, MasterKey, Path, Relay, RelayProtection, WriteError};

use super::desk::{Desk, RelayShardCommand, Setting};
use super::keyring::Keyring;
use super::keystream::Keystream;
use super::port::{Opens, Seals, Way};
use super::{Door, Doors};
use crate::control::WorkerLink;
use crate::srtp::Opener;
use crate::wakeup::Wakeup;

/// How many relays there may be: as many as one address has ports.
pub(crate) const RELAYS_MAX: usize = 65_536;

/// The relays of all workers: which there are, whose they are, and what their keys have sealed.
pub(crate) struct Relays<S: Doors> {
    doors: S,
    desks: Vec<WorkerLink<RelayShardCommand<S::Door>>>,
    pages: HashMap<SocketAddr, Page<S::Door>>,
    /// By the port that hops leave from: the relays whose hops they are.
    leaving: HashMap<SocketAddr, BTreeSet<SocketAddr>>,
    keyring: Keyring,
    /// How many relays each desk has.
    loads: Vec<usize>,
    /// Where to look for the next event.
    turn: usize,
    /// What was not sent by any desk.
    counters: Counters,
}

/// One relay.
struct Page<D> {
    desk: usize,
    door: D,
    relay: Relay,
    /// Everything its hops have ever sealed with.
    keys: Vec<(MasterKey, Arc<Keystream>)>,
}

impl<S: Doors> Relays<S> {
    /// A handle and as many desks as there are alarms, each alarm waking whoever runs that desk.
    /// `agent` wakes the handle's owner.
    pub(crate) fn new(doors: S, wakeups: &[Arc<Wakeup>], agent: &Arc<Wakeup>) -> (Self, Vec<Desk<S::Door>>) {
        let parts = wakeups.iter().map(|wakeup| WorkerLink::new(wakeup, agent));
        let (links, ends): (Vec<_>, Vec<_>) = parts.unzip();
        let relays = Relays {
            doors,
            loads: vec![0; links.len()],
            desks: links,
            pages: HashMap::new(),
            leaving: HashMap::new(),
            keyring: Keyring::default(),
            turn: 0,
            counters: Counters::default(),
        };
        (relays, ends.into_iter().map(Desk::new).collect())
    }

    /// How many relays there are.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Validates an entry and has its desk apply it.
    pub(crate) fn set(&mut self, at: SocketAddr, relay: Relay) -> Result<(), WriteError> {
        let known = self.pages.get(&at);
        if known.is_some_and(|page| page.relay == relay) {
            return Ok(());
        }
        let new_keys = new_keys(&relay, known.map_or(&[], |page| &page.keys));
        if known.map_or(0, |page| page.keys.len()) + new_keys.len() > KEYS_PER_RELAY_MAX {
            return Err(WriteError::TableFull);
        }
        let (is_new, opens_as_before) = match known {
            Some(page) => (false, page.relay.ingress_protection == relay.ingress_protection),
            None => {
                let page = self.new_page(at, &relay)?;
                self.pages.insert(at, page);
                (true, false)
            }
        };
        let keys = new_keys.into_iter().map(|key| (key.clone(), self.keyring.take(&key)));
        let page = self.pages.get_mut(&at).expect("it is in the table by now");
        page.keys.extend(keys);
        let former = std::mem::replace(&mut page.relay, relay.clone());
        for hop in hops(&former) {
            self.forget_leaving(hop.path.local, at);
        }
        for hop in hops(&relay) {
            self.leaving.entry(hop.path.local).or_default().insert(at);
        }
        let page = &self.pages[&at];
        let setting = Setting {
            door: is_new.then(|| page.door.clone()),
            accept: relay.accept,
            terminated: relay.terminated,
            ingress_protection: (!opens_as_before).then(|| ingress_protection(&relay.ingress_protection)),
            rtp: relay.rtp.as_ref().map(|hop| self.way(page, hop)),
            rtcp: relay.rtcp.as_ref().map(|hop| self.way(page, hop)),
        };
        let (desk, door) = (page.desk, page.door.clone());
        self.desks[desk].send(RelayShardCommand::Set(at, Box::new(setting)));
        if is_new {
            self.announce(at, Some(&door));
        }
        Ok(())
    }

    /// Removes an entry; its desk tells a last time how much it carried.
    pub(crate) fn remove(&mut self, at: SocketAddr) -> Result<(), WriteError> {
        let page = self.pages.remove(&at).ok_or(WriteError::UnknownRelay)?;
        for hop in hops(&page.relay) {
            self.forget_leaving(hop.path.local, at);
        }
        self.announce(at, None);
        self.loads[page.desk] -= 1;
        self.desks[page.desk].send(RelayShardCommand::Remove(at));
        for (key, _) in &page.keys {
            self.keyring.give_back(key);
        }
        Ok(())
    }

    /// Asks for a relay's report, if it is there.
    pub(crate) fn report(&mut self, at: SocketAddr) {
        if let Some(page) = self.pages.get(&at) {
            self.desks[page.desk].send(RelayShardCommand::Report(at));
        }
    }

    /// Sends a datagram of the agent's from a relay's port; false when `path` starts at none.
    pub(crate) fn send(&mut self, path: Path, datagram: &[u8]) -> bool {
        let Some(page) = self.pages.get(&path.local) else {
            return false;
        };
        if !page.door.send(path.remote, None, datagram) {
            self.counters.count(Counter::SendFailed);
        }
        true
    }

    /// Whether the desks have taken everything written so far.
    pub(crate) fn is_applied(&self) -> bool {
        self.desks.iter().all(WorkerLink::wake_unless_drained)
    }

    /// The next event, desk by desk in turn.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        (0..self.desks.len()).find_map(|_| {
            let desk = self.turn;
            self.turn = (desk + 1) % self.desks.len();
            self.desks[desk].next_event()
        })
    }

    /// The sum of all desks' counters.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = self.counters.clone();
        self.desks.iter().for_each(|desk| sum.add(&desk.counters()));
        sum
    }

    fn new_page(&mut self, at: SocketAddr, relay: &Relay) -> Result<Page<S::Door>, WriteError> {
        if self.pages.len() >= RELAYS_MAX {
            return Err(WriteError::TableFull);
        }
        let door = self.doors.open(at).map_err(|_| WriteError::PortTaken)?;
        let desk = self.desk_for(at, relay);
        self.loads[desk] += 1;
        Ok(Page {
            desk,
            door,
            relay: relay.clone(),
            keys: Vec::new(),
        })
    }

    /// Where the port is that packets go on from, or where they come from that leave here, or the
    /// other port of a pair; else where there is least.
    fn desk_for(&self, at: SocketAddr, relay: &Relay) -> usize {
        let onward = hops(relay).map(|hop| hop.path.local);
        let back = self.leaving.get(&at).into_iter().flatten().copied();
        let pair = SocketAddr::new(at.ip(), at.port() ^ 1);
        let known = onward.chain(back).chain([pair]).find_map(|port| self.pages.get(&port));
        let least = || {
            (0..self.loads.len())
                .min_by_key(|desk| self.loads[*desk])
                .expect("there is a desk")
        };
        known.map_or_else(least, |page| page.desk)
    }

    /// Tells whoever sends from a port that it is open now, or closed.
    fn announce(&mut self, local: SocketAddr, door: Option<&S::Door>) {
        for relay in self
            .leaving
            .get(&local)
            .into_iter()
            .flatten()
            .filter(|relay| **relay != local)
        {
            let desk = self.pages[relay].desk;
            self.desks[desk].send(RelayShardCommand::Door {
                relay: *relay,
                local,
                door: door.cloned(),
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

    fn way(&self, page: &Page<S::Door>, hop: &Hop) -> Way<S::Door> {
        let egress_protection = match &hop.egress_protection {
            RelayProtection::Pending => Seals::Pending,
            RelayProtection::Clear => Seals::Clear,
            RelayProtection::Srtp(key) => {
                let found = page.keys.iter().find(|(known, _)| known == key);
                Seals::Srtp(found.expect("its keys were entered").1.clone())
            }
        };
        Way {
            path: hop.path,
            tos: hop.tos,
            door: self.pages.get(&hop.path.local).map(|page| page.door.clone()),
            egress_protection,
        }
    }
}

fn hops(relay: &Relay) -> impl Iterator<Item = &Hop> {
    relay.rtp.iter().chain(&relay.rtcp)
}

/// What the hops of a relay seal with that is not among `known`.
fn new_keys<D>(relay: &Relay, known: &[(MasterKey, D)]) -> Vec<MasterKey> {
    let mut new: Vec<MasterKey> = Vec::new();
    for key in hops(relay).filter_map(|hop| hop.egress_protection.key()) {
        if !new.contains(key) && known.iter().all(|(known, _)| known != key) {
            new.push(key.clone());
        }
    }
    new
}

fn ingress_protection(cover: &RelayProtection) -> Opens {
    match cover {
        RelayProtection::Pending => Opens::Pending,
        RelayProtection::Clear => Opens::Clear,
        RelayProtection::Srtp(key) => Opens::Srtp(Box::new(Opener::new(key))),
    }
}
