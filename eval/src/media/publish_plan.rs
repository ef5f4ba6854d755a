//! The plan of what a participant publishes.

use serde::{Deserialize, Serialize};

use super::schedule::VideoPlan;

/// The media that a participant publishes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishPlan {
    /// The camera, if it has one.
    pub video: Option<VideoPlan>,
    /// Whether the camera's video has three temporal layers.
    pub layered: bool,
    /// Whether the camera's packets are sent in small bursts, as libwebrtc's are, instead of a
    /// frame at once.
    pub paced: bool,
    /// Whether it has a microphone.
    pub audio: bool,
}
