//! Messages that came over links before the owner of their room has claimed it here.
//!
//! The owner tells two nodes of each other at once. The command to one of them may arrive, and a
//! message of it over the link, before the claim has arrived at the other one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::{LinkedMessage, NodeId};

use crate::limits::{LINK_EARLY_MAX, LINKED_COST};

/// The messages of each node, in their order.
#[derive(Debug, Default)]
pub(in crate::fence) struct Early(BTreeMap<NodeId, VecDeque<EarlyMessage>>);

/// A message, and its series.
pub(in crate::fence) type EarlyMessage = (u64, Arc<LinkedMessage>);

impl Early {
    /// Keeps a message. Returns how many of the node are given up for it.
    pub(in crate::fence) fn add(&mut self, node: NodeId, message: EarlyMessage) -> usize {
        let of_node = self.0.entry(node).or_default();
        of_node.push_back(message);
        let cost = |(_, linked): &EarlyMessage| linked.payload.len() + LINKED_COST;
        let mut bytes: usize = of_node.iter().map(cost).sum();
        let mut given_up = 0;
        while bytes > LINK_EARLY_MAX
            && let Some(oldest) = of_node.pop_front()
        {
            bytes -= cost(&oldest);
            given_up += 1;
        }
        given_up
    }

    /// The bytes that are kept.
    pub(in crate::fence) fn bytes(&self) -> usize {
        let all = self.0.values().flatten();
        all.map(|(_, linked)| linked.payload.len() + LINKED_COST).sum()
    }

    /// The messages for a room.
    pub(in crate::fence) fn take(&mut self, room: &str) -> Vec<(NodeId, EarlyMessage)> {
        let mut taken = Vec::new();
        for (node, of_node) in &mut self.0 {
            let (of_room, others) = std::mem::take(of_node)
                .into_iter()
                .partition(|(_, linked)| *linked.room == *room);
            *of_node = others;
            let of_room: VecDeque<_> = of_room;
            taken.extend(of_room.into_iter().map(|message| (*node, message)));
        }
        self.0.retain(|_, of_node| !of_node.is_empty());
        taken
    }
}
