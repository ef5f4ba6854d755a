//! The agent with the model as its data plane and scripted peers, in virtual time.

mod connecting;
mod data;
mod histories;
mod hostile;
mod packets;
mod peer;
mod plane;
mod receiving;
mod sending;
mod world;
