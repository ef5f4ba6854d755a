//! The limits of a layer.

use std::time::Duration;

/// How long an offload may take to answer a write. After that the write counts as refused
/// ([`Gone`](dataplane::Refused::Gone)): the entry is withdrawn from the offload and runs in the
/// base, or in the next offload. An answer that arrives later has no effect. While a take-over is
/// not answered, nobody sends its replica, so this is also the longest silence of a receiver
/// through an offload that does not answer.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(2);

/// A relay that an offload refused as [`Gone`](dataplane::Refused::Gone) is offered again after so
/// long, or once the offload answers.
pub(crate) const AGAIN: Duration = Duration::from_secs(1);
