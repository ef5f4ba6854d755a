//! The machines of a cluster, and the connections between them.

pub(crate) mod advertised;
pub(crate) mod certificates;
pub(crate) mod coordinator;
pub(crate) mod counted_store;
pub(crate) mod forward;
pub(crate) mod links;
pub(crate) mod location;
pub(crate) mod membership;
pub(crate) mod node_ids;
mod peer;
pub(crate) mod relays;
pub(crate) mod secrets;
pub(crate) mod southbound;
pub(crate) mod tls;
