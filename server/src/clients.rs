//! Clients of the HTTP port: their addresses, their connections and their share of the server.

pub(crate) mod accept;
pub(crate) mod client;
pub(crate) mod client_session;
pub(crate) mod connection_slots;
pub(crate) mod origin;
pub(crate) mod peeked;
pub(crate) mod write_timeout;
