//! The agent with the model as its data plane and scripted peers, in virtual time.

mod adapting;
mod capabilities;
mod connecting;
mod data;
mod downlink;
mod filling;
mod forged;
mod handshakes;
mod histories;
mod hostile;
mod limited;
mod lying;
mod moving;
mod observations;
mod overload;
mod packets;
mod peer;
mod playout;
mod proxied;
mod receiving;
mod relays;
mod reliable;
mod sending;
mod ssrcs;
mod world;
