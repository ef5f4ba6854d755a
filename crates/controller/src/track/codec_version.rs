//! The codecs of one track.

use serde::{Deserialize, Serialize};

/// Which of a track's codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Version {
    Primary,
    Backup,
}
