//! The media node: the agent and its data plane on a thread, and the ways to reach it.

pub(crate) mod addresses;
pub(crate) mod command_queue;
mod controllers;
pub(crate) mod external;
pub(crate) mod fenced;
pub(crate) mod handshakes;
pub(crate) mod links;
pub(crate) mod media_thread;
pub(crate) mod node_link;
pub(crate) mod receiver_query;
pub(crate) mod waker;

pub(crate) use receiver_query::ReceiverQuery;
