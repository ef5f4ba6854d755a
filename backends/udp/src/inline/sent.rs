//! The datagrams that were sent without sockets.

use std::sync::{Arc, Mutex, PoisonError};

use dataplane::Egress;

use crate::shard::{Run, Transmit};

/// The sent datagrams.
#[derive(Clone, Default)]
pub(crate) struct Sent(Arc<Mutex<Vec<Egress>>>);

impl Sent {
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Vec<Egress>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Transmit for Sent {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        for run in runs {
            let datagrams = run.datagrams().map(|datagram| Egress {
                leg: run.leg,
                path: run.path,
                bytes: datagram.to_vec(),
            });
            self.with(|sent| sent.extend(datagrams));
        }
        0
    }
}
