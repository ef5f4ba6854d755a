//! A receiver is told what its downlink does not carry.

use controller::PeerMode::Single;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{StreamState, TrackSource};
use southbound::{Notice, SubscriptionId};
use wire::MediaKind;

use crate::world::{Client, World};

fn states(world: &mut World, client: &Client) -> Vec<(String, String, StreamState)> {
    let told = world.take(client.connection, |message| {
        matches!(message, Message::StreamStateUpdate(_))
    });
    let infos = told.into_iter().flat_map(|message| match message {
        Message::StreamStateUpdate(update) => update.stream_states,
        _ => unreachable!(),
    });
    infos
        .map(|info| (info.participant_sid.clone(), info.track_sid.clone(), info.state()))
        .collect()
}

#[test]
fn a_pause_is_told_to_its_receiver_once_and_so_is_its_end() {
    let mut world = World::new();
    let (mut ada, mut bob, mut cat) = (
        world.join("ada", Single),
        world.join("bob", Single),
        world.join("cat", Single),
    );
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.clear();
    world.settle(&mut bob);
    world.offer(&mut bob);
    let subscription = subscription_of(&world, &bob);
    world.settle(&mut cat);
    for paused in [true, true, false] {
        world.notice(Notice::Paused { subscription, paused });
    }
    let told = |state| (ada.sid.clone(), camera.sid.clone(), state);
    assert_eq!(
        states(&mut world, &bob),
        [told(StreamState::Paused), told(StreamState::Active)]
    );
    assert_eq!(states(&mut world, &cat), [], "its downlink is another");
}

fn subscription_of(world: &World, client: &Client) -> SubscriptionId {
    let transports = world.transports_of(client);
    let mut found = world.commands.iter().filter_map(|command| match command {
        southbound::Command::Subscribe(subscription) if transports.contains(&subscription.transport) => {
            Some(subscription.subscription)
        }
        _ => None,
    });
    found.next_back().expect("it receives something")
}

#[test]
fn a_resumed_session_hears_which_tracks_are_paused() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.settle(&mut bob);
    world.offer(&mut bob);
    let subscription = subscription_of(&world, &bob);
    world.notice(Notice::Paused {
        subscription,
        paused: true,
    });
    world.clear();
    world.hang_up(bob.connection);
    bob.connection = world.resume(&bob);
    let seen = states(&mut world, &bob);
    assert_eq!(
        seen.iter().map(|state| state.2).collect::<Vec<_>>(),
        [StreamState::Paused]
    );
}

#[test]
fn a_pause_of_what_is_gone_is_nothing() {
    let mut world = World::new();
    let bob = world.join("bob", Single);
    world.notice(Notice::Paused {
        subscription: SubscriptionId(4711),
        paused: true,
    });
    assert_eq!(states(&mut world, &bob), []);
    assert_eq!(world.count(controller::Counter::StaleNotice), 1);
}
