//! Participants of any kind.

use std::time::Duration;

use access::{AgentGrant, Claims, Permission, TrackSource, VideoGrant};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use wire::{Codec, MediaKind, Mid};

use super::peers::{peer, peer_values};
use crate::own_data::EndpointPlace;
use crate::saved::*;
use crate::track::Version;
use crate::{
    AudioFeature, CodecInfo, DataTrackInfo, LayerMode, TrackPermission, TrackSettings, VideoLayer, VideoQuality,
};

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 \"\\\\é:/]{0,12}"
}

pub(super) fn name() -> impl Strategy<Value = String> {
    "[a-z]{1,8}"
}

pub(super) fn kind() -> impl Strategy<Value = MediaKind> {
    select(vec![MediaKind::Audio, MediaKind::Video])
}

pub(super) fn codec() -> impl Strategy<Value = Codec> {
    select(Codec::ALL.to_vec())
}

fn quality() -> impl Strategy<Value = VideoQuality> {
    select(vec![VideoQuality::Low, VideoQuality::Medium, VideoQuality::High])
}

fn info(at: u64) -> impl Strategy<Value = TrackInfo> {
    let layers = vec((quality(), 1..2000_u32, text()), 0..3);
    let features = select(vec![vec![], vec![AudioFeature::Stereo, AudioFeature::NoDtx]]);
    (kind(), text(), any::<[bool; 5]>(), layers, features).prop_map(move |(kind, text, flags, layers, features)| {
        let layer = |(quality, width, rid)| VideoLayer {
            quality,
            width,
            height: width / 2,
            rid,
            ..VideoLayer::default()
        };
        let layers: Vec<_> = layers.into_iter().map(layer).collect();
        TrackInfo {
            sid: format!("TR_{at}"),
            kind,
            name: text.clone(),
            muted: flags[0],
            width: 1280,
            height: 720,
            simulcast: flags[1],
            disable_dtx: flags[2],
            source: TrackSource::ScreenShare,
            layers: layers.clone(),
            mime_type: format!("{kind}/VP8"),
            mid: at.to_string(),
            codecs: vec![CodecInfo {
                mime_type: text.clone(),
                layers,
                video_layer_mode: LayerMode::OneSpatialLayerPerStream,
                ..CodecInfo::default()
            }],
            stereo: flags[3],
            disable_red: flags[4],
            encryption: crate::Encryption::Gcm,
            stream: text,
            audio_features: features,
            backup_codec_policy: crate::BackupCodecPolicy::Simulcast,
            packet_trailer_features: vec![crate::PacketTrailerFeature::FrameId],
        }
    })
}

fn track(at: u64) -> impl Strategy<Value = SavedTrack> {
    let backup = option::of((codec(), option::of(text()), any::<bool>()));
    let demand = (option::of(quality()), option::of(quality()));
    (info(at), text(), any::<[bool; 2]>(), backup, demand).prop_map(move |(info, cid, flags, backup, demand)| {
        let backup = backup.map(|(codec, cid, has_arrived)| SavedBackup {
            id: 2 * at + 1,
            codec,
            cid,
            has_arrived,
        });
        SavedTrack {
            id: 2 * at,
            info,
            cid,
            has_arrived: flags[0],
            backup,
            subscribed: flags[1],
            demand: Demand {
                primary: demand.0,
                backup: demand.1,
            },
        }
    })
}

fn subscription(at: u64) -> impl Strategy<Value = SavedSubscription> {
    let mid = || (0..200_u32).prop_map(|number| Mid::new(&number.to_string()).expect("a number is a token"));
    let state = prop_oneof![
        Just(SubscriptionState::Waiting),
        mid().prop_map(SubscriptionState::Offered),
        mid().prop_map(SubscriptionState::Awaiting),
        mid().prop_map(|mid| SubscriptionState::Active(mid, Version::Backup)),
    ];
    let settings = (any::<bool>(), any::<[u16; 2]>(), quality()).prop_map(|(disabled, [width, fps], quality)| {
        Settings::from_request(&TrackSettings {
            disabled,
            quality,
            width: width.into(),
            height: width.into(),
            fps: fps.into(),
            priority: 3,
            ..TrackSettings::default()
        })
    });
    (kind(), state, settings, any::<bool>()).prop_map(move |(kind, state, settings, paused)| SavedSubscription {
        id: at,
        track: 500 + at,
        kind,
        settings,
        state,
        paused,
    })
}

