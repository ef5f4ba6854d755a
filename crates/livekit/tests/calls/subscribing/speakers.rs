//! Speakers, and the quality of connections.

use std::time::Duration;

use controller::PeerMode::Single;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{ConnectionQuality, MuteTrackRequest, SimulateScenario, SpeakerInfo, TrackSource};
use southbound::{AudioActivity, Command, Notice, TransportQuality};
use wire::MediaKind;

use crate::world::{Client, World};

fn speakers(world: &mut World, client: &Client) -> Vec<SpeakerInfo> {
    let told = world.take(client.connection, |message| {
        matches!(message, Message::SpeakersChanged(_))
    });
    let told = told.into_iter().flat_map(|message| match message {
        Message::SpeakersChanged(changed) => changed.speakers,
        _ => unreachable!(),
    });
    told.collect()
}

#[test]
fn speaking_is_told_to_those_who_listen_and_so_is_silence() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Single));
    let microphone = world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    world.settle(&mut bob);
    let track = world.publications()[0].track;
    let heard = AudioActivity {
        track,
        level: 12,
        active: Duration::from_millis(450),
    };
    world.notice(Notice::Audio(vec![heard]));
    for client in [&ada, &bob] {
        let told = speakers(&mut world, client);
        assert_eq!(told.len(), 1);
        assert!(told[0].active && told[0].level > 0.3 && told[0].sid == ada.sid);
    }
    world.advance(Duration::from_secs(5));
    let told = speakers(&mut world, &bob);
    assert_eq!(
        told.last().map(|speaker| (speaker.active, speaker.level)),
        Some((false, 0.0))
    );

    world.say(
        ada.connection,
        Said::Mute(MuteTrackRequest {
            sid: microphone.sid,
            muted: true,
        }),
    );
    world.notice(Notice::Audio(vec![heard]));
    assert!(speakers(&mut world, &bob).is_empty(), "the muted are not heard");
}

#[test]
fn a_pretended_speaker_is_told() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let scenario = SimulateScenario {
        scenario: Some(Scenario::SpeakerUpdate(3)),
    };
    world.say(ada.connection, Said::Simulate(scenario));
    assert!(speakers(&mut world, &ada)[0].active);
    world.advance(Duration::from_secs(10));
    assert!(!speakers(&mut world, &ada).last().unwrap().active);
}

#[test]
fn a_downlink_may_be_limited_on_request() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    for (said, limit) in [(300_000, Some(300_000)), (0, None), (-1, None)] {
        world.clear();
        let scenario = Some(Scenario::SubscriberBandwidth(said));
        world.say(ada.connection, Said::Simulate(SimulateScenario { scenario }));
        let mut limits = world.new_commands().iter().filter_map(|command| match command {
            Command::SetDownlinkLimit { limit, .. } => Some(*limit),
            _ => None,
        });
        assert_eq!(limits.next_back().unwrap_or_default(), limit, "{said}");
    }
}

#[test]
fn a_worsening_connection_is_told() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let transport = world.transports_of(&ada)[0];
    let told = |world: &mut World, loss| {
        let quality = TransportQuality {
            uplink_loss: loss,
            ..TransportQuality::default()
        };
        world.notice(Notice::Quality { transport, quality });
        let updates = world.take(ada.connection, |message| {
            matches!(message, Message::ConnectionQuality(_))
        });
        let qualities = updates.into_iter().map(|message| match message {
            Message::ConnectionQuality(update) => update.updates[0].quality(),
            _ => unreachable!(),
        });
        qualities.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut world, 0.0), [ConnectionQuality::Excellent]);
    assert_eq!(told(&mut world, 0.5), [], "not so soon");
    world.advance(Duration::from_secs(6));
    assert_eq!(told(&mut world, 0.5), [ConnectionQuality::Poor]);
}
