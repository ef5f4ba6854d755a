//! A client's messages cost the others a bounded number of bytes, whatever they hold and however
//! many there are.

use std::time::Duration;

use controller::Counter;
use controller::PeerMode::Single;
use livekit::Frame;
use livekit_protocol::data_track_frame_encoding::Value::Custom;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    AddTrackRequest, DataBlob, DataBlobKey, DataChannelInfo, DataChannelReceiveState, DataTrackFrameEncoding,
    GetDataBlobRequest, LeaveRequest, MuteTrackRequest, ParticipantTracks, PublishDataTrackRequest, RegionInfo,
    RegionSettings, SessionDescription, SimulcastCodec, StoreDataBlobRequest, SubscriptionPermission, SyncState,
    TrackInfo, TrackPermission, TrackPublishedResponse, TrackSource, TrickleRequest, UpdateDataSubscription,
    UpdateLocalAudioTrack, UpdateLocalVideoTrack, UpdateParticipantMetadata, UpdateSubscription, UpdateTrackSettings,
    UpdateVideoLayers, VideoLayer, data_blob_key, update_data_subscription,
};
use wire::MediaKind;

use crate::world::{Client, World, add_track, claims};

/// The most that a bystander may be sent at once about one participant with every field full.
const LONGEST: usize = 512 << 10;
/// The rate at which it may be sent news of one participant.
const BURST: usize = 1 << 20;
const PER_SECOND: usize = 128 << 10;

fn long() -> String {
    "x".repeat(400_000)
}

fn ids() -> Vec<String> {
    vec!["x".to_owned(); 4_000]
}

fn one_long_id() -> Vec<String> {
    vec![long()]
}

/// Requests for a track, each with one field out of all proportion.
fn tracks() -> Vec<(&'static str, AddTrackRequest)> {
    let track = |kind, change: &dyn Fn(&mut AddTrackRequest)| {
        let source = if kind == MediaKind::Video {
            TrackSource::Camera
        } else {
            TrackSource::Microphone
        };
        let mut request = add_track(kind, source, "fat");
        change(&mut request);
        request
    };
    let (audio, video) = (MediaKind::Audio, MediaKind::Video);
    let layer = |rid| VideoLayer {
        rid,
        ..VideoLayer::default()
    };
    let codec = |cid, layers| SimulcastCodec {
        codec: "vp8".to_owned(),
        cid,
        layers,
        ..SimulcastCodec::default()
    };
    vec![
        ("cid", track(audio, &|it| it.cid = long())),
        ("name", track(audio, &|it| it.name = long())),
        ("stream", track(audio, &|it| it.stream = long())),
        ("sid", track(audio, &|it| it.sid = long())),
        (
            "audio features",
            track(audio, &|it| it.audio_features = vec![1; 400_000]),
        ),
        (
            "trailer features",
            track(video, &|it| it.packet_trailer_features = vec![1; 400_000]),
        ),
        (
            "layers",
            track(video, &|it| it.layers = vec![layer(String::new()); 4_000]),
        ),
        ("rid", track(video, &|it| it.layers[0].rid = long())),
        (
            "codecs",
            track(video, &|it| {
                it.simulcast_codecs = vec![codec(String::new(), vec![]); 4_000]
            }),
        ),
        (
            "codec's cid",
            track(video, &|it| it.simulcast_codecs = vec![codec(long(), vec![])]),
        ),
        (
            "codec's layers",
            track(video, &|it| {
                it.simulcast_codecs = vec![codec("fat".to_owned(), vec![layer(String::new()); 4_000])]
            }),
        ),
        (
            "codec's rid",
            track(video, &|it| {
                it.simulcast_codecs = vec![codec("fat".to_owned(), vec![layer(long())])]
            }),
        ),
        (
            "codec",
            track(video, &|it| {
                it.simulcast_codecs = vec![SimulcastCodec {
                    codec: long(),
                    ..codec("fat".to_owned(), vec![])
                }]
            }),
        ),
        (
            "values without a name",
            track(video, &|it| {
                (it.source, it.encryption, it.backup_codec_policy) = (99, 99, 99);
                (it.audio_features, it.layers[0].quality) = (vec![0, 99, 1, 1], 99);
            }),
        ),
    ]
}

