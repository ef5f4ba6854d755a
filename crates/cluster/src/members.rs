//! The controllers and media nodes that the store knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use southbound::{ControllerId, NodeId};

use crate::limits::{DEPARTED_MAX, MEMBERS_MAX, SUSPICION};
use crate::record::{ControllerRecord, MediaRecord, Member, member_of};
use crate::{Event, MemberChange, Output};

/// The members, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Members {
    controllers: BTreeMap<ControllerId, ControllerRecord>,
    media: BTreeMap<NodeId, MediaRecord>,
    /// Controllers whose process is gone, though their record is still there, and the end of the
    /// suspicion: a process that was only stopped may go on.
    suspected: BTreeMap<ControllerId, Instant>,
    /// The addresses of controllers that had a record until a while ago, and the end of that while:
    /// it may be the store that has forgotten them.
    departed: BTreeMap<ControllerId, (String, Instant)>,
    /// While the records are told again: the nodes that have not been told of yet.
    untold: Option<BTreeSet<NodeId>>,
    /// All records have been told once.
    is_complete: bool,
    /// A controller has gone since this was asked last.
    has_lost_controller: bool,
}

impl Members {
    /// Whether everything is known that the store has. Before that nobody counts as gone.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The address of a controller that runs, as far as is known.
    pub(crate) fn address(&self, controller: ControllerId) -> Option<&str> {
        let found = self.controllers.get(&controller);
        let found = found.filter(|_| !self.suspected.contains_key(&controller));
        found.map(|record| record.address.as_str())
    }

    /// The address of a controller that runs or has had a record until a while ago.
    pub(crate) fn presumed_address(&self, now: Instant, controller: ControllerId) -> Option<&str> {
        let departed = self.departed.get(&controller).filter(|(_, until)| *until > now);
        let departed = departed.map(|(address, _)| address.as_str());
        self.address(controller).or(departed)
    }

    /// The controllers that run, as far as is known.
    pub(crate) fn controllers(&self) -> impl Iterator<Item = (ControllerId, &ControllerRecord)> {
        let run = self.controllers.iter();
        let run = run.filter(|(controller, _)| !self.suspected.contains_key(controller));
        run.map(|(controller, record)| (*controller, record))
    }

    pub(crate) fn media(&self) -> impl Iterator<Item = (NodeId, &MediaRecord)> {
        self.media.iter().map(|(node, record)| (*node, record))
    }

    /// Whether a controller has gone since this was asked last.
    pub(crate) fn has_lost_controller(&mut self) -> bool {
        std::mem::take(&mut self.has_lost_controller)
    }

    /// The process at an address is gone.
    pub(crate) fn suspect(&mut self, now: Instant, address: &str) {
        self.departed.retain(|_, (departed, _)| departed != address);
        let there = self.controllers.iter().filter(|(_, record)| record.address == address);
        let until = now + SUSPICION;
        self.suspected.extend(there.map(|(controller, _)| (*controller, until)));
    }

    /// Ends suspicions that were not repeated, but for those of these controllers.
    pub(crate) fn forgive(&mut self, now: Instant, but: impl Fn(ControllerId) -> bool) {
        self.suspected
            .retain(|controller, until| *until > now || but(*controller));
    }

    /// Takes a change, and appends what is to be done about connections.
    pub(crate) fn take(&mut self, now: Instant, change: MemberChange, out: &mut Vec<Output>) {
        match change {
            MemberChange::Put { key, value } => self.put(key, &value, out),
            MemberChange::Deleted { key } => match member_of(&key) {
                Some(Member::Controller(controller)) => {
                    if let Some(record) = self.controllers.remove(&controller) {
                        self.depart(now, controller, record);
                    }
                    self.suspected.remove(&controller);
                    self.has_lost_controller = true;
                }
                Some(Member::Media(node)) => self.remove_media([node], out),
                None => {}
            },
            MemberChange::Reset => {
                self.is_complete = false;
                for (controller, record) in std::mem::take(&mut self.controllers) {
                    self.depart(now, controller, record);
                }
                self.untold = Some(self.media.keys().copied().collect());
            }
            MemberChange::Complete => {
                self.is_complete = true;
                self.has_lost_controller = true;
                self.suspected
                    .retain(|controller, _| self.controllers.contains_key(controller));
                let gone = self.untold.take().unwrap_or_default();
                self.remove_media(gone, out);
            }
        }
    }

    fn depart(&mut self, now: Instant, controller: ControllerId, record: ControllerRecord) {
        self.departed.retain(|_, (_, until)| *until > now);
        if !self.suspected.contains_key(&controller) && self.departed.len() < MEMBERS_MAX {
            self.departed.insert(controller, (record.address, now + DEPARTED_MAX));
        }
    }

    fn put(&mut self, key: String, value: &[u8], out: &mut Vec<Output>) {
        match member_of(&key) {
            Some(Member::Controller(controller)) => match serde_json::from_slice(value) {
                Ok(_) if is_beyond(&self.controllers, &controller) => out.push(Output::Event(Event::TooManyMembers)),
                Ok(record) => {
                    self.departed.remove(&controller);
                    self.controllers.insert(controller, record);
                }
                Err(_) => out.push(Output::Event(Event::UnreadableMember { key })),
            },
            Some(Member::Media(node)) => match serde_json::from_slice(value) {
                Ok(_) if is_beyond(&self.media, &node) => out.push(Output::Event(Event::TooManyMembers)),
                Ok(record) => self.put_media(node, record, out),
                Err(_) => out.push(Output::Event(Event::UnreadableMember { key })),
            },
            None => out.push(Output::Event(Event::UnreadableMember { key })),
        }
    }

    /// A node that starts again has another id, so one at the same address is gone.
    fn put_media(&mut self, node: NodeId, record: MediaRecord, out: &mut Vec<Output>) {
        if let Some(untold) = &mut self.untold {
            untold.remove(&node);
        }
        let others = self.media.iter().filter(|(other, _)| **other != node);
        let replaced = others.filter(|(_, known)| known.address == record.address);
        let replaced: Vec<_> = replaced.map(|(other, _)| *other).collect();
        self.remove_media(replaced, out);
        let before = self.media.insert(node, record.clone());
        if before.is_none_or(|before| before.address != record.address) {
            let address = record.address;
            out.push(Output::Connect { node, address });
        }
    }

    fn remove_media(&mut self, nodes: impl IntoIterator<Item = NodeId>, out: &mut Vec<Output>) {
        let gone = nodes.into_iter().filter(|node| self.media.remove(node).is_some());
        out.extend(gone.map(|node| Output::Disconnect { node }));
    }
}

fn is_beyond<K: Ord, V>(members: &BTreeMap<K, V>, member: &K) -> bool {
    members.len() >= MEMBERS_MAX && !members.contains_key(member)
}