fn permissions() -> impl Strategy<Value = TrackPermissions> {
    let only = btree_map(name(), option::of(btree_set(name(), 0..3)), 0..3);
    prop_oneof![Just(TrackPermissions::Everybody), only.prop_map(TrackPermissions::Only)]
}

fn data_tracks() -> impl Strategy<Value = OwnDataTracks> {
    let info = text().prop_map(|name| DataTrackInfo {
        handle: 1,
        sid: "DTR_1".to_owned(),
        name,
        encryption: crate::Encryption::None,
        encoding: Some(crate::DataEncoding::Custom("json".to_owned())),
        schema: Some(crate::DataSchema {
            name: "pose".to_owned(),
            encoding: crate::DataEncoding::WellKnown(3),
        }),
    });
    (any::<bool>(), btree_map(any::<u16>(), (any::<u16>(), info), 0..3)).prop_map(|(wants_all, published)| {
        let mut tracks = OwnDataTracks::new(wants_all);
        tracks.published = published;
        tracks
    })
}

fn claims() -> impl Strategy<Value = Claims> {
    (name(), option::of(any::<bool>()), option::of(any::<u32>())).prop_map(|(identity, can_publish, exp)| Claims {
        iss: "devkey".to_owned(),
        sub: identity,
        exp: exp.map(u64::from),
        kind_details: vec!["cloud_agent".to_owned()],
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            can_publish,
            can_publish_sources: vec!["camera".to_owned()],
            ..VideoGrant::default()
        },
        agent: Some(AgentGrant::default()),
        room_config: serde_json::from_str(r#"{"name": "set-up", "limits": [1, 2]}"#).ok(),
        ..Claims::default()
    })
}

prop_compose! {
    pub(super) fn participant()(
        texts in (text(), text(), btree_map(name(), text(), 0..3)),
        claims in claims(),
        numbers in any::<[u32; 4]>(),
        flags in any::<[bool; 5]>(),
        state in select(vec![ParticipantState::Joining, ParticipantState::Joined, ParticipantState::Active]),
        publisher in peer_values(),
        subscriber in option::of(peer_values()),
        tracks in (track(1), track(2), track(3)),
        subscriptions in (subscription(1), subscription(2)),
        permissions in permissions(),
        wishes in btree_map(name(), any::<bool>(), 0..4),
        denied in btree_set(any::<u64>(), 0..4),
        data_tracks in data_tracks(),
        blobs in btree_map(name(), vec(any::<u8>(), 0..40), 0..3),
    ) -> SavedParticipant {
        let tracks = vec![tracks.0, tracks.1, tracks.2];
        SavedParticipant {
            sid: "PA_ada".to_owned(),
            identity: claims.sub.clone(),
            name: texts.0,
            metadata: texts.1,
            attributes: texts.2,
            state,
            joined: Duration::new(1_800_000_000, numbers[0] % 1_000_000_000),
            version: numbers[1],
            permission: Permission::of(&claims),
            api_key: claims.iss.clone(),
            claims,
            traits: ClientTraits {
                plays_streams_in_step: flags[0],
                capabilities: vec![crate::ClientCapability::PacketTrailer],
                ..ClientTraits::default()
            },
            protocol: IceProtocol::Tcp,
            port_index: 3,
            node: numbers[2].into(),
            mode: if subscriber.is_some() { PeerMode::Dual } else { PeerMode::Single },
            publisher: Some(peer(1, publisher, &tracks)),
            subscriber: subscriber.map(|values| peer(2, values, &[])),
            tracks,
            has_published: flags[1],
            // One that is not for everybody has been stated.
            track_permissions_stated: flags[2] || permissions != TrackPermissions::Everybody,
            track_permissions: permissions,
            postponed_track_permissions: flags[3].then(|| UpdateTrackPermissions {
                all_participants: false,
                permissions: vec![TrackPermission {
                    participant_identity: "bob".to_owned(),
                    ..TrackPermission::default()
                }],
            }),
            auto_subscribe: flags[4],
            wishes,
            denied,
            subscriptions: vec![subscriptions.0, subscriptions.1],
            data_tracks,
            blobs: blobs.into_iter().map(|(name, contents)| (BlobKey::Generic(name), contents)).collect(),
            last_sequence: numbers[3],
            endpoint: EndpointPlace {
                transport: numbers[0].into(),
                number: numbers[1].into(),
            },
        }
    }
}
