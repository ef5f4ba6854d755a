//! What a participant may do.

use livekit_protocol::{ParticipantPermission, TrackSource};

use crate::livekit::VideoGrant;

/// What a participant may do, with the grant's blanks filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) publish: bool,
    pub(crate) subscribe: bool,
    pub(crate) publish_data: bool,
    /// Empty is all.
    pub(crate) sources: Vec<TrackSource>,
    pub(crate) update_metadata: bool,
    pub(crate) hidden: bool,
    pub(crate) recorder: bool,
    pub(crate) agent: bool,
}

impl Permission {
    pub(crate) fn of(grant: &VideoGrant) -> Self {
        let publish = grant.can_publish.unwrap_or(true);
        let sources = grant.can_publish_sources.iter().map(|name| source(name));
        Self {
            publish,
            subscribe: grant.can_subscribe.unwrap_or(true),
            publish_data: grant.can_publish_data.unwrap_or(publish),
            sources: sources.collect(),
            update_metadata: grant.can_update_own_metadata.unwrap_or(false),
            hidden: grant.hidden,
            recorder: grant.recorder,
            agent: grant.agent,
        }
    }

    pub(crate) fn may_publish(&self, from: TrackSource) -> bool {
        self.publish && (self.sources.is_empty() || self.sources.contains(&from))
    }

    pub(crate) fn to_proto(&self) -> ParticipantPermission {
        ParticipantPermission {
            can_subscribe: self.subscribe,
            can_publish: self.publish,
            can_publish_data: self.publish_data,
            can_publish_sources: self.sources.iter().map(|source| i32::from(*source)).collect(),
            hidden: self.hidden,
            can_update_metadata: self.update_metadata,
            ..ParticipantPermission::default()
        }
    }
}

/// A name nobody knows grants a source nobody has, not everything.
fn source(name: &str) -> TrackSource {
    match name.to_ascii_lowercase().as_str() {
        "camera" => TrackSource::Camera,
        "microphone" => TrackSource::Microphone,
        "screen_share" => TrackSource::ScreenShare,
        "screen_share_audio" => TrackSource::ScreenShareAudio,
        _ => TrackSource::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_in_a_grant_mean_yes_except_for_ones_own_metadata() {
        let all = Permission::of(&VideoGrant::default());
        assert!(all.publish && all.subscribe && all.publish_data && !all.update_metadata);
        let quiet = Permission::of(&VideoGrant {
            can_publish: Some(false),
            ..VideoGrant::default()
        });
        assert!(!quiet.publish && !quiet.publish_data && quiet.subscribe);
    }

    #[test]
    fn listed_sources_are_the_only_ones() {
        let grant = VideoGrant {
            can_publish_sources: vec!["microphone".to_owned()],
            ..VideoGrant::default()
        };
        let permission = Permission::of(&grant);
        assert!(permission.may_publish(TrackSource::Microphone));
        assert!(!permission.may_publish(TrackSource::Camera) && !permission.may_publish(TrackSource::Unknown));
    }
}
