//! The media node: the agent and its data plane on a thread, and the ways to reach it.

pub mod handshakes;
pub mod media_thread;
pub mod receiver_query;
pub mod waker;

pub use receiver_query::ReceiverQuery;
