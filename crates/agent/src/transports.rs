//! All transports of the node, and how a datagram finds its own.

mod checks;
pub(crate) mod direct;
mod media_parameters;
mod path_reports;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;

use dataplane::{LegId, Path};
use slots::address_block;
use southbound::{CloseReason, Notice, OpenTransport, RemoteTransport, TransportId};

use crate::channels::Letter;
use crate::context::Context;
use crate::context::protected_media::Keying;
use crate::counters::Counter;
use crate::departed::Departed;
use crate::dtls::Identity;
use crate::handshake::{Handshake, Handshaken, Ticket};
use crate::ice::CheckId;
use crate::limits::{HANDSHAKES_MAX, TRANSPORTS_MAX};
use crate::map::Map;
use crate::timers::Timer;
use crate::transport::Transport;
pub(crate) use media_parameters::MediaParameters;

/// A change of a transport that its media must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It is new.
    Opened(TransportId),
    /// Its media has these parameters now.
    Described(TransportId, MediaParameters),
    /// It has a leg in the table now.
    LegAdded(TransportId, LegId),
    /// It can carry RTCP now.
    Keyed(TransportId),
    /// Its peer has moved: it has another path, after the earlier one was silent.
    Moved(TransportId),
    /// Its peer has closed it, and may be at another node already.
    Abandoned(TransportId),
    /// It is gone; its leg is taken out of the table after everything that uses it.
    Closed(TransportId, Option<LegId>),
}

/// Every transport, by each of its names.
pub(crate) struct Transports {
    identity: Identity,
    all: BTreeMap<TransportId, Box<Entry>>,
    by_ufrag: HashMap<String, TransportId>,
    by_leg: Map<LegId, TransportId>,
    by_path: HashMap<Path, TransportId>,
    /// By the ids of checks of ours that an answer may come for.
    by_check: HashMap<CheckId, TransportId>,
    /// Handshakes in the order they began; some are over.
    half_open: VecDeque<TransportId>,
    departed: Departed,
    tickets: Ticket,
}

/// A transport with the names it is found by.
struct Entry {
    transport: Transport,
    ufrags: Vec<String>,
    paths: Vec<Path>,
    checks: Vec<CheckId>,
    /// The nominated pair that was reported last.
    reported: Option<Path>,
}

