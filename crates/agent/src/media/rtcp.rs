//! RTCP that concerns both directions of a transport.

pub(in crate::media) mod feedback_in;
pub(in crate::media) mod quality;
pub(in crate::media) mod reports;
