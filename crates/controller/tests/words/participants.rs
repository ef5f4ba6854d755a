//! An administrator's requests about participants and their tracks.

use std::time::Duration;

use access::verify;
use controller::{
    AdminError, AdminReply, AdminRequest, Config, EndAction, EndReason, Join, Notification, ParticipantInfo, PeerMode,
    Permission, Request, UpdateMetadata, UpdateParticipant, UpdateSubscriptions,
};

use crate::world::{UNIX, World, claims, joining, keys};

fn get(identity: &str) -> AdminRequest {
    AdminRequest::GetParticipant {
        room: "lobby".to_owned(),
        identity: identity.to_owned(),
    }
}

fn update(identity: &str) -> UpdateParticipant {
    UpdateParticipant {
        room: "lobby".to_owned(),
        identity: identity.to_owned(),
        ..UpdateParticipant::default()
    }
}

fn participant(reply: Result<AdminReply, AdminError>) -> ParticipantInfo {
    match reply {
        Ok(AdminReply::Participant(participant)) => participant,
        other => panic!("a participant and not {other:?}"),
    }
}

#[test]
fn participants_are_listed_and_found() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    world.join("bob", PeerMode::Dual);
    let mut identities = |room: &str| match world.ask(AdminRequest::ListParticipants { room: room.to_owned() }) {
        Ok(AdminReply::Participants(all)) => all.iter().map(|found| found.identity.clone()).collect::<Vec<_>>(),
        other => panic!("participants and not {other:?}"),
    };
    assert_eq!(identities("lobby"), ["ada", "bob"]);
    assert_eq!(identities("attic"), [""; 0]);
    assert_eq!(participant(world.ask(get("ada"))).joined, UNIX);
    assert_eq!(world.ask(get("eve")), Err(AdminError::ParticipantNotFound));
}

#[test]
fn a_removed_participant_is_told_to_stay_away() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let remove = || AdminRequest::RemoveParticipant {
        room: "lobby".to_owned(),
        identity: "ada".to_owned(),
    };
    assert_eq!(world.ask(remove()), Ok(AdminReply::Done));
    let ended = Notification::Ended {
        reason: EndReason::ParticipantRemoved,
        action: EndAction::Disconnect,
    };
    assert!(world.told(ada).contains(&ended));
    assert_eq!(world.ask(remove()), Err(AdminError::ParticipantNotFound));
}

#[test]
fn tracks_are_muted_and_unmuted_only_where_the_operator_allows() {
    for remote_unmute in [false, true] {
        let mut world = World::with(Config {
            remote_unmute,
            ..Config::new(keys())
        });
        let ada = world.join("ada", PeerMode::Dual);
        let track = world.publish(ada);
        let mute = |track_sid: &str, muted| AdminRequest::MuteTrack {
            room: "lobby".to_owned(),
            identity: "ada".to_owned(),
            track_sid: track_sid.to_owned(),
            muted,
        };
        let muted = world.ask(mute(&track.sid, true));
        assert!(matches!(muted, Ok(AdminReply::Track(track)) if track.muted));
        let told = Notification::MuteTrack {
            track_sid: track.sid.clone(),
            muted: true,
        };
        assert!(world.told(ada).contains(&told));
        let missing = world.ask(mute("TR_none", true));
        assert_eq!(missing, Err(AdminError::TrackNotFound));
        match world.ask(mute(&track.sid, false)) {
            Ok(AdminReply::Track(track)) => assert!(remote_unmute && !track.muted),
            other => assert!(!remote_unmute && other == Err(AdminError::RemoteUnmuteDisabled)),
        }
    }
}

