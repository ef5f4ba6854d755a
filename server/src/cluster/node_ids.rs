//! Ids of media nodes that belong to the names in their certificates.
//!
//! A node takes another id each time it starts, and tells it to others. Half of it follows from the
//! name in the node's certificate, so no other certificate can say it: a node that has heard the id
//! of another one cannot say it first and keep that one out.

use sha2::{Digest as _, Sha256};
use southbound::NodeId;

/// An id of the node with this name.
pub(crate) fn new(name: &str, random: u32) -> NodeId {
    NodeId(u64::from(of_name(name)) << 32 | u64::from(random))
}

/// Whether an id is one of the node with this name. Nodes from before version 4 of the protocol
/// take ids of no name.
pub(crate) fn is_of(id: NodeId, name: &str) -> bool {
    id.0 >> 32 == u64::from(of_name(name))
}

fn of_name(name: &str) -> u32 {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(name));
    u32::from_be_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_of_one_name_and_of_one_start() {
        let id = new("media-1", 7);
        assert!(is_of(id, "media-1") && !is_of(id, "media-2"));
        assert_ne!(id, new("media-1", 8));
    }
}
