//! The commands for operators that are no part of a running server. Each module has the arguments
//! of its commands and what they do.

pub(crate) mod calls;
mod client;
mod control;
pub(crate) mod doctor;
pub(crate) mod explain;
mod output;
pub(crate) mod participants;
pub(crate) mod refusal;
pub(crate) mod rooms;
mod server;
pub(crate) mod signer;
mod table;
mod terminal;
pub(crate) mod token;
mod views;
