//! What proxies, phones and networks do, and what the relay makes of it.

mod captured;
mod garbage;
mod histories;
mod keys;
mod learning;
mod lifetime;
mod node;
mod offers;
mod resuming;
mod rtpproxy;
mod statistics;
mod support;
