//! Publishers: their tracks, and the streams of them that arrive.

pub(in crate::media) mod activity;
pub(in crate::media) mod arrivals;
pub(in crate::media) mod audio;
pub(in crate::media) mod binding;
pub(in crate::media) mod feedback;
pub(in crate::media) mod key_frames;
pub(in crate::media) mod layer_bitrate;
pub(in crate::media) mod nack;
pub(in crate::media) mod nack_upstream;
pub(in crate::media) mod offers;
pub(in crate::media) mod overload;
pub(in crate::media) mod publish;
pub(in crate::media) mod remb_out;
pub(in crate::media) mod up_track;
