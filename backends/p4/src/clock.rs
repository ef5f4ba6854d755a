//! The time of the connection's thread.

use std::time::Instant;

/// The current time. The driver's state never reads it.
#[allow(clippy::disallowed_methods, reason = "the connection's thread is a back end's loop")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