/// One of every message there is but descriptions, which are read and not passed on, each with one
/// field out of all proportion. Lists are short enough for the count of values before decoding.
fn messages(sid: &str) -> Vec<Said> {
    let sid = || sid.to_owned();
    let description = |sdp, ids: Vec<String>| SessionDescription {
        r#type: "offer".to_owned(),
        sdp,
        id: 1,
        mid_to_track_id: ids.into_iter().map(|id| (id.clone(), id)).collect(),
    };
    let metadata = |metadata, name, value| {
        Said::UpdateMetadata(UpdateParticipantMetadata {
            metadata,
            name,
            attributes: [("key".to_owned(), value)].into(),
            request_id: 1,
        })
    };
    let subscription = |track_sids, listed| UpdateSubscription {
        track_sids,
        subscribe: true,
        participant_tracks: vec![ParticipantTracks {
            participant_sid: String::new(),
            track_sids: listed,
        }],
    };
    let permission = |track_sids, participant_identity| TrackPermission {
        track_sids,
        participant_identity,
        ..TrackPermission::default()
    };
    let permissions = |track_permissions| {
        Said::SubscriptionPermission(SubscriptionPermission {
            all_participants: false,
            track_permissions,
        })
    };
    let sync = |state| Said::SyncState(state);
    let track = TrackInfo {
        sid: sid(),
        name: long(),
        ..TrackInfo::default()
    };
    let published = TrackPublishedResponse {
        cid: String::new(),
        track: Some(track),
    };
    let data_track = |name, encoding| {
        Said::PublishDataTrackRequest(PublishDataTrackRequest {
            name,
            frame_encoding: Some(DataTrackFrameEncoding {
                value: Some(Custom(encoding)),
            }),
            ..PublishDataTrackRequest::default()
        })
    };
    let key = || {
        Some(DataBlobKey {
            key: Some(data_blob_key::Key::Generic(long())),
        })
    };
    let none = String::new;
    let mut messages: Vec<_> = tracks()
        .into_iter()
        .map(|(_, request)| Said::AddTrack(request))
        .collect();
    messages.extend([
        Said::Trickle(TrickleRequest {
            candidate_init: long(),
            ..TrickleRequest::default()
        }),
        Said::Mute(MuteTrackRequest {
            sid: long(),
            muted: true,
        }),
        Said::Subscription(subscription(ids(), vec![])),
        Said::Subscription(subscription(one_long_id(), vec![])),
        Said::Subscription(subscription(vec![], ids())),
        Said::TrackSetting(UpdateTrackSettings {
            track_sids: ids(),
            ..UpdateTrackSettings::default()
        }),
        Said::UpdateLayers(UpdateVideoLayers {
            track_sid: sid(),
            layers: vec![VideoLayer {
                rid: long(),
                ..VideoLayer::default()
            }],
        }),
        Said::UpdateLayers(UpdateVideoLayers {
            track_sid: sid(),
            layers: vec![VideoLayer::default(); 4_000],
        }),
        permissions(vec![permission(ids(), "bob".to_owned())]),
        permissions(vec![permission(vec![], long())]),
        permissions(vec![permission(vec![], none()); 4_000]),
        metadata(long(), none(), none()),
        metadata(none(), long(), none()),
        metadata(none(), none(), long()),
        Said::UpdateAudioTrack(UpdateLocalAudioTrack {
            track_sid: sid(),
            features: [1, 2, 99].repeat(100_000),
        }),
        Said::UpdateVideoTrack(UpdateLocalVideoTrack {
            track_sid: long(),
            ..UpdateLocalVideoTrack::default()
        }),
        data_track(long(), none()),
        data_track(none(), long()),
        Said::UpdateDataSubscription(UpdateDataSubscription {
            updates: vec![update_data_subscription::Update::default(); 4_000],
        }),
        Said::StoreDataBlobRequest(StoreDataBlobRequest {
            request_id: 1,
            blob: Some(DataBlob {
                key: key(),
                contents: vec![0; 400_000],
            }),
        }),
        Said::GetDataBlobRequest(GetDataBlobRequest {
            request_id: 1,
            participant_identity: none(),
            key: key(),
        }),
        sync(SyncState {
            publish_tracks: vec![published],
            ..SyncState::default()
        }),
        sync(SyncState {
            data_channels: vec![DataChannelInfo::default(); 4_000],
            ..SyncState::default()
        }),
        sync(SyncState {
            track_sids_disabled: ids(),
            ..SyncState::default()
        }),
        sync(SyncState {
            datachannel_receive_states: vec![DataChannelReceiveState::default(); 4_000],
            ..SyncState::default()
        }),
        sync(SyncState {
            offer: Some(description(none(), ids())),
            subscription: Some(subscription(ids(), vec![])),
            ..SyncState::default()
        }),
        Said::Leave(LeaveRequest {
            regions: Some(RegionSettings {
                regions: vec![RegionInfo {
                    url: long(),
                    ..RegionInfo::default()
                }],
            }),
            ..LeaveRequest::default()
        }),
    ]);
    messages
}

