//! Clients of the HTTP port: their addresses, their connections and their share of the server.

pub mod client;
pub mod client_session;
pub mod guest;
pub mod origin;
pub mod outbox;
pub mod patient;
pub mod places;
