//! Calls that outlive the process: the record of each for the next process, and their continuation
//! there.
//!
//! A call that is encrypted here cannot continue. Its DTLS keys are lost with the process. With
//! SDES keys, sequence numbers would be used twice, since nobody knows the last ones. So such calls
//! are not recorded, and records contain no media keys.

mod record;
mod times;

use std::sync::Arc;

use crate::call::{Call, Media, Security, Side};
pub(crate) use record::CallRecord;
pub(crate) use times::Times;

/// A call that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its name.
    pub call: Arc<[u8]>,
    /// Its record for [`CallController::resume`](crate::CallController::resume), one line of text;
    /// `None` if there is nothing left to continue.
    pub record: Option<String>,
}

/// Whether we encrypt a call, on either side.
pub(crate) fn is_encrypted_here(call: &Call) -> bool {
    call.dialogues
        .iter()
        .any(|dialogue| are_encrypted_here(dialogue.relayed()))
}

/// The same of some media.
pub(crate) fn are_encrypted_here(media: &[Media]) -> bool {
    let is_ours = |side: &Side| !matches!(side.security, Security::Clear);
    media.iter().flat_map(|media| &media.sides).any(is_ours)
}
