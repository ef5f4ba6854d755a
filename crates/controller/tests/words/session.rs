//! A session without a signalling channel, as WHIP has it (RFC 9725): one join with an offer, one
//! answer, one end. And a server that is about to end.

use controller::{
    AddTrack, AdminError, AdminRequest, ClientTraits, CreateRoom, EndCause, EndReason, Input, Join, JoinError,
    Notification, Output, PeerMode, Population, Request, TrackSource,
};
use southbound::Command;
use wire::MediaKind;

use crate::world::{World, claims, offer};

#[test]
fn one_join_with_an_offer_is_answered_and_publishes() {
    let mut world = World::new();
    let bob = world.join("bob", PeerMode::Dual);
    let microphone = AddTrack {
        cid: "microphone".to_owned(),
        kind: Some(MediaKind::Audio),
        source: TrackSource::Microphone,
        ..AddTrack::default()
    };
    let publisher = world.join_with(Join {
        claims: claims("encoder"),
        mode: PeerMode::Single,
        traits: ClientTraits::default(),
        auto_subscribe: false,
        auto_subscribe_data: false,
        attributes: Default::default(),
        metadata: String::new(),
        tracks: vec![microphone],
        offer: Some(offer("microphone")),
        room: CreateRoom::default(),
        region: None,
    });
    let told = world.told(publisher);
    let answer = told.iter().find_map(|told| match told {
        Notification::Answer(answer) => Some(answer.sdp.as_str()),
        _ => None,
    });
    assert!(answer.expect("an answer").contains("a=recvonly"), "{answer:?}");
    let published = |output: &Output| {
        matches!(
            output,
            Output::Command {
                command: Command::Publish(_),
                ..
            }
        )
    };
    assert!(world.out.iter().any(published));
    let is_shown = |told: &Notification| {
        let Notification::Participants(infos) = told else {
            return false;
        };
        infos
            .iter()
            .any(|info| info.identity == "encoder" && info.tracks.len() == 1)
    };
    assert!(world.told(bob).iter().any(is_shown), "others are told of the track");
    assert_eq!(world.controller.population().subscriptions, 1, "and get it");

    world.request(publisher, Request::Leave);
    let ended = Output::End {
        connection: publisher,
        cause: EndCause::Session(EndReason::ClientInitiated),
    };
    assert!(world.out.contains(&ended));
    assert_eq!(world.controller.population().participants, 1);
}

#[test]
fn a_connection_that_ends_before_media_flows_ends_the_session() {
    let mut world = World::new();
    let connection = world.join("encoder", PeerMode::Single);
    world.handle(Input::Ended { connection });
    let left = world.controller.population();
    assert_eq!((left.participants, left.publications), (0, 0));
    world.advance(std::time::Duration::from_secs(21));
    assert_eq!(world.controller.population(), Population::default());
}

#[test]
fn a_server_that_drains_lets_only_those_join_again_who_are_here() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    world.controller.drain();
    let create = |name: &str| {
        AdminRequest::CreateRoom(CreateRoom {
            name: name.to_owned(),
            ..CreateRoom::default()
        })
    };
    assert_eq!(world.ask(create("attic")), Err(AdminError::Draining));
    assert!(world.ask(create("lobby")).is_ok(), "it is there already");
    let check =
        |world: &World, room: &str, identity: &str| world.controller.check_admission("devkey", room, identity, true);
    assert_eq!(check(&world, "lobby", "bob"), Err(JoinError::Draining));
    assert_eq!(check(&world, "attic", "ada"), Err(JoinError::Draining));
    assert_eq!(check(&world, "lobby", "ada"), Ok(()));
    let again = world.join("ada", PeerMode::Dual);
    let has_joined = |told: &[Notification]| told.iter().any(|told| matches!(told, Notification::Joined(_)));
    assert!(has_joined(&world.told(again)), "a full reconnect");
    world.request(ada, Request::Leave);
    assert_eq!(world.controller.population().participants, 1);
    world.request(again, Request::Leave);
    assert_eq!(world.controller.population().participants, 0);
    assert_eq!(check(&world, "lobby", "ada"), Err(JoinError::Draining));
}
