//! The encodings of a track that nodes need.

use std::collections::BTreeMap;

use southbound::{NodeId, TrackId};

use super::tree::Tree;
use crate::room::roster::Roster;
use crate::subscription::SubscriptionState;
use crate::track::{PublicationMedia, Version};

/// The best that anybody at a node wants of a track. Everything below it crosses as well: receivers
/// may have to fall to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Need {
    /// Encodings, from the lowest one on; 0 where everybody has it disabled.
    pub(super) encodings: usize,
    /// The best spatial layer inside the last of them.
    pub(super) spatial_max: u8,
}

impl Need {
    fn add(&mut self, other: Self) {
        self.spatial_max = match self.encodings.cmp(&other.encodings) {
            std::cmp::Ordering::Less => other.spatial_max,
            std::cmp::Ordering::Equal => self.spatial_max.max(other.spatial_max),
            std::cmp::Ordering::Greater => self.spatial_max,
        };
        self.encodings = self.encodings.max(other.encodings);
    }
}

/// The needs of nodes that a track is received at, in one of its codecs, its publisher's apart.
pub(super) fn needs(
    roster: &Roster,
    root: NodeId,
    track: TrackId,
    version: Version,
    media: &PublicationMedia,
) -> BTreeMap<NodeId, Need> {
    let mut needs: BTreeMap<NodeId, Need> = BTreeMap::new();
    for receiver in roster.all() {
        let Some(subscription) = receiver.subscriptions.to(track) else {
            continue;
        };
        if !matches!(subscription.state, SubscriptionState::Active(_, of) if of == version) {
            continue;
        }
        let wanted = subscription.settings.wanted(media);
        // One that moves has it at both nodes meanwhile.
        let nodes = [Some(receiver.media.node), receiver.media.target()]
            .into_iter()
            .flatten();
        for node in nodes.filter(|node| *node != root) {
            let need = needs.entry(node).or_default();
            if wanted.enabled {
                let best = usize::from(wanted.encoding_max) + 1;
                need.add(Need {
                    encodings: best.min(media.publication.encodings.len()),
                    spatial_max: wanted.spatial_max,
                });
            }
        }
    }
    needs
}

/// Adds to the need of each node what the nodes need that it passes the track on to.
pub(super) fn accumulate(needs: &mut BTreeMap<NodeId, Need>, tree: &Tree) {
    for link in tree.links().rev() {
        if let Some(behind) = needs.get(&link.to).copied() {
            needs.entry(link.from).or_default().add(behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_need_of_a_node_includes_those_behind_it() {
        let (root, middle, last) = (NodeId(0), NodeId(1), NodeId(2));
        let before = BTreeMap::from([(middle, root), (last, middle)]);
        let tree = Tree::grow(root, &[middle, last].into(), &before);
        let of = |encodings, spatial_max| Need { encodings, spatial_max };
        let mut needs = BTreeMap::from([(middle, of(1, 7)), (last, of(3, 2))]);
        accumulate(&mut needs, &tree);
        assert_eq!((needs[&middle], needs[&last]), (of(3, 2), of(3, 2)));
    }

    #[test]
    fn the_best_spatial_layer_is_that_of_the_best_encoding() {
        let mut need = Need::default();
        let mut after = |encodings, spatial_max| {
            need.add(Need { encodings, spatial_max });
            (need.encodings, need.spatial_max)
        };
        assert_eq!(after(1, 1), (1, 1));
        assert_eq!(after(1, 2), (1, 2));
        assert_eq!(after(0, 9), (1, 2));
        assert_eq!(after(2, 0), (2, 0));
    }
}
