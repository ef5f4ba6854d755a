//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The meaning of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    /// End (SIGTERM, SIGINT).
    End,
    /// Read the configuration again (SIGHUP).
    Reload,
}

/// The signals that are listened to, from when this is made.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::End,
            _ = self.interrupt.recv() => SignalRequest::End,
            _ = self.hang_up.recv() => SignalRequest::Reload,
        }
    }
}
