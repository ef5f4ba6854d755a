//! One signalling connection.

use crate::context::ParticipantRef;

/// One signalling connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its participant.
    pub(crate) participant_ref: ParticipantRef,
}
