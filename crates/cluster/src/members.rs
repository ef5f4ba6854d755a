//! The controllers and media nodes that the store knows.

use std::collections::{BTreeMap, BTreeSet};

use southbound::{ControllerId, NodeId};

use crate::limits::MEMBERS_MAX;
use crate::record::{ControllerRecord, MediaRecord, Member, member_of};
use crate::{Event, MemberChange, Output};

/// The members, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Members {
    controllers: BTreeMap<ControllerId, ControllerRecord>,
    media: BTreeMap<NodeId, MediaRecord>,
    /// Controllers whose process is gone, though their record is still there.
    suspected: BTreeSet<ControllerId>,
    /// While the records are told again: the nodes that have not been told of yet.
    untold: Option<BTreeSet<NodeId>>,
    /// All records have been told once.
    is_complete: bool,
}

impl Members {
    /// Whether everything is known that the store has. Before that nobody counts as gone.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The address of a controller that runs, as far as is known.
    pub(crate) fn address(&self, controller: ControllerId) -> Option<&str> {
        let found = self.controllers.get(&controller);
        let found = found.filter(|_| !self.suspected.contains(&controller));
        found.map(|record| record.address.as_str())
    }

    pub(crate) fn suspect(&mut self, controller: ControllerId) {
        if self.controllers.contains_key(&controller) {
            self.suspected.insert(controller);
        }
    }

    /// Takes a change. Appends what is to be done about connections; returns the nodes that are
    /// gone.
    pub(crate) fn take(&mut self, change: MemberChange, out: &mut Vec<Output>) -> Vec<NodeId> {
        match change {
            MemberChange::Put { key, value } => self.put(key, &value, out),
            MemberChange::Deleted { key } => match member_of(&key) {
                Some(Member::Controller(controller)) => {
                    self.controllers.remove(&controller);
                    self.suspected.remove(&controller);
                    Vec::new()
                }
                Some(Member::Media(node)) => self.remove_media([node], out),
                None => Vec::new(),
            },
            MemberChange::Reset => {
                self.is_complete = false;
                self.controllers.clear();
                self.untold = Some(self.media.keys().copied().collect());
                Vec::new()
            }
            MemberChange::Complete => {
                self.is_complete = true;
                self.suspected
                    .retain(|controller| self.controllers.contains_key(controller));
                let gone = self.untold.take().unwrap_or_default();
                self.remove_media(gone, out)
            }
        }
    }

    fn put(&mut self, key: String, value: &[u8], out: &mut Vec<Output>) -> Vec<NodeId> {
        match member_of(&key) {
            Some(Member::Controller(controller)) => match serde_json::from_slice(value) {
                Ok(_) if is_beyond(&self.controllers, &controller) => out.push(Output::Event(Event::TooManyMembers)),
                Ok(record) => drop(self.controllers.insert(controller, record)),
                Err(_) => out.push(Output::Event(Event::UnreadableMember { key })),
            },
            Some(Member::Media(node)) => match serde_json::from_slice(value) {
                Ok(_) if is_beyond(&self.media, &node) => out.push(Output::Event(Event::TooManyMembers)),
                Ok(record) => return self.put_media(node, record, out),
                Err(_) => out.push(Output::Event(Event::UnreadableMember { key })),
            },
            None => out.push(Output::Event(Event::UnreadableMember { key })),
        }
        Vec::new()
    }

    /// A node that starts again has another id, so one at the same address is gone.
    fn put_media(&mut self, node: NodeId, record: MediaRecord, out: &mut Vec<Output>) -> Vec<NodeId> {
        if let Some(untold) = &mut self.untold {
            untold.remove(&node);
        }
        let others = self.media.iter().filter(|(other, _)| **other != node);
        let replaced = others.filter(|(_, known)| known.address == record.address);
        let replaced: Vec<_> = replaced.map(|(other, _)| *other).collect();
        let gone = self.remove_media(replaced, out);
        let before = self.media.insert(node, record.clone());
        if before.is_none_or(|before| before.address != record.address) {
            let address = record.address;
            out.push(Output::Connect { node, address });
        }
        gone
    }

    fn remove_media(&mut self, nodes: impl IntoIterator<Item = NodeId>, out: &mut Vec<Output>) -> Vec<NodeId> {
        let nodes = nodes.into_iter().filter(|node| self.media.remove(node).is_some());
        let gone: Vec<_> = nodes.collect();
        out.extend(gone.iter().map(|node| Output::Disconnect { node: *node }));
        gone
    }
}

fn is_beyond<K: Ord, V>(members: &BTreeMap<K, V>, member: &K) -> bool {
    members.len() >= MEMBERS_MAX && !members.contains_key(member)
}
