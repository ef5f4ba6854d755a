//! Receivers: their subscriptions, and what is sent of each.

pub(in crate::media) mod deferred_rtx;
pub(in crate::media) mod down_track;
pub(in crate::media) mod filling;
pub(in crate::media) mod playout;
pub(in crate::media) mod rtx;
pub(in crate::media) mod select;
pub(in crate::media) mod stale_rtx;
pub(in crate::media) mod subscribe;
