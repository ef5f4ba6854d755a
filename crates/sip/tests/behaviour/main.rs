//! Behaviour of the relay towards proxies, phones and networks.

mod captured;
mod changes;
mod codecs;
mod destinations;
mod early;
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
mod proxies;
mod rates;
mod resuming;
mod rtpproxy;
mod sections;
mod statistics;
mod suites;
mod support;
mod undone;
