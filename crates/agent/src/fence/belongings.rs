//! The transports, tracks, subscriptions and settings of a room at a node.

use std::collections::{BTreeMap, BTreeSet};

use southbound::{Command, SubscriptionId, TrackId, TransportId};

use crate::limits::{SUBSCRIPTIONS_PER_TRUNK_MAX, TRACKS_PER_TRUNK_MAX};

/// One thing that commands have set and that a command can end. The order is the one to end them
/// in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Belonging {
    /// A track that is forwarded to nobody.
    Hold(TrackId),
    Rank(TrackId),
    Limit(TransportId),
    /// A data track, by its publisher's endpoint and handle.
    DataTrack(TransportId, u16),
    Endpoint(TransportId),
    Subscription(SubscriptionId),
    Track(TrackId),
    Transport(TransportId),
}

/// The most belongings of a transport: the tracks, subscriptions and limit of a trunk, which may
/// have more of them than others.
const CHILDREN_MAX: usize = TRACKS_PER_TRUNK_MAX + SUBSCRIPTIONS_PER_TRUNK_MAX + 1;

/// Everything of one room.
#[derive(Debug, Default)]
pub(super) struct Belongings {
    all: BTreeMap<Belonging, Entry>,
    /// Counts claims of the room. An entry of an earlier one has not been said again.
    claim: u64,
    changes: Vec<Change>,
}

/// Something that is there from now on, or not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Begun(Belonging),
    Ended(Belonging),
}

#[derive(Debug, Default)]
struct Entry {
    claim: u64,
    /// The belongings that it ends with.
    parents: Vec<Belonging>,
    /// The belongings that end with it.
    children: BTreeSet<Belonging>,
}

impl Belongings {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Everything is going to be said again.
    pub(super) fn begin(&mut self) {
        self.claim += 1;
    }

    /// The changes since this was asked the last time, in their order.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Remembers the effect of a command.
    pub(super) fn note(&mut self, command: &Command) {
        use Belonging::{DataTrack, Endpoint, Hold, Limit, Rank, Subscription, Track, Transport};
        match command {
            Command::Open(open) => self.set(Transport(open.transport), &[]),
            Command::OpenDirect(open) => self.set(Transport(open.transport), &[]),
            Command::Close { transport } => self.remove(Transport(*transport)),
            Command::Publish(publication) => {
                self.set(Track(publication.track), &[Transport(publication.transport)]);
            }
            Command::Unpublish { track } => self.remove(Track(*track)),
            Command::Subscribe(subscription) => {
                let parents = [Transport(subscription.transport), Track(subscription.track)];
                self.set(Subscription(subscription.subscription), &parents);
            }
            Command::Unsubscribe { subscription } => self.remove(Subscription(*subscription)),
            Command::SetForwarding { track, forwarding } => self.adjust(Hold(*track), Track(*track), !forwarding),
            Command::SetSpeakerRank { track, rank } => self.adjust(Rank(*track), Track(*track), rank.is_some()),
            Command::SetDownlinkLimit { transport, limit } => {
                self.adjust(Limit(*transport), Transport(*transport), limit.is_some());
            }
            Command::SetEndpoint(endpoint) => {
                self.set(Endpoint(endpoint.transport), &[Transport(endpoint.transport)]);
            }
            Command::RemoveEndpoint { transport } => self.remove(Endpoint(*transport)),
            Command::SetDataTrack(route) => {
                self.set(DataTrack(route.endpoint, route.handle), &[Endpoint(route.endpoint)]);
            }
            Command::RemoveDataTrack { endpoint, handle } => self.remove(DataTrack(*endpoint, *handle)),
            // The transport has been opened, or there is none.
            Command::Connect { .. }
            | Command::Send { .. }
            | Command::MessageHandled { .. }
            | Command::SetElsewhere { .. }
            | Command::Resend { .. }
            | Command::SetDistantEndpoint(_)
            | Command::RemoveDistantEndpoint { .. }
            | Command::SetDistantTrack(_)
            | Command::RemoveDistantTrack { .. }
            | Command::SetReach { .. }
            | Command::SetSource { .. }
            | Command::Relay(_) => {}
        }
    }

    pub(super) fn has(&self, belonging: Belonging) -> bool {
        self.all.contains_key(&belonging)
    }

    /// Ends what was not said since the last claim.
    pub(super) fn end_unsaid(&mut self, out: &mut Vec<Command>) {
        let claim = self.claim;
        let unsaid = self.all.iter().filter(|(_, entry)| entry.claim < claim);
        self.end(unsaid.map(|(belonging, _)| *belonging).collect(), out);
    }

    pub(super) fn end_all(&mut self, out: &mut Vec<Command>) {
        self.end(self.all.keys().copied().collect(), out);
    }

    fn end(&mut self, belongings: Vec<Belonging>, out: &mut Vec<Command>) {
        for belonging in belongings {
            self.remove(belonging);
            out.extend(belonging.end());
        }
    }

    fn adjust(&mut self, belonging: Belonging, of: Belonging, is_set: bool) {
        match is_set {
            true => self.set(belonging, &[of]),
            false => self.remove(belonging),
        }
    }

    /// Something is there. The first of what it ends with has to be, and to have place for it: the
    /// agent refuses it otherwise. A subscription may be there before its track.
    fn set(&mut self, belonging: Belonging, parents: &[Belonging]) {
        let first = parents.first().map(|parent| self.all.get(parent));
        let is_refused = |parent: Option<&Entry>| parent.is_none_or(|parent| parent.is_full(belonging));
        if first.is_some_and(is_refused) {
            return;
        }
        if let Some(known) = self.all.get(&belonging) {
            // A track that comes over another transport keeps its subscriptions.
            for parent in known.parents.clone() {
                if let Some(parent) = self.all.get_mut(&parent) {
                    parent.children.remove(&belonging);
                }
            }
        }
        for parent in parents {
            if let Some(parent) = self.all.get_mut(parent) {
                parent.children.insert(belonging);
            }
        }
        if !self.all.contains_key(&belonging) {
            self.changes.push(Change::Begun(belonging));
        }
        let claim = self.claim;
        let entry = self.all.entry(belonging).or_default();
        entry.claim = claim;
        entry.parents = parents.to_vec();
    }

    /// Something ends, with everything that ends with it.
    fn remove(&mut self, belonging: Belonging) {
        let Some(entry) = self.all.remove(&belonging) else {
            return;
        };
        self.changes.push(Change::Ended(belonging));
        for parent in &entry.parents {
            if let Some(parent) = self.all.get_mut(parent) {
                parent.children.remove(&belonging);
            }
        }
        entry.children.into_iter().for_each(|child| self.remove(child));
    }
}

impl Entry {
    /// Whether there are as many belongings of a transport as the agent takes.
    fn is_full(&self, belonging: Belonging) -> bool {
        self.children.len() >= CHILDREN_MAX && !self.children.contains(&belonging)
    }
}

impl Belonging {
    /// The command for the agent that ends it. The agent has no endpoints.
    fn end(self) -> Option<Command> {
        Some(match self {
            Self::Hold(track) => Command::SetForwarding {
                track,
                forwarding: true,
            },
            Self::Rank(track) => Command::SetSpeakerRank { track, rank: None },
            Self::Limit(transport) => Command::SetDownlinkLimit { transport, limit: None },
            Self::DataTrack(..) | Self::Endpoint(_) => return None,
            Self::Subscription(subscription) => Command::Unsubscribe { subscription },
            Self::Track(track) => Command::Unpublish { track },
            Self::Transport(transport) => Command::Close { transport },
        })
    }
}
