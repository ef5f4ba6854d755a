//! Requests beyond a token's grants are refused, and the client is told.

use access::VideoGrant;
use controller::Counter;
use controller::PeerMode::Single;
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    MuteTrackRequest, RequestResponse, SubscriptionPermission, TrackPermission, TrackSource, UpdateParticipantMetadata,
};
use wire::MediaKind;
use wire::sdp::Direction;

use crate::world::{Client, World, add_track, claims};

fn join_with(world: &mut World, identity: &str, change: impl FnOnce(&mut VideoGrant)) -> Client {
    let mut claims = claims(identity);
    change(&mut claims.video);
    world.join_as(&claims, Single)
}

fn refusal(world: &mut World, client: &Client) -> RequestResponse {
    world.expect(client.connection, "request_response", |message| match message {
        Message::RequestResponse(response) => Some(response.clone()),
        _ => None,
    })
}

#[test]
fn publishing_without_permission_is_refused_with_its_media() {
    let mut world = World::new();
    let mut ada = join_with(&mut world, "ada", |grant| grant.can_publish = Some(false));
    world.say(
        ada.connection,
        Said::AddTrack(add_track(MediaKind::Video, TrackSource::Camera, "camera")),
    );
    assert_eq!(refusal(&mut world, &ada).reason(), Reason::NotAllowed);
    let mid = ada.browser.publish(MediaKind::Video, "camera");
    let (answer, _) = world.offer(&mut ada);
    assert_eq!(
        answer
            .sections
            .iter()
            .find(|section| section.mid == mid)
            .unwrap()
            .direction,
        Direction::Inactive
    );
    assert!(world.publications().is_empty());
    assert_eq!(world.count(Counter::NotAllowed), 1);
}

#[test]
fn only_the_granted_sources_are_taken() {
    let mut world = World::new();
    let ada = join_with(&mut world, "ada", |grant| {
        grant.can_publish_sources = vec!["microphone".to_owned()]
    });
    world.announce(&ada, MediaKind::Audio, TrackSource::Microphone, "microphone");
    world.say(
        ada.connection,
        Said::AddTrack(add_track(MediaKind::Video, TrackSource::ScreenShare, "screen")),
    );
    assert_eq!(refusal(&mut world, &ada).reason(), Reason::NotAllowed);
}

#[test]
fn without_permission_to_subscribe_nothing_comes() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let mut bob = join_with(&mut world, "bob", |grant| grant.can_subscribe = Some(false));
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    assert!(world.subscriptions().is_empty());
}

#[test]
fn the_hidden_are_not_seen() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.clear();
    let spy = join_with(&mut world, "spy", |grant| grant.hidden = true);
    assert_eq!(world.seen(ada.connection, "spy"), None);
    let bob = world.open(world.admission(&claims("bob"), Single, ""));
    let others = world.expect(bob, "join", |message| match message {
        Message::Join(join) => Some(join.other_participants.clone()),
        _ => None,
    });
    assert_eq!(
        others.iter().map(|info| info.identity.as_str()).collect::<Vec<_>>(),
        ["ada"]
    );
    assert!(world.seen(spy.connection, "bob").is_some());
}

#[test]
fn ones_own_metadata_is_changed_only_with_leave_to() {
    let change = |request_id| {
        let attributes = [("hand".to_owned(), "up".to_owned())].into();
        Said::UpdateMetadata(UpdateParticipantMetadata {
            metadata: "m".to_owned(),
            name: "n".to_owned(),
            attributes,
            request_id,
        })
    };
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.say(ada.connection, change(5));
    let refused = refusal(&mut world, &ada);
    assert_eq!((refused.reason(), refused.request_id), (Reason::NotAllowed, 5));

    let bob = join_with(&mut world, "bob", |grant| grant.can_update_own_metadata = Some(true));
    world.say(bob.connection, change(6));
    let granted = refusal(&mut world, &bob);
    assert_eq!((granted.reason(), granted.request_id), (Reason::Ok, 6));
    for connection in [ada.connection, bob.connection] {
        let seen = world.seen(connection, "bob").unwrap();
        assert_eq!(
            (
                seen.metadata.as_str(),
                seen.name.as_str(),
                seen.attributes["hand"].as_str()
            ),
            ("m", "n", "up")
        );
    }
}

#[test]
fn a_publisher_decides_who_gets_its_tracks() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let (mut bob, mut cat) = (world.join("bob", Single), world.join("cat", Single));
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    world.settle(&mut cat);
    assert_eq!(world.subscriptions().len(), 2);
    world.clear();
    let only_bob = TrackPermission {
        participant_identity: "bob".to_owned(),
        all_tracks: true,
        ..TrackPermission::default()
    };
    let permission = SubscriptionPermission {
        all_participants: false,
        track_permissions: vec![only_bob],
    };
    world.say(ada.connection, Said::SubscriptionPermission(permission));
    let told = world.expect(
        cat.connection,
        "subscription_permission_update",
        |message| match message {
            Message::SubscriptionPermissionUpdate(update) => Some((update.track_sid.clone(), update.allowed)),
            _ => None,
        },
    );
    assert_eq!(told, (camera.sid, false));
    assert_eq!(
        world.new_commands().len(),
        1,
        "one subscription ends: {:?}",
        world.new_commands()
    );
    let everybody = SubscriptionPermission {
        all_participants: true,
        track_permissions: vec![],
    };
    world.say(ada.connection, Said::SubscriptionPermission(everybody));
    world.settle(&mut cat);
    assert_eq!(world.subscriptions().len(), 1);
}

#[test]
fn a_request_about_what_is_not_there_says_so() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.say(
        ada.connection,
        Said::Mute(MuteTrackRequest {
            sid: "TR_nobody".to_owned(),
            muted: true,
        }),
    );
    assert_eq!(refusal(&mut world, &ada).reason(), Reason::NotFound);
}
