//! Messages of data channels that a node passes on without their controller.
//!
//! The owner of a room sets an endpoint for each participant that is on the node. A message of one
//! endpoint goes to all others that it is for. The owner is told of it only where it is for
//! somebody who has no endpoint here, and passes it on to those. So a controller that dies stops no
//! messages between participants of one node.
//!
//! Each receiver gets all messages of a sender from the node, or all from the owner, so that they
//! keep their order.

mod packets;
mod sent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slots::Account;
use southbound::{
    Command, DataTrackRoute, DistantEndpoint, LinkedMessage, MessageEndpoint, MessageId, MessageProtocol, Posted,
    SignedMessage, TransportId,
};

use super::distant::{Distant, Reached};
use super::links::outgoing::Outgoing;
pub(super) use packets::TrackPacket;
use sent::Sent;

/// The endpoints of a room at this node.
#[derive(Debug)]
pub(super) struct Endpoints {
    all: BTreeMap<TransportId, Endpoint>,
    /// The endpoints by the transports that they send on.
    senders: BTreeMap<TransportId, TransportId>,
    by_identity: BTreeMap<Arc<str>, TransportId>,
    by_sid: BTreeMap<Arc<str>, TransportId>,
    /// Somebody of the room has no endpoint here, as far as is known.
    elsewhere: bool,
    /// The highest number that an endpoint has had.
    last_number: u64,
    account: Account,
}

#[derive(Debug)]
struct Endpoint {
    entry: MessageEndpoint,
    last_sequence: u32,
    sent: Sent,
    /// Its data tracks by its own handles.
    tracks: BTreeMap<u16, DataTrackRoute>,
}

/// A message of an endpoint on its way.
pub(super) struct Arrived<'a> {
    pub(super) transport: TransportId,
    pub(super) label: &'a Arc<str>,
    pub(super) payload: &'a [u8],
    pub(super) message: MessageId,
}

/// The participants of other nodes, and the nodes that a sender's messages go to over links.
pub(super) struct Beyond<'a> {
    pub(super) distant: &'a Distant,
    pub(super) reached: Reached,
    /// Packets that may be lost go only over those that are open now.
    pub(super) links: &'a Outgoing,
}

/// The part of a message that may go to other nodes.
pub(super) enum Onward {
    Message(SignedMessage),
    Packet(TrackPacket),
}

/// The extent to which a message was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// Not at all: it is the controller's.
    None,
    /// To the endpoints up to this number. There are other receivers.
    Some(u64),
    /// To everybody that it is for.
    All,
    /// It came a second time and goes to nobody.
    Repeated,
}

impl Endpoints {
    /// Those of a room with this account for what is remembered.
    pub(super) fn new(account: Account) -> Self {
        Self {
            all: BTreeMap::new(),
            senders: BTreeMap::new(),
            by_identity: BTreeMap::new(),
            by_sid: BTreeMap::new(),
            elsewhere: true,
            last_number: 0,
            account,
        }
    }

    /// A new owner has not said yet whether there is anybody elsewhere.
    pub(super) fn begin(&mut self) {
        self.elsewhere = true;
    }

    pub(super) fn set_elsewhere(&mut self, elsewhere: bool) {
        self.elsewhere = elsewhere;
    }

    pub(super) fn set(&mut self, entry: MessageEndpoint) {
        let transport = entry.transport;
        self.last_number = self.last_number.max(entry.number);
        let known = self.take(transport);
        let known = known.filter(|known| known.entry.sid == entry.sid);
        let mut endpoint = known.unwrap_or_else(|| Endpoint {
            entry: entry.clone(),
            last_sequence: 0,
            sent: Sent::new(&self.account),
            tracks: BTreeMap::new(),
        });
        endpoint.last_sequence = endpoint.last_sequence.max(entry.last_sequence);
        endpoint.entry = entry;
        for uplink in endpoint.uplinks() {
            self.senders.insert(uplink, transport);
        }
        self.by_identity.insert(endpoint.entry.identity.clone(), transport);
        self.by_sid.insert(endpoint.entry.sid.clone(), transport);
        self.all.insert(transport, endpoint);
    }

    pub(super) fn remove(&mut self, transport: TransportId) {
        self.take(transport);
    }

    fn take(&mut self, transport: TransportId) -> Option<Endpoint> {
        let endpoint = self.all.remove(&transport)?;
        for uplink in endpoint.uplinks() {
            remove(&mut self.senders, &uplink, transport);
        }
        remove(&mut self.by_identity, &endpoint.entry.identity, transport);
        remove(&mut self.by_sid, &endpoint.entry.sid, transport);
        Some(endpoint)
    }

    pub(super) fn set_track(&mut self, route: DataTrackRoute) {
        if let Some(endpoint) = self.all.get_mut(&route.endpoint) {
            endpoint.tracks.insert(route.handle, route);
        }
    }

    pub(super) fn remove_track(&mut self, endpoint: TransportId, handle: u16) {
        if let Some(endpoint) = self.all.get_mut(&endpoint) {
            endpoint.tracks.remove(&handle);
        }
    }

    /// The endpoint of the sender of what arrives on a transport.
    pub(super) fn sender(&self, transport: TransportId) -> Option<&MessageEndpoint> {
        let sender = self.senders.get(&transport)?;
        Some(&self.all.get(sender)?.entry)
    }

