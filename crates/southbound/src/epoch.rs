//! Terms of ownership, by which a node tells the owner of a room from one that was its owner.

/// The number of a term in which one controller owns a room. A later owner has a higher one, so a
/// controller that was paused and comes back is refused by every node that knows its successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub u64);
