//! The labels of data channels, which clients know.

/// Label of the channel whose messages arrive, in order.
pub const RELIABLE: &str = "_reliable";
/// Label of the channel whose messages may be lost.
pub const LOSSY: &str = "_lossy";
/// Label of the channel of data tracks, whose packets may be lost.
pub const DATA_TRACK: &str = "_data_track";
