//! The tree in which nodes pass one publisher's streams on.

/// The most trunks that a packet crosses.
pub(super) const DEPTH_MAX: u64 = 3;

/// A tree over regions: the publisher's node feeds one node of each other region, and every node at
/// most `fan_out` nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// How many nodes are behind 0, 1, 2 and more trunks.
    pub(super) levels: Vec<u64>,
}

impl Tree {
    /// Divides the nodes among the regions; `None` where the publisher's node cannot feed all
    /// regions.
    pub(super) fn new(nodes: u64, regions: u64, fan_out: u64) -> Option<Self> {
        let others = regions - 1;
        let left = fan_out.checked_sub(others)?;
        let mut tree = Tree { levels: Vec::new() };
        // The publisher's region has one more where they do not divide evenly.
        let (each, more) = (nodes / regions, nodes % regions);
        for region in 0..regions {
            let size = each + u64::from(region < more);
            match region {
                0 => tree.fill(0, size, left, fan_out)?,
                _ => tree.fill(1, size, fan_out, fan_out)?,
            }
        }
        Some(tree)
    }

    /// Adds `size` nodes below a first one at this level, which feeds `first` of them.
    fn fill(&mut self, level: usize, size: u64, first: u64, fan_out: u64) -> Option<()> {
        let (mut left, mut width, mut feeds) = (size, 1, first);
        for level in level.. {
            let here = left.min(width);
            if self.levels.len() <= level {
                self.levels.resize(level + 1, 0);
            }
            self.levels[level] += here;
            left -= here;
            if left == 0 {
                break;
            }
            width = here.saturating_mul(feeds);
            feeds = fan_out;
            if width == 0 {
                return None;
            }
        }
        Some(())
    }

    /// The most trunks that a packet crosses.
    pub(super) fn depth(&self) -> u64 {
        self.levels.len() as u64 - 1
    }

    /// A description of the levels.
    pub(super) fn describe(&self) -> String {
        let levels: Vec<_> = self.levels.iter().map(u64::to_string).collect();
        levels.join(" + ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(nodes: u64, regions: u64, fan_out: u64) -> Option<Vec<u64>> {
        Tree::new(nodes, regions, fan_out).map(|tree| tree.levels)
    }

    #[test]
    fn every_node_feeds_at_most_the_fan_out() {
        assert_eq!(levels(1, 1, 4), Some(vec![1]));
        assert_eq!(levels(5, 1, 4), Some(vec![1, 4]));
        assert_eq!(levels(6, 1, 4), Some(vec![1, 4, 1]));
        assert_eq!(levels(22, 1, 4), Some(vec![1, 4, 16, 1]));
        assert_eq!(levels(3, 1, 1), Some(vec![1, 1, 1]));
    }

    #[test]
    fn the_publishers_node_feeds_the_other_regions_first() {
        assert_eq!(levels(6, 3, 4), Some(vec![1, 3, 2]));
        assert_eq!(levels(30, 3, 4), Some(vec![1, 4, 15, 10]));
        assert_eq!(levels(9, 3, 1), None);
        // Nothing is left for a second node of the publisher's region.
        assert_eq!(levels(6, 3, 2), None);
    }
}
