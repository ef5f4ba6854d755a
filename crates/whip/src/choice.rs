//! The tracks that a player gets.

use controller::{ParticipantInfo, ParticipantSnapshot, ParticipantState, TrackInfo};
use serde::{Deserialize, Serialize};
use wire::MediaKind;

/// The tracks that a player asks for. The default is any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    /// Those of this participant, by its identity.
    pub(crate) participant: Option<String>,
    /// These, by their ids or by their names; empty for any.
    pub(crate) tracks: Vec<String>,
}

impl Wanted {
    /// Whether tracks of this participant are meant.
    pub(crate) fn is_of(&self, info: &ParticipantInfo) -> bool {
        let identity = self.participant.as_ref();
        identity.is_none_or(|identity| *identity == info.identity)
    }
}

/// The number of tracks of each kind that a player has media sections for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slots {
    pub(crate) audios: usize,
    pub(crate) videos: usize,
}

/// The ids of the tracks that a player gets of the participants of its room. Tracks that it has
/// (`current`) stay; then participants with video come first, in the order they joined.
pub(crate) fn choose(room: &[ParticipantSnapshot], wanted: &Wanted, current: &[String], slots: Slots) -> Vec<String> {
    let is_meant = |info: &&ParticipantSnapshot| {
        let is_there = !info.permission.hidden && info.state != ParticipantState::Disconnected;
        is_there && wanted.is_of(info)
    };
    let mut participants: Vec<_> = room.iter().filter(is_meant).collect();
    participants.sort_by_key(|info| !info.tracks.iter().any(|track| track.kind == MediaKind::Video));
    let is_wanted = |track: &&TrackInfo| {
        let mut names = wanted.tracks.iter();
        wanted.tracks.is_empty() || names.any(|name| *name == track.sid || *name == track.name)
    };
    let mut tracks: Vec<_> = participants
        .iter()
        .flat_map(|info| &info.tracks)
        .filter(is_wanted)
        .collect();
    tracks.sort_by_key(|track| !current.contains(&track.sid));
    let mut left = slots;
    let mut take = |track: &&TrackInfo| {
        let left = match track.kind {
            MediaKind::Audio => &mut left.audios,
            MediaKind::Video => &mut left.videos,
        };
        let is_taken = *left > 0;
        *left -= usize::from(is_taken);
        is_taken
    };
    let mut taken = Vec::new();
    for track in tracks {
        if take(&track) {
            taken.push(track.sid.clone());
        }
    }
    taken
}

/// The publishers of these tracks, by the ids of the participants.
pub(crate) fn publishers(room: &[ParticipantSnapshot], chosen: &[String]) -> Vec<String> {
    let publishes = |info: &&ParticipantSnapshot| info.tracks.iter().any(|track| chosen.contains(&track.sid));
    room.iter().filter(publishes).map(|info| info.sid.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use access::{Claims, Permission};
    use controller::{BackupCodecPolicy, Encryption, ParticipantKind, TrackSource};

    use super::*;

    const ONE_EACH: Slots = Slots { audios: 1, videos: 1 };

    fn track(sid: &str, kind: MediaKind) -> TrackInfo {
        TrackInfo {
            sid: sid.to_owned(),
            kind,
            name: format!("name of {sid}"),
            muted: false,
            width: 0,
            height: 0,
            simulcast: false,
            disable_dtx: false,
            source: TrackSource::Unknown,
            layers: Vec::new(),
            mime_type: String::new(),
            mid: String::new(),
            codecs: Vec::new(),
            stereo: false,
            disable_red: false,
            encryption: Encryption::None,
            stream: String::new(),
            audio_features: Vec::new(),
            backup_codec_policy: BackupCodecPolicy::default(),
            packet_trailer_features: Vec::new(),
        }
    }

    fn participant(identity: &str, tracks: &[(&str, MediaKind)]) -> ParticipantInfo {
        ParticipantInfo {
            sid: format!("PA_{identity}"),
            identity: identity.to_owned(),
            state: ParticipantState::Active,
            tracks: tracks.iter().map(|(sid, kind)| track(sid, *kind)).collect(),
            data_tracks: Vec::new(),
            metadata: String::new(),
            joined: Duration::ZERO,
            name: String::new(),
            version: 1,
            permission: Permission::of(&Claims::default()),
            is_publisher: true,
            kind: ParticipantKind::Standard,
            kind_details: Vec::new(),
            attributes: BTreeMap::new(),
            client_protocol: 0,
            capabilities: Vec::new(),
            disconnect_reason: None,
        }
    }

    fn room() -> Vec<ParticipantSnapshot> {
        vec![
            participant("ada", &[("a1", MediaKind::Audio)]).into(),
            participant("ben", &[("b1", MediaKind::Audio), ("b2", MediaKind::Video)]).into(),
            participant("cyd", &[("c1", MediaKind::Audio), ("c2", MediaKind::Video)]).into(),
        ]
    }

    #[test]
    fn a_player_gets_one_participant_as_far_as_it_has_sections() {
        let any = Wanted::default();
        assert_eq!(
            choose(&room(), &any, &[], ONE_EACH),
            ["b1", "b2"],
            "the first with video"
        );
        let many = Slots { audios: 3, videos: 1 };
        assert_eq!(choose(&room(), &any, &[], many), ["b1", "b2", "c1", "a1"]);
        assert!(choose(&room(), &any, &[], Slots::default()).is_empty());
        let cyd = Wanted {
            participant: Some("cyd".to_owned()),
            ..Wanted::default()
        };
        let chosen = choose(&room(), &cyd, &[], ONE_EACH);
        assert_eq!(chosen, ["c1", "c2"]);
        assert_eq!(publishers(&room(), &chosen), ["PA_cyd"]);
    }

    #[test]
    fn tracks_are_named_by_id_or_name() {
        let wanted = Wanted {
            tracks: vec!["c2".to_owned(), "name of a1".to_owned()],
            ..Wanted::default()
        };
        assert_eq!(choose(&room(), &wanted, &[], ONE_EACH), ["c2", "a1"]);
    }

    #[test]
    fn tracks_stay_while_they_are_there() {
        let current = ["c1".to_owned(), "c2".to_owned(), "gone".to_owned()];
        assert_eq!(choose(&room(), &Wanted::default(), &current, ONE_EACH), ["c1", "c2"]);
    }

    #[test]
    fn hidden_participants_are_not_played() {
        let mut room = room();
        let mut hidden = (*room[1]).clone();
        hidden.permission.hidden = true;
        room[1] = hidden.into();
        assert_eq!(choose(&room, &Wanted::default(), &[], ONE_EACH), ["c1", "c2"]);
    }
}
