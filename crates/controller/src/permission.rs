//! What a participant may do.

use livekit_protocol::participant_info::Kind;
use livekit_protocol::{ParticipantPermission, TrackSource};

use crate::livekit::Claims;

/// What a participant may do, with the grant's blanks filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) publish: bool,
    pub(crate) subscribe: bool,
    pub(crate) publish_data: bool,
    /// `None` is all.
    pub(crate) sources: Option<Vec<TrackSource>>,
    pub(crate) update_metadata: bool,
    pub(crate) hidden: bool,
    /// It records: its kind or its grant says so.
    pub(crate) recorder: bool,
    /// It is an agent: its kind or its grant says so.
    pub(crate) agent: bool,
    pub(crate) subscribe_metrics: bool,
    pub(crate) manage_agent_session: bool,
}

impl Permission {
    pub(crate) fn of(claims: &Claims) -> Self {
        let (grant, kind) = (&claims.video, kind(claims));
        let publish = grant.can_publish.unwrap_or(true);
        let sources = &grant.can_publish_sources;
        Self {
            publish,
            subscribe: grant.can_subscribe.unwrap_or(true),
            publish_data: grant.can_publish_data.unwrap_or(publish),
            sources: (!sources.is_empty()).then(|| sources.iter().filter_map(|name| source(name)).collect()),
            update_metadata: grant.can_update_own_metadata.unwrap_or(false),
            hidden: grant.hidden,
            recorder: grant.recorder || kind == Kind::Egress,
            agent: grant.agent || kind == Kind::Agent,
            subscribe_metrics: grant.can_subscribe_metrics.unwrap_or(false),
            manage_agent_session: grant.can_manage_agent_session.unwrap_or(false),
        }
    }

    pub(crate) fn may_publish(&self, from: TrackSource) -> bool {
        self.publish && self.sources.as_ref().is_none_or(|sources| sources.contains(&from))
    }

    pub(crate) fn to_proto(&self) -> ParticipantPermission {
        let sources = self.sources.iter().flatten().map(|source| i32::from(*source));
        ParticipantPermission {
            can_subscribe: self.subscribe,
            can_publish: self.publish,
            can_publish_data: self.publish_data,
            can_publish_sources: sources.collect(),
            hidden: self.hidden,
            recorder: self.recorder,
            can_update_metadata: self.update_metadata,
            agent: self.agent,
            can_subscribe_metrics: self.subscribe_metrics,
            can_manage_agent_session: self.manage_agent_session,
        }
    }
}

/// The kind of participant a token is for: the protocol's name in either case.
pub(crate) fn kind(claims: &Claims) -> Kind {
    Kind::from_str_name(&claims.kind.to_ascii_uppercase()).unwrap_or(Kind::Standard)
}

/// A name nobody knows grants nothing.
fn source(name: &str) -> Option<TrackSource> {
    TrackSource::from_str_name(&name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::livekit::VideoGrant;

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
