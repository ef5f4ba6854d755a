//! Plans clusters: rooms over several media nodes, the trunks between them, and the load of
//! controllers and store.
//!
//! A [`Broadcast`] is one publisher with more viewers than a node carries. [`Meetings`] are rooms
//! whose participants are in several regions. Both give a [`Sheet`].

mod broadcast;
mod control;
mod load;
mod meetings;
mod node;
mod sheet;
mod tree;

use std::fmt;

pub use broadcast::Broadcast;
pub use load::{Encoding, Encodings};
pub use meetings::Meetings;
pub use sheet::{Line, Sheet};

/// Limits of the parts of a cluster, as their own crates have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterLimits {
    /// Participants of one room.
    pub participants: u64,
    /// Rooms of one controller.
    pub rooms: u64,
    /// Media nodes of a controller.
    pub nodes: u64,
    /// Transports of one node.
    pub transports: u64,
    /// Trunks of one node.
    pub trunks: u64,
}

/// The reason why a cluster cannot be planned: a sentence with the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterError(String);

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ClusterError {}

/// Errors: the number is out of its range.
fn within(name: &str, number: u64, most: u64) -> Result<(), ClusterError> {
    if (1..=most).contains(&number) {
        return Ok(());
    }
    Err(ClusterError(format!(
        "`{name}` is {number}: it has to be from 1 to {most}"
    )))
}
