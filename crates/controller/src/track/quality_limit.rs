//! The quality beyond which a receiver of a video gains nothing.

use serde::{Deserialize, Serialize};

use crate::VideoQuality;

/// How good is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Limit {
    #[default]
    None,
    Quality(VideoQuality),
    /// The size it is shown at, in pixels.
    Size {
        width: u32,
        height: u32,
    },
}
