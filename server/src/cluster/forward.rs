//! Requests for rooms that another controller serves, over TLS between the two.
//!
//! [`Forwarder`] finds the controller, sends it a request and returns its answer. [`serve`] takes
//! the connections of other controllers. A connection carries HTTP/1.1, one request at a time, and
//! becomes that of a WebSocket where the answer is an upgrade.

mod accept;
mod connection;
mod forwarder;
mod head;
mod places;
mod pool;
mod splice;
#[cfg(test)]
mod tests;

pub(crate) use accept::{Accepted, serve};
pub(crate) use forwarder::{ForwardRequest, Forwarder, Outcome};
pub(crate) use head::{ClientLink, mark_elsewhere, take_region};
pub(crate) use splice::Splice;