impl Transports {
    pub(crate) fn new(identity: Identity) -> Self {
        Transports {
            identity,
            all: BTreeMap::new(),
            by_ufrag: HashMap::new(),
            by_leg: Map::default(),
            by_path: HashMap::new(),
            by_check: HashMap::new(),
            half_open: VecDeque::new(),
            departed: Departed::default(),
            tickets: Ticket::default(),
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        let names = [
            self.by_ufrag.len(),
            self.by_leg.len(),
            self.by_path.len(),
            self.by_check.len(),
        ];
        self.all.is_empty() && names == [0; 4]
    }

    /// The number of transports.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is a transport of this name.
    pub(crate) fn has(&self, transport: TransportId) -> bool {
        self.all.contains_key(&transport)
    }

    /// How far the keys of a transport have come.
    pub(crate) fn keying(&self, transport: TransportId) -> Keying {
        match self.all.get(&transport).map(|entry| &entry.transport) {
            Some(transport) if transport.is_keyed() => Keying::Done,
            Some(transport) if transport.is_half_open() => Keying::UnderWay,
            _ => Keying::Absent,
        }
    }

    /// The transport of a leg.
    pub(crate) fn by_leg(&self, leg: LegId) -> Option<TransportId> {
        self.by_leg.get(&leg).copied()
    }

    /// Creates a transport, or restarts ICE on one.
    pub(crate) fn open(&mut self, cx: &mut Context<'_>, open: OpenTransport, changes: &mut Vec<Change>) {
        let transport = open.transport;
        if let Err(why) = self.admit(cx, &open) {
            cx.notice(Notice::Refused {
                transport,
                why: why.into(),
            });
            return;
        }
        match self.all.get_mut(&transport) {
            Some(known) => {
                let result = known.transport.reopen(cx, open);
                self.after(cx, transport, result, changes);
            }
            None => {
                let new = Transport::new(open, cx.now);
                let entry = Entry {
                    transport: new,
                    ufrags: Vec::new(),
                    paths: Vec::new(),
                    checks: Vec::new(),
                    reported: None,
                };
                self.all.insert(transport, Box::new(entry));
                changes.push(Change::Opened(transport));
                self.after(cx, transport, Ok(()), changes);
            }
        }
    }

    /// The peer's half of the description.
    pub(crate) fn connect(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        remote: RemoteTransport,
        changes: &mut Vec<Change>,
    ) {
        self.with(cx, transport, changes, |transport, cx, identity| {
            transport.connect(cx, identity, remote)
        });
    }

    /// The controller closes a transport: nobody needs to be told. Messages that have arrived are
    /// passed on first.
    pub(crate) fn close(&mut self, cx: &mut Context<'_>, transport: TransportId, changes: &mut Vec<Change>) {
        let Some(mut closed) = self.all.remove(&transport) else {
            return;
        };
        closed.transport.hand_over_rest(cx);
        closed.transport.close(cx);
        for ufrag in &closed.ufrags {
            self.departed.remember(cx.now, ufrag);
        }
        remove_all(&mut self.by_ufrag, &closed.ufrags);
        remove_all(&mut self.by_path, &closed.paths);
        remove_all(&mut self.by_check, &closed.checks);
        closed.transport.leg.and_then(|leg| self.by_leg.remove(&leg));
        self.half_open.retain(|half_open| *half_open != transport);
        cx.shared.timers.clear(Timer::Transport(transport));
        changes.push(Change::Closed(transport, closed.transport.leg));
    }

    /// A message for a data channel.
    pub(crate) fn send(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        letter: Letter<'_>,
        changes: &mut Vec<Change>,
    ) {
        self.with(cx, transport, changes, |transport, cx, _| transport.send(cx, letter));
    }

    /// Passes on messages of those who may send, in turn.
    pub(crate) fn hand_over(&mut self, cx: &mut Context<'_>, changes: &mut Vec<Change>) {
        while let Some(sender) = cx.shared.ledger.next() {
            self.with(cx, sender, changes, |transport, cx, _| transport.hand_over(cx));
        }
    }

    /// DTLS from a leg.
    pub(crate) fn receive_dtls(
        &mut self,
        cx: &mut Context<'_>,
        leg: Option<LegId>,
        path: Path,
        datagram: Vec<u8>,
        changes: &mut Vec<Change>,
    ) {
        match leg.and_then(|leg| self.by_leg(leg)) {
            Some(id) => self.with(cx, id, changes, |transport, cx, identity| {
                transport.receive_dtls(cx, identity, path, datagram)
            }),
            None => cx.count(Counter::DtlsLate),
        }
    }

    /// Hands out what there is to compute of one transport's handshake.
    pub(crate) fn take_handshake(&mut self, transport: TransportId) -> Option<Handshake> {
        let entry = self.all.get_mut(&transport)?;
        entry.transport.take_handshake(self.tickets.take())
    }

    /// A part of a handshake was computed.
    pub(crate) fn handshaken(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        done: Handshaken,
        changes: &mut Vec<Change>,
    ) {
        self.with(cx, transport, changes, |transport, cx, identity| {
            transport.handshaken(cx, identity, done)
        });
    }

    /// A transport gets a track.
    pub(crate) fn may_receive(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.with(cx, transport, &mut Vec::new(), |transport, cx, _| {
            transport.ice.may_receive(cx.now);
            Ok(())
        });
    }

    /// Handles the timeout of one transport.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>, transport: TransportId, changes: &mut Vec<Change>) {
        self.with(cx, transport, changes, |transport, cx, identity| {
            transport.handle_timeout(cx, identity)
        });
    }