#[test]
fn name_metadata_and_attributes_change_and_are_told() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", PeerMode::Dual), world.join("bob", PeerMode::Dual));
    let attributes = |value: &str| [("hand".to_owned(), value.to_owned())].into();
    let changed = participant(world.ask(AdminRequest::UpdateParticipant(UpdateParticipant {
        name: "Ada L.".to_owned(),
        metadata: "chair".to_owned(),
        attributes: attributes("up"),
        ..update("ada")
    })));
    assert_eq!((changed.name.as_str(), changed.metadata.as_str()), ("Ada L.", "chair"));
    assert_eq!(changed.attributes["hand"], "up");
    for connection in [ada, bob] {
        let told = Notification::Participants(vec![changed.clone().into()]);
        assert!(world.told(connection).contains(&told));
    }
    let changed = participant(world.ask(AdminRequest::UpdateParticipant(UpdateParticipant {
        attributes: attributes(""),
        ..update("ada")
    })));
    assert_eq!((changed.name.as_str(), changed.attributes.len()), ("Ada L.", 0));

    let refused = [
        UpdateParticipant {
            metadata: "x".repeat(70_000),
            ..update("ada")
        },
        UpdateParticipant {
            name: "x".repeat(2000),
            ..update("ada")
        },
        UpdateParticipant {
            attributes: attributes(&"x".repeat(70_000)),
            ..update("ada")
        },
    ];
    for request in refused {
        let refused = world.ask(AdminRequest::UpdateParticipant(request)).unwrap_err();
        assert!(matches!(refused, AdminError::InvalidArgument(_)), "{refused}");
    }
    let missing = world.ask(AdminRequest::UpdateParticipant(update("eve")));
    assert_eq!(missing, Err(AdminError::ParticipantNotFound));
}

#[test]
fn a_permission_that_is_taken_ends_tracks_and_outlasts_starting_over() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", PeerMode::Dual), world.join("bob", PeerMode::Dual));
    let track = world.publish(ada);
    let permission = Permission {
        publish: false,
        ..Permission::of(&claims("ada"))
    };
    let changed = participant(world.ask(AdminRequest::UpdateParticipant(UpdateParticipant {
        permission: Some(permission),
        ..update("ada")
    })));
    assert!(!changed.permission.publish && changed.tracks.is_empty());
    let taken = Notification::TrackUnpublished { track_sid: track.sid };
    assert!(world.told(ada).contains(&taken));
    assert!(
        world
            .told(bob)
            .contains(&Notification::Participants(vec![changed.into()]))
    );
    let told = world.told(ada);
    let token = told.iter().find_map(|told| match told {
        Notification::Token(token) => Some(token),
        _ => None,
    });
    let refreshed = verify(token.expect("a token"), &keys(), UNIX).unwrap();
    assert_eq!(refreshed.video.can_publish, Some(false));
}

#[test]
fn subscriptions_are_ended_and_begun_for_a_receiver() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    world.join("bob", PeerMode::Dual);
    let track = world.publish(ada);
    assert_eq!(world.controller.population().subscriptions, 1);
    for (subscribe, subscriptions) in [(false, 0), (true, 1)] {
        let request = |identity: &str| {
            AdminRequest::UpdateSubscriptions(UpdateSubscriptions {
                room: "lobby".to_owned(),
                identity: identity.to_owned(),
                track_sids: vec![track.sid.clone()],
                subscribe,
            })
        };
        assert_eq!(world.ask(request("bob")), Ok(AdminReply::Done));
        assert_eq!(world.controller.population().subscriptions, subscriptions);
        assert_eq!(world.ask(request("eve")), Err(AdminError::ParticipantNotFound));
    }
}

#[test]
fn a_client_that_changes_all_the_time_gets_a_token_a_second() {
    let mut world = World::new();
    let mut claims = claims("ada");
    claims.video.can_update_own_metadata = Some(true);
    let ada = world.join_with(Join {
        claims,
        ..joining("ada")
    });
    let mut metadata = Vec::new();
    let mut read = |told: Vec<Notification>| {
        metadata.extend(told.into_iter().filter_map(|told| match told {
            Notification::Token(token) => Some(verify(&token, &keys(), UNIX).unwrap().metadata),
            _ => None,
        }));
    };
    for second in 0..3 {
        for number in 0..100 {
            let change = UpdateMetadata {
                metadata: format!("{second}-{number}"),
                ..UpdateMetadata::default()
            };
            world.request(ada, Request::UpdateMetadata(change));
            read(world.told(ada));
        }
        world.advance(Duration::from_secs(1));
        read(world.told(ada));
    }
    assert_eq!(metadata, ["0-0", "0-1", "0-2", "0-3", "0-99", "1-99", "2-99"]);
}
