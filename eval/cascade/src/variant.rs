//! The compared trees.

use std::time::Duration;

/// A tree of nodes, and the receivers at them. The camera is at the first node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// Its name in tables.
    pub name: &'static str,
    /// How many nodes there are.
    pub nodes: usize,
    /// The node from which each other one gets the streams.
    pub tree: Tree,
    /// Receivers at all nodes together.
    pub receivers: usize,
    /// The nodes at which they are.
    pub seats: Seats,
    /// The way between the first two nodes, if it is not only the loopback.
    pub link: Option<Link>,
}

/// The node from which each other one gets the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Always the first one.
    Star,
    /// The one before it.
    Chain,
}

/// The nodes at which receivers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seats {
    /// All of them, by turns.
    Everywhere,
    /// Only the last one.
    Last,
}

/// A way between two nodes that counts what passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The share of media packets that is lost while it is measured, 0 to 1.
    pub loss: f64,
    /// Time of one way.
    pub delay: Duration,
}

/// One after the other in each round. The first is the floor of those with as many receivers, and
/// the one before `relay` is that of a node that only passes streams on.
pub const VARIANTS: [Variant; 8] = [
    Variant::spread("one", 1, Tree::Star),
    Variant::spread("two", 2, Tree::Star),
    Variant::spread("four", 4, Tree::Star),
    Variant::spread("chain", 4, Tree::Chain),
    Variant {
        receivers: 3,
        ..Variant::spread("single", 1, Tree::Star)
    },
    Variant {
        receivers: 3,
        seats: Seats::Last,
        ..Variant::spread("relay", 3, Tree::Chain)
    },
    Variant {
        link: Some(Link {
            loss: 0.0,
            delay: Duration::ZERO,
        }),
        ..Variant::spread("counted", 2, Tree::Star)
    },
    Variant {
        receivers: 100,
        link: Some(Link {
            loss: 0.02,
            delay: Duration::from_millis(20),
        }),
        ..Variant::spread("lossy", 2, Tree::Star)
    },
];

/// The encodings that receivers want by turns: half of them the largest, three of ten the middle
/// one, and one of five the smallest.
const WANTED: [usize; 10] = [2, 1, 0, 2, 2, 1, 2, 0, 1, 2];

/// The receivers of a large room.
const RECEIVERS: usize = 1_000;

impl Variant {
    /// A large room, whose receivers are at all nodes.
    const fn spread(name: &'static str, nodes: usize, tree: Tree) -> Self {
        Variant {
            name,
            nodes,
            tree,
            receivers: RECEIVERS,
            seats: Seats::Everywhere,
            link: None,
        }
    }

    /// The variant of this name.
    pub fn named(name: &str) -> Option<Self> {
        VARIANTS.into_iter().find(|variant| variant.name == name)
    }

    /// The node from which a node gets the streams; the first has them from the camera.
    pub(crate) fn parent(&self, node: usize) -> Option<usize> {
        let before = node.checked_sub(1)?;
        Some(match self.tree {
            Tree::Star => 0,
            Tree::Chain => before,
        })
    }

    /// How many trunks a packet has crossed at a node.
    pub(crate) fn depth(&self, node: usize) -> usize {
        self.parent(node).map_or(0, |parent| 1 + self.depth(parent))
    }

    /// The most trunks that a packet crosses.
    pub(crate) fn depth_max(&self) -> usize {
        (0..self.nodes).map(|node| self.depth(node)).max().unwrap_or(0)
    }

    /// The node of a receiver, and the encoding that it wants. Receivers of one encoding are at all
    /// nodes.
    pub(crate) fn seat(&self, receiver: usize) -> (usize, usize) {
        let node = match self.seats {
            Seats::Everywhere => receiver % self.nodes,
            Seats::Last => self.nodes - 1,
        };
        (node, WANTED[receiver / self.turn() % WANTED.len()])
    }

    /// How many receivers in a row are at different nodes.
    fn turn(&self) -> usize {
        match self.seats {
            Seats::Everywhere => self.nodes,
            Seats::Last => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_as_deep_as_it_is_long_and_a_star_is_not() {
        let depths = |name| {
            let variant = Variant::named(name).expect("it is in the list");
            (0..variant.nodes).map(|node| variant.depth(node)).collect::<Vec<_>>()
        };
        assert_eq!(depths("one"), [0]);
        assert_eq!(depths("four"), [0, 1, 1, 1]);
        assert_eq!(depths("chain"), [0, 1, 2, 3]);
    }

    #[test]
    fn each_node_has_receivers_of_each_encoding() {
        for variant in VARIANTS.iter().filter(|variant| variant.receivers >= 100) {
            for node in 0..variant.nodes {
                let wanted = |encoding| {
                    let seats = (0..variant.receivers).map(|receiver| variant.seat(receiver));
                    seats.filter(|seat| *seat == (node, encoding)).count()
                };
                let all = variant.receivers / variant.nodes;
                assert_eq!(
                    [0, 1, 2].map(wanted),
                    [all / 5, all * 3 / 10, all / 2],
                    "{}",
                    variant.name
                );
            }
        }
    }
}
