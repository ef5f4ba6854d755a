//! The data channels that clients know, by their labels.

use std::sync::Arc;

use southbound::Channel;

/// Label of the channel whose messages arrive, in order.
pub const RELIABLE: &str = "_reliable";
/// Label of the channel whose messages may be lost.
pub const LOSSY: &str = "_lossy";
/// Label of the channel of data tracks, whose packets may be lost.
pub const DATA_TRACK: &str = "_data_track";

/// The channel of a label, as LiveKit's clients open it too.
pub(in crate::room) fn channel(label: &str) -> Channel {
    let arrives = label == RELIABLE;
    Channel {
        label: Arc::from(label),
        ordered: arrives,
        retransmits_max: (!arrives).then_some(0),
        stream: None,
    }
}
