//! The connections between controllers and media nodes.
//!
//! The node listens ([`node`]), and controllers connect ([`controller`]). Messages are those of
//! `southbound`, in the form of `southbound-wire`.

pub(crate) mod controller;
pub(crate) mod node;
#[cfg(test)]
mod tests;

use std::time::Duration;

/// How often each end asks the other one for a sign of life.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(1);

/// How long the other end may be silent after that.
const KEEP_ALIVE_MAX: Duration = Duration::from_secs(3);

/// How long a handshake or a hello may take.
const HELLO_MAX: Duration = Duration::from_secs(5);

/// Bytes that may be on their way in one direction before they are read.
const WINDOW: u32 = 1 << 20;
