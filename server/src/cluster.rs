//! The machines of a cluster, and the connections between them.

pub(crate) mod certificates;
pub(crate) mod southbound;
pub(crate) mod tls;