    /// Passes on a message to those of this node that it is for. Returns what may go to other nodes
    /// as well.
    pub(super) fn pass_on(
        &mut self,
        protocol: &dyn MessageProtocol,
        arrived: &Arrived<'_>,
        beyond: &Beyond<'_>,
        out: &mut Vec<Command>,
    ) -> (Passing, Option<Onward>) {
        let Some(sender) = self.senders.get(&arrived.transport).copied() else {
            return (Passing::None, None);
        };
        let Some(endpoint) = self.all.get_mut(&sender) else {
            return (Passing::None, None);
        };
        match protocol.read(&endpoint.entry, arrived.label, arrived.payload) {
            None => (Passing::None, None),
            Some(Posted::Frame { handle }) => self.pass_packet(protocol, (sender, handle), arrived, beyond, out),
            Some(Posted::Message(message)) => {
                let is_numbered = message.reliable && message.sequence > 0;
                if is_numbered {
                    if message.sequence <= endpoint.last_sequence {
                        return (Passing::Repeated, None);
                    }
                    endpoint.last_sequence = message.sequence;
                }
                let (to, is_all) = self.receivers(sender, &message, beyond);
                if !to.is_empty() {
                    out.push(Command::Send {
                        to,
                        label: message.label.into(),
                        payload: message.payload.clone(),
                        reliable: message.reliable,
                        message: Some(arrived.message),
                    });
                }
                if let Some(endpoint) = self.all.get_mut(&sender).filter(|_| is_numbered) {
                    endpoint.sent.add(message.clone());
                }
                let passing = match is_all {
                    true => Passing::All,
                    false => Passing::Some(self.last_number),
                };
                (passing, Some(Onward::Message(message)))
            }
        }
    }

    /// The receivers of a message here, and whether these are all of them but for those whom links
    /// reach.
    fn receivers(
        &self,
        sender: TransportId,
        message: &SignedMessage,
        Beyond { distant, reached, .. }: &Beyond<'_>,
    ) -> (Vec<TransportId>, bool) {
        if message.is_for_all() {
            let others = self.all.keys().filter(|transport| **transport != sender);
            let is_all = !self.elsewhere && distant.reaches_all(reached);
            return (others.copied().collect(), is_all);
        }
        let (mut to, mut is_all) = (BTreeSet::new(), true);
        for name in &message.identities {
            match self.by_identity.get(&**name) {
                Some(transport) => _ = to.insert(*transport),
                None => is_all &= distant.reaches_identity(name, reached),
            }
        }
        for sid in &message.sids {
            match self.by_sid.get(&**sid) {
                Some(transport) => _ = to.insert(*transport),
                None => is_all &= distant.reaches_sid(sid, reached),
            }
        }
        to.remove(&sender);
        (to.into_iter().collect(), is_all)
    }

    /// The receivers here of a message that came over a link, of those with numbers after one and
    /// up to another.
    pub(super) fn linked_receivers(&self, linked: &LinkedMessage, (after, upto): (u64, u64)) -> Vec<TransportId> {
        let mut to = BTreeSet::new();
        let all = || self.all.keys().copied();
        match linked.only {
            Some(only) => _ = to.insert(only),
            None if linked.identities.is_empty() && linked.sids.is_empty() => to.extend(all()),
            None => {
                let by_identity = linked.identities.iter();
                to.extend(by_identity.filter_map(|name| self.by_identity.get(&**name)));
                let by_sid = linked.sids.iter();
                to.extend(by_sid.filter_map(|sid| self.by_sid.get(&**sid)));
            }
        }
        let is_due = |transport: &TransportId| (after + 1..=upto).contains(&self.number(*transport));
        to.into_iter().filter(is_due).collect()
    }

    /// The number of an endpoint; 0 for none.
    pub(super) fn number(&self, transport: TransportId) -> u64 {
        self.all.get(&transport).map_or(0, |endpoint| endpoint.entry.number)
    }

    /// Sends an endpoint again what it has missed, of the senders that are here.
    pub(super) fn resend(&self, transport: TransportId, received: &[(Arc<str>, u32)], out: &mut Vec<Command>) {
        let Some(to) = self.all.get(&transport) else {
            return;
        };
        let received: BTreeMap<&str, u32> = received.iter().map(|(sid, sequence)| (&**sid, *sequence)).collect();
        for sender in self.all.values().filter(|sender| sender.entry.transport != transport) {
            let Some(sequence) = received.get(&*sender.entry.sid) else {
                continue;
            };
            let is_for = |message: &&SignedMessage| message.is_for(&to.entry.identity, &to.entry.sid);
            let missed = sender.sent.after(*sequence).filter(is_for);
            out.extend(missed.map(|message| Command::Send {
                to: vec![transport],
                label: message.label.into(),
                payload: message.payload.clone(),
                reliable: true,
                message: None,
            }));
        }
    }
}

impl Endpoints {
    /// The messages that somebody on another node says it has missed, each with its sender's stay.
    pub(super) fn missed(&self, by: &DistantEndpoint, received: &[(Arc<str>, u32)]) -> Vec<(Arc<str>, SignedMessage)> {
        let mut missed = Vec::new();
        for (sid, sequence) in received {
            let sender = self.by_sid.get(sid).and_then(|sender| self.all.get(sender));
            let sent = sender.into_iter().flat_map(|sender| sender.sent.after(*sequence));
            let sent = sent.filter(|message| message.is_for(&by.identity, &by.sid));
            missed.extend(sent.map(|message| (sid.clone(), message.clone())));
        }
        missed
    }
}

impl Endpoint {
    /// The transports that it sends on. A client may open channels on both of its connections.
    fn uplinks(&self) -> impl Iterator<Item = TransportId> + use<> {
        [Some(self.entry.transport), self.entry.uplink].into_iter().flatten()
    }
}

/// Removes what is of an endpoint, unless another one has it now.
fn remove<Q: Ord + ?Sized, K: Ord + std::borrow::Borrow<Q>>(
    names: &mut BTreeMap<K, TransportId>,
    name: &Q,
    endpoint: TransportId,
) {
    if names.get(name) == Some(&endpoint) {
        names.remove(name);
    }
}
