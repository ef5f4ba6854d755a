//! What proxies, phones and networks do, and what the relay makes of it.

mod captured;
mod changes;
mod codecs;
mod garbage;
mod histories;
mod holds;
mod ice;
mod keys;
mod learning;
mod lifetime;
mod node;
mod offers;
mod osrtp;
mod resuming;
mod rtpproxy;
mod sections;
mod statistics;
mod suites;
mod support;
mod undone;
