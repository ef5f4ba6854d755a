//! The clock of workers.

use std::time::Instant;

/// The only place in this crate where time is read: once a batch, because packets of one batch
/// arrived together.
#[allow(clippy::disallowed_methods, reason = "a worker reads the clock once a batch")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
