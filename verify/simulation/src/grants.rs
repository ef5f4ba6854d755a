//! The grants of a person.

use livekit_protocol::TrackSource;
use rand::Rng;
use rand::rngs::StdRng;

/// Grants of a token.
#[derive(Clone, Debug)]
pub(crate) struct Grants {
    pub(crate) room: &'static str,
    pub(crate) publish: bool,
    /// Whether a microphone is all it may publish.
    pub(crate) only_microphone: bool,
    pub(crate) subscribe: bool,
    pub(crate) publish_data: bool,
    pub(crate) update_metadata: bool,
    pub(crate) hidden: bool,
}

impl Grants {
    /// Most people may do everything in the same room.
    pub(crate) fn random(rng: &mut StdRng) -> Self {
        Self {
            room: if rng.random_bool(0.9) { "hall" } else { "cellar" },
            publish: rng.random_bool(0.92),
            only_microphone: rng.random_bool(0.08),
            subscribe: rng.random_bool(0.92),
            publish_data: rng.random_bool(0.9),
            update_metadata: rng.random_bool(0.7),
            hidden: rng.random_bool(0.06),
        }
    }

    pub(crate) fn may_publish(&self, source: TrackSource) -> bool {
        self.publish && (!self.only_microphone || source == TrackSource::Microphone)
    }
}
