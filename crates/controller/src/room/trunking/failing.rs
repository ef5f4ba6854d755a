//! Trunks that fail.

use std::collections::BTreeSet;

use southbound::{NodeId, TrackId, TransportId};

use super::route::Hop;
use super::trunk::NodePair;
use super::{Trunking, close, unsubscribe};
use crate::context::Context;
use crate::room::roster::Roster;

/// The end of a trunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrunkFailure {
    /// One of its nodes has closed it, and what came over it has ended there.
    Closed,
    /// One of its nodes did not open it. It is opened again after a while.
    Refused,
}

impl Trunking {
    pub(in crate::room) fn pair_of(&self, transport: TransportId) -> Option<NodePair> {
        let mut found = self.trunks.iter().filter(|(_, trunk)| trunk.has(transport));
        found.next().map(|(pair, _)| *pair)
    }

    pub(in crate::room) fn is_connected(&self, pair: NodePair) -> bool {
        let trunk = self.trunks.get(&pair);
        trunk.is_some_and(|trunk| trunk.ends.iter().any(|end| end.is_connected))
    }

    pub(in crate::room) fn has_trunk_to(&self, node: NodeId) -> bool {
        self.trunks.keys().any(|pair| pair.has(node))
    }

    pub(in crate::room) fn pairs_with(&self, node: NodeId) -> Vec<NodePair> {
        self.trunks.keys().copied().filter(|pair| pair.has(node)).collect()
    }

    /// Puts others in the place of the trunks that nodes take no further SSRCs on.
    pub(super) fn replace_worn(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let worn = self.trunks.iter().filter(|(_, trunk)| trunk.is_worn());
        let worn: Vec<_> = worn.map(|(pair, _)| *pair).collect();
        for pair in worn {
            self.replace(ctx, roster, pair);
        }
    }

    /// Puts another trunk in the place of one, under tracks that are on their way.
    pub(in crate::room) fn replace(&mut self, ctx: &mut Context<'_>, roster: &Roster, pair: NodePair) {
        let Some(old) = self.trunks.remove(&pair) else {
            return;
        };
        self.note_all(roster);
        self.review_changed(ctx, roster);
        // Tracks that have not moved to the other one end with it.
        close(ctx, &old);
    }

    /// Ends a trunk with all tracks that go over it. Returns the tracks that end at nodes, by the
    /// ids that nodes know them by.
    pub(in crate::room) fn end_trunk(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        pair: NodePair,
    ) -> BTreeSet<(NodeId, TrackId)> {
        let mut ended = BTreeSet::new();
        for (id, route) in &mut self.routes {
            let is_over = |to: &NodeId, hop: &mut Hop| NodePair::of(hop.from, *to) == pair;
            let over: Vec<_> = route.hops.extract_if(.., is_over).collect();
            for (to, hop) in over {
                unsubscribe(ctx, hop.from, hop.names());
                ended.insert((to, *id));
                // The streams that it passes on end there, and begin again under other names.
                for behind in route.hops.values_mut().filter(|behind| behind.from == to) {
                    unsubscribe(ctx, to, behind.names());
                    behind.subscriptions.clear();
                }
            }
        }
        if let Some(trunk) = self.trunks.remove(&pair) {
            close(ctx, &trunk);
        }
        self.note_all(roster);
        ended
    }
}