/// Whether what is too much of a message are values that are said twice or have no name, which is
/// nothing to refuse.
fn is_set(message: &Said) -> bool {
    match message {
        Said::AddTrack(request) => request.audio_features.len() + request.packet_trailer_features.len() > 0,
        Said::UpdateAudioTrack(_) => true,
        _ => false,
    }
}

/// Bytes a client was sent, and of the longest message.
fn heard(world: &World, client: &Client) -> (usize, usize) {
    let bytes = world.sent.get(&client.connection).map_or(0, |(_, bytes)| *bytes);
    (bytes, world.longest.get(&client.connection).copied().unwrap_or(0))
}

fn changer(world: &mut World, identity: &str) -> Client {
    let mut claims = claims(identity);
    claims.video.can_update_own_metadata = Some(true);
    world.join_as(&claims, Single)
}

/// A client that speaks JSON.
fn speaker_of_json(world: &mut World) -> Client {
    let client = world.join("joe", Single);
    world.frame(client.connection, &Frame::Text(r#"{"ping":"1"}"#.into()));
    client
}

#[test]
fn no_message_is_long_for_others() {
    let mut world = World::new();
    let (bob, joe) = (world.join("bob", Single), speaker_of_json(&mut world));
    let mut mallory = changer(&mut world, "mallory");
    let microphone = world.publish(&mut mallory, MediaKind::Audio, TrackSource::Microphone);
    for (number, message) in messages(&microphone.sid).into_iter().enumerate() {
        let name = format!("message {number}: {:.60}", format!("{message:?}"));
        let is_set = is_set(&message);
        let limited = world.count(Counter::LimitExceeded);
        let before = [heard(&world, &bob).0, heard(&world, &joe).0];
        world.say(mallory.connection, message);
        // The stored value is told with the next change.
        for muted in [true, false] {
            world.say(
                mallory.connection,
                Said::Mute(MuteTrackRequest {
                    sid: microphone.sid.clone(),
                    muted,
                }),
            );
        }
        world.advance(Duration::from_secs(1));
        let after = [heard(&world, &bob).0, heard(&world, &joe).0];
        assert!(after[0] - before[0] < 8192, "{name}: {} bytes", after[0] - before[0]);
        assert!(
            after[1] - before[1] < 16_384,
            "{name}: {} bytes of JSON",
            after[1] - before[1]
        );
        assert!(
            is_set || world.count(Counter::LimitExceeded) > limited,
            "{name} is counted"
        );
        assert!(!world.closed.contains_key(&mallory.connection), "{name}");
        let own = world.take(mallory.connection, |message| {
            matches!(message, Message::RequestResponse(_))
        });
        assert!(
            own.iter().all(|message| format!("{message:?}").len() < 1024),
            "{name} is not repeated"
        );
    }
}

#[test]
fn announced_tracks_are_short_for_others_once_they_arrive() {
    for (name, request) in tracks() {
        let mut world = World::new();
        let (bob, joe) = (world.join("bob", Single), speaker_of_json(&mut world));
        let mut mallory = world.join("mallory", Single);
        let kind = if request.layers.is_empty() || request.source == 2 {
            MediaKind::Audio
        } else {
            MediaKind::Video
        };
        let before = [&bob, &joe].map(|client| heard(&world, client).0);
        world.say(mallory.connection, Said::AddTrack(request));
        mallory.browser.publish(kind, "fat");
        world.negotiate(&mut mallory);
        world.advance(Duration::from_secs(1));
        let after = [&bob, &joe].map(|client| heard(&world, client).0);
        for (before, after) in before.into_iter().zip(after) {
            assert!(after - before < 4096, "{name}: {} bytes", after - before);
        }
    }
}

/// Mallory fills all that one participant may fill.
fn fill(world: &mut World, mallory: &mut Client) -> Vec<TrackInfo> {
    world.say(
        mallory.connection,
        Said::UpdateMetadata(UpdateParticipantMetadata {
            metadata: "m".repeat(64 << 10),
            attributes: [("key".to_owned(), "v".repeat(60 << 10))].into(),
            ..UpdateParticipantMetadata::default()
        }),
    );
    let tracks = (0..12).map(|number| {
        let cid = format!("{number:0>256}");
        let mut request = add_track(MediaKind::Video, TrackSource::Camera, &cid);
        (request.name, request.stream) = ("n".repeat(1024), "s".repeat(1024));
        request.layers = vec![
            VideoLayer {
                rid: "r".repeat(64),
                ..VideoLayer::default()
            };
            8
        ];
        world.say(mallory.connection, Said::AddTrack(request));
        mallory.browser.publish(MediaKind::Video, &cid);
        world.expect(mallory.connection, "track_published", |message| match message {
            Message::TrackPublished(published) => published.track.clone(),
            _ => None,
        })
    });
    let tracks = tracks.collect();
    world.negotiate(mallory);
    world.advance(Duration::from_secs(30));
    tracks
}

/// Small changes, each of which others hear of: the `round`th of each kind.
fn changes(sid: &str, round: u32) -> Vec<(&'static str, Said)> {
    let (sid, is_odd) = (|| sid.to_owned(), round % 2 == 1);
    let attributes = [("n".to_owned(), round.to_string())].into();
    let permission = SubscriptionPermission {
        all_participants: is_odd,
        track_permissions: vec![],
    };
    vec![
        (
            "mute",
            Said::Mute(MuteTrackRequest {
                sid: sid(),
                muted: is_odd,
            }),
        ),
        (
            "features",
            Said::UpdateAudioTrack(UpdateLocalAudioTrack {
                track_sid: sid(),
                features: vec![1 + i32::from(is_odd)],
            }),
        ),
        (
            "size",
            Said::UpdateVideoTrack(UpdateLocalVideoTrack {
                track_sid: sid(),
                width: round,
                height: round,
            }),
        ),
        (
            "layers",
            Said::UpdateLayers(UpdateVideoLayers {
                track_sid: sid(),
                layers: vec![VideoLayer {
                    width: round,
                    ..VideoLayer::default()
                }],
            }),
        ),
        (
            "attributes",
            Said::UpdateMetadata(UpdateParticipantMetadata {
                attributes,
                ..UpdateParticipantMetadata::default()
            }),
        ),
        ("audience", Said::SubscriptionPermission(permission)),
    ]
}

#[test]
fn small_changes_of_much_cost_others_a_bounded_rate_and_the_last_is_told() {
    for kind in 0..changes("", 0).len() {
        let mut world = World::new();
        let (bob, joe) = (world.join("bob", Single), speaker_of_json(&mut world));
        let mut mallory = changer(&mut world, "mallory");
        let tracks = fill(&mut world, &mut mallory);
        let longest = heard(&world, &bob).1;
        assert!(longest < LONGEST, "{longest} bytes");
        let before = [heard(&world, &bob).0, heard(&world, &joe).0];
        let (name, _) = changes("", 0)[kind];
        let mut last = String::new();
        for round in 0..301 {
            let (_, change) = changes(&tracks[0].sid, round).swap_remove(kind);
            last = format!("{change:?}");
            world.say(mallory.connection, change);
            world.advance(Duration::from_millis(10));
        }
        let heard = [heard(&world, &bob).0 - before[0], heard(&world, &joe).0 - before[1]];
        let allowed = BURST + 3 * PER_SECOND + longest;
        assert!(
            heard.iter().all(|bytes| *bytes < 2 * allowed),
            "{name}: {heard:?} bytes, {allowed} allowed"
        );
        world.advance(Duration::from_secs(30));
        let seen = world.seen(bob.connection, "mallory");
        let track = seen
            .iter()
            .flat_map(|info| &info.tracks)
            .find(|track| track.sid == tracks[0].sid);
        match name {
            "mute" => assert!(!track.unwrap().muted, "{last}"),
            "features" => assert_eq!(track.unwrap().audio_features, [1]),
            "size" => assert_eq!(track.unwrap().width, 300),
            "attributes" => assert_eq!(seen.unwrap().attributes["n"], "300"),
            "audience" => {
                let told = world.take(bob.connection, |message| {
                    matches!(message, Message::SubscriptionPermissionUpdate(_))
                });
                let allowed = told.iter().rev().find_map(|message| match message {
                    Message::SubscriptionPermissionUpdate(update) if update.track_sid == tracks[0].sid => {
                        Some(update.allowed)
                    }
                    _ => None,
                });
                assert_eq!(allowed, Some(false), "{last}");
            }
            _ => {}
        }
    }
}

#[test]
fn coming_and_going_costs_others_a_bounded_rate_and_the_last_stay_is_told() {
    let mut world = World::new();
    let bob = world.join("bob", Single);
    let mut fat = claims("mallory");
    fat.metadata = "m".repeat(64 << 10);
    let before = heard(&world, &bob).0;
    let mut sid = String::new();
    for _ in 0..50 {
        sid = world.join_as(&fat, Single).sid;
        world.advance(Duration::from_millis(20));
    }
    let bytes = heard(&world, &bob).0 - before;
    assert!(
        bytes < BURST + 2 * PER_SECOND + (64 << 10),
        "{bytes} bytes for fifty stays"
    );
    world.advance(Duration::from_secs(60));
    let updates = world.take(bob.connection, |message| matches!(message, Message::Update(_)));
    let mut infos = updates.into_iter().flat_map(|message| match message {
        Message::Update(update) => update.participants,
        _ => unreachable!(),
    });
    let last = infos.rfind(|info| info.identity == "mallory").unwrap();
    assert_eq!(
        (last.sid.as_str(), last.state),
        (sid.as_str(), 2),
        "the last word is about who is there"
    );
}

#[test]
fn a_participant_is_received_once_it_is_announced() {
    let mut world = World::new();
    let mut bob = world.join("bob", Single);
    let mut mallory = changer(&mut world, "mallory");
    fill(&mut world, &mut mallory);
    for round in 0..100 {
        let (_, change) = changes("", round).swap_remove(4);
        world.say(mallory.connection, change);
    }
    world.settle(&mut bob);
    let before = world.controller.population().subscriptions;
    world.publish(&mut mallory, MediaKind::Audio, TrackSource::Microphone);
    assert_eq!(
        world.controller.population().subscriptions,
        before,
        "nobody knows of it yet"
    );
    world.advance(Duration::from_secs(30));
    assert_eq!(world.controller.population().subscriptions, before + 1);
}
