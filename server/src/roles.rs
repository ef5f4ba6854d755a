//! The roles of the program, each of which starts alone: [`media`] forwards packets, [`rooms`]
//! decides, [`sip`] relays calls of proxies and [`edge`] is reached over HTTP.
//!
//! A role is given its configuration and what it needs of others, and returns what others need of
//! it. None knows how the others were started.

pub(crate) mod controllers;
pub(crate) mod coordination;
pub(crate) mod edge;
pub(crate) mod http_ports;
pub(crate) mod media;
mod reach;
pub(crate) mod rooms;
pub(crate) mod sip;
#[cfg(test)]
mod tests;

use std::error::Error;

use crate::metrics::Metrics;
use crate::os::clock::Clocks;

/// The common parts of all roles of a process.
pub(crate) struct Process {
    /// The clocks, read at the start.
    pub clocks: Clocks,
    /// The measurements.
    pub metrics: Metrics,
}

/// Random bytes.
///
/// Errors: the operating system has none.
fn seed<const N: usize>() -> Result<[u8; N], Box<dyn Error>> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the operating system gives no randomness: {error}"))?;
    Ok(bytes)
}
