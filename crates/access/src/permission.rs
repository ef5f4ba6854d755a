//! The permission of a participant.

use crate::{Claims, ParticipantKind, TrackSource};
use serde::{Deserialize, Serialize};

/// The permission of a participant: the grant with its blanks filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    /// It may publish media.
    pub publish: bool,
    /// It may receive media.
    pub subscribe: bool,
    /// It may send data.
    pub publish_data: bool,
    /// Sources that it may publish; `None` is all.
    pub sources: Option<Vec<TrackSource>>,
    /// It may change its own name, metadata and attributes.
    pub update_metadata: bool,
    /// Others do not see it.
    pub hidden: bool,
    /// It records: its kind or its grant says so.
    pub recorder: bool,
    /// It is an agent: its kind or its grant says so.
    pub agent: bool,
    /// It may receive metrics.
    pub subscribe_metrics: bool,
    /// It may manage the session of an agent.
    pub manage_agent_session: bool,
}

impl Permission {
    /// The permission that a token's claims give.
    pub fn of(claims: &Claims) -> Self {
        let (grant, kind) = (&claims.video, claims.participant_kind());
        let publish = grant.can_publish.unwrap_or(true);
        let sources = &grant.can_publish_sources;
        Self {
            publish,
            subscribe: grant.can_subscribe.unwrap_or(true),
            publish_data: grant.can_publish_data.unwrap_or(publish),
            sources: (!sources.is_empty())
                .then(|| sources.iter().filter_map(|name| TrackSource::from_name(name)).collect()),
            update_metadata: grant.can_update_own_metadata.unwrap_or(false),
            hidden: grant.hidden,
            recorder: grant.recorder || kind == ParticipantKind::Egress,
            agent: grant.agent || kind == ParticipantKind::Agent,
            subscribe_metrics: grant.can_subscribe_metrics.unwrap_or(false),
            manage_agent_session: grant.can_manage_agent_session.unwrap_or(false),
        }
    }

    /// Whether it may publish a track of this source. A source that nobody knows is granted
    /// nothing.
    pub fn may_publish(&self, from: TrackSource) -> bool {
        self.publish && self.sources.as_ref().is_none_or(|sources| sources.contains(&from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VideoGrant;

    fn of(grant: VideoGrant) -> Permission {
        Permission::of(&Claims {
            video: grant,
            ..Claims::default()
        })
    }

    #[test]
    fn blanks_in_a_grant_mean_yes_except_for_ones_own_metadata() {
        let all = of(VideoGrant::default());
        assert!(all.publish && all.subscribe && all.publish_data && !all.update_metadata);
        let quiet = of(VideoGrant {
            can_publish: Some(false),
            ..VideoGrant::default()
        });
        assert!(!quiet.publish && !quiet.publish_data && quiet.subscribe);
    }

    #[test]
    fn listed_sources_are_the_only_ones() {
        let of = |sources: &[&str]| {
            of(VideoGrant {
                can_publish_sources: sources.iter().map(|name| (*name).to_owned()).collect(),
                ..VideoGrant::default()
            })
        };
        let permission = of(&["microphone"]);
        assert!(permission.may_publish(TrackSource::Microphone));
        assert!(!permission.may_publish(TrackSource::Camera) && !permission.may_publish(TrackSource::Unknown));
        assert!(of(&["unknown"]).may_publish(TrackSource::Unknown));
        let nothing = of(&["hologram"]);
        assert!(!nothing.may_publish(TrackSource::Unknown) && !nothing.may_publish(TrackSource::Camera));
    }

    #[test]
    fn agents_and_recorders_are_known_by_kind_or_grant() {
        let of = |kind: &str, agent, recorder| {
            let permission = Permission::of(&Claims {
                kind: kind.to_owned(),
                video: VideoGrant {
                    agent,
                    recorder,
                    ..VideoGrant::default()
                },
                ..Claims::default()
            });
            (permission.agent, permission.recorder)
        };
        assert_eq!(of("agent", false, false), (true, false));
        assert_eq!(of("EGRESS", false, false), (false, true));
        assert_eq!(of("", true, true), (true, true));
        for kind in [
            "",
            "standard",
            "ingress",
            "sip",
            "connector",
            "bridge",
            "something newer",
        ] {
            assert_eq!(of(kind, false, false), (false, false), "{kind}");
        }
    }
}