    fn admit(&self, cx: &mut Context<'_>, open: &OpenTransport) -> Result<(), &'static str> {
        if self
            .by_ufrag
            .get(&open.local.ufrag)
            .is_some_and(|other| *other != open.transport)
        {
            cx.count(Counter::UfragCollision);
            return Err("another transport has the same ICE user fragment");
        }
        let room = TRANSPORTS_MAX.min(cx.plane.capabilities().legs_max);
        if !self.all.contains_key(&open.transport) && self.all.len() >= room {
            cx.count(Counter::TransportsFull);
            return Err("the node has all the transports it can have");
        }
        Ok(())
    }

    /// Does something to one transport, and what follows from it.
    fn with(
        &mut self,
        cx: &mut Context<'_>,
        id: TransportId,
        changes: &mut Vec<Change>,
        action: impl FnOnce(&mut Transport, &mut Context<'_>, &Identity) -> Result<(), CloseReason>,
    ) {
        let Some(Entry { transport, .. }) = self.all.get_mut(&id).map(Box::as_mut) else {
            return;
        };
        let before = (transport.leg.is_some(), transport.is_keyed(), transport.is_half_open());
        if transport.leg.is_none() && transport.ice.paths().next().is_some() {
            let leg = cx.take_leg_id();
            transport.leg = Some(leg);
            self.by_leg.insert(leg, id);
        }
        let result = action(transport, cx, &self.identity);
        if let (false, Some(leg)) = (before.0, transport.leg) {
            changes.push(Change::LegAdded(id, leg));
        }
        if !before.1 && transport.is_keyed() {
            changes.push(Change::Keyed(id));
        }
        if !before.2 && transport.is_half_open() {
            self.half_open.push_back(id);
        }
        self.after(cx, id, result, changes);
        self.bound_handshakes(cx, changes);
    }

    /// Brings the names up to date and sets the timer, or closes the transport.
    fn after(
        &mut self,
        cx: &mut Context<'_>,
        id: TransportId,
        result: Result<(), CloseReason>,
        changes: &mut Vec<Change>,
    ) {
        if let Err(reason) = result {
            if reason == CloseReason::Peer {
                changes.push(Change::Abandoned(id));
            }
            self.close(cx, id, changes);
            cx.notice(Notice::Closed { transport: id, reason });
            return;
        }
        let Some(Entry {
            transport,
            ufrags,
            paths,
            checks,
            reported,
        }) = self.all.get_mut(&id).map(Box::as_mut)
        else {
            return;
        };
        transport.schedule(cx);
        if !transport.ice.ufrags().eq(ufrags.iter().map(String::as_str)) {
            remove_all(&mut self.by_ufrag, ufrags);
            *ufrags = transport.ice.ufrags().map(String::from).collect();
            self.by_ufrag.extend(ufrags.iter().map(|ufrag| (ufrag.clone(), id)));
        }
        if !transport.ice.paths().eq(paths.iter().copied()) {
            remove_all(&mut self.by_path, paths);
            *paths = transport.ice.paths().collect();
            self.by_path.extend(paths.iter().map(|path| (*path, id)));
        }
        path_reports::follow(cx, id, &transport.ice, reported);
        if !transport.ice.check_ids().eq(checks.iter().copied()) {
            remove_all(&mut self.by_check, checks);
            *checks = transport.ice.check_ids().collect();
            self.by_check.extend(checks.iter().map(|check| (*check, id)));
        }
    }

    /// When too many handshakes are half open, drops the oldest of the address with the most.
    fn bound_handshakes(&mut self, cx: &mut Context<'_>, changes: &mut Vec<Change>) {
        if self.half_open.len() <= HANDSHAKES_MAX {
            return;
        }
        let Self { all, half_open, .. } = self;
        half_open.retain(|id| all.get(id).is_some_and(|entry| entry.transport.is_half_open()));
        if half_open.len() <= HANDSHAKES_MAX {
            return;
        }
        let address = |id: &TransportId| {
            let path = all.get(id)?.transport.ice.paths().next()?;
            Some(address_block(path.remote.ip()))
        };
        let mut counts = HashMap::new();
        half_open
            .iter()
            .for_each(|id| *counts.entry(address(id)).or_insert(0) += 1);
        let largest = counts.values().copied().max();
        let oldest = half_open
            .iter()
            .position(|id| counts.get(&address(id)).copied() == largest);
        if let Some(oldest) = oldest.and_then(|position| half_open.remove(position)) {
            cx.count(Counter::HandshakeEvicted);
            self.after(cx, oldest, Err(CloseReason::Handshake), changes);
        }
    }
}

fn remove_all<K: Hash + Eq>(names: &mut HashMap<K, TransportId>, gone: &[K]) {
    for name in gone {
        names.remove(name);
    }
}
