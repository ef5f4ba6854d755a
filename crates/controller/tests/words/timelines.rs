//! Observations of participants, for timelines.

use controller::{Config, ConnectionId, Input, MuteTrack, Output, PeerMode, Request};
use operator::observation::{Direction, LeaveReason, SwitchCause, TimelineTrack, TrackSource, TransportState};
use operator::receivers::{MediaKind, Target};
use operator::{Observation, ParticipantObservation};
use southbound::{CloseReason, NodeId, Notice, Observation as Seen, SentLayer, SubscriptionId, TrackId, TransportId};
use wire::codec::Layer;

use crate::world::{NODE, World, keys};

/// A room where Ada publishes her microphone and Bob gets it.
struct Call {
    world: World,
    ada: ConnectionId,
    bob: ConnectionId,
    track: String,
}

impl Call {
    fn new() -> Self {
        let mut world = World::with(Config {
            observations: true,
            ..Config::new(keys())
        });
        let bob = world.join("bob", PeerMode::Dual);
        let ada = world.join("ada", PeerMode::Dual);
        let track = world.publish(ada).sid;
        Call { world, ada, bob, track }
    }

    /// The observations of the last input.
    fn seen(&self) -> Vec<ParticipantObservation> {
        let seen = |output: &Output| match output {
            Output::Observation { room, observation } => {
                assert_eq!(&**room, "lobby");
                Some((**observation).clone())
            }
            _ => None,
        };
        self.world.out.iter().filter_map(seen).collect()
    }

    fn notice(&mut self, notice: Notice) -> Vec<ParticipantObservation> {
        self.world.notice(NODE, notice);
        self.seen()
    }

    /// Ada's microphone, beside this participant.
    fn microphone(&self, peer: &str) -> Option<TimelineTrack> {
        Some(TimelineTrack {
            id: self.track.clone(),
            peer: peer.to_owned(),
            kind: MediaKind::Audio,
            source: TrackSource::Microphone,
        })
    }

    /// The transport that Bob receives on, and his subscription.
    fn of_bob(&self) -> (TransportId, SubscriptionId) {
        let downlink = self.world.controller.downlink("lobby", "bob").expect("Bob receives");
        let (subscription, _) = downlink.subscriptions.first_key_value().expect("he is subscribed");
        (downlink.transport, *subscription)
    }
}

fn of(participant: &str, track: Option<TimelineTrack>, observation: Observation) -> ParticipantObservation {
    ParticipantObservation {
        participant: participant.to_owned(),
        track,
        observation,
    }
}

#[test]
fn observations_of_a_call_have_their_participant_and_track() {
    let mut call = Call::new();
    let (transport, subscription) = call.of_bob();
    let (of_ada, for_bob) = (call.microphone("ada"), call.microphone("bob"));
    let connected = call.notice(Notice::Connected { transport, srtp: None });
    let state = TransportState::Connected;
    let direction = Direction::Downlink;
    assert_eq!(
        connected,
        [of("bob", None, Observation::Transport { direction, state })]
    );
    let paused = true;
    let seen = call.notice(Notice::Paused { subscription, paused });
    assert_eq!(seen, [of("bob", of_ada.clone(), Observation::Pause { paused })]);
    let seen = call.notice(Notice::Observation(Seen::KeyFrameRequest { subscription }));
    let request = Observation::KeyFrameRequest;
    assert_eq!(seen, [of("bob", of_ada.clone(), request), of("ada", for_bob, request)]);
    let sent = |encoding| SentLayer {
        encoding,
        layer: Layer {
            spatial: 0,
            temporal: u8::MAX,
        },
    };
    let seen = call.notice(Notice::Observation(Seen::LayerSwitch {
        subscription,
        from: Some(sent(2)),
        to: sent(0),
        cause: Some(SwitchCause::Request),
    }));
    let target = |encoding| Target {
        encoding,
        spatial: Some(0),
        temporal: None,
    };
    let switch = Observation::LayerSwitch {
        from: Some(target(2)),
        to: target(0),
        cause: SwitchCause::Request,
    };
    assert_eq!(seen, [of("bob", of_ada, switch)]);
    let seen = call.notice(Notice::Observation(Seen::Loss {
        transport,
        direction: Direction::Downlink,
        expected: u64::MAX,
        lost: 3,
    }));
    let loss = Observation::Loss {
        direction: Direction::Downlink,
        expected: u32::MAX,
        lost: 3,
    };
    assert_eq!(seen, [of("bob", None, loss)]);
}

#[test]
fn observations_tell_mutes_connections_and_the_end() {
    let mut call = Call::new();
    let muted = true;
    call.world.request(
        call.ada,
        Request::MuteTrack(MuteTrack {
            sid: call.track.clone(),
            muted,
        }),
    );
    let microphone = call.microphone("ada");
    assert_eq!(call.seen(), [of("ada", microphone, Observation::Mute { muted })]);
    let (transport, _) = call.of_bob();
    call.notice(Notice::Connected { transport, srtp: None });
    call.world.handle(Input::Ended { connection: call.bob });
    assert_eq!(call.seen(), [of("bob", None, Observation::Detach)]);
    let reason = CloseReason::ConsentExpired;
    let seen = call.notice(Notice::Closed { transport, reason });
    let observations: Vec<_> = seen.into_iter().map(|seen| seen.observation).collect();
    let expired = Observation::Transport {
        direction: Direction::Downlink,
        state: TransportState::ConsentExpired,
    };
    assert_eq!(observations.first(), Some(&expired));
    let left = |observation: &Observation| matches!(observation, Observation::Leave { .. });
    assert_eq!(observations.iter().filter(|observation| left(observation)).count(), 1);
    call.world.request(call.ada, Request::Leave);
    let reason = LeaveReason::ClientInitiated;
    let seen = call.seen();
    assert!(
        seen.contains(&of("ada", None, Observation::Leave { reason })),
        "{seen:?}"
    );
}

#[test]
fn observations_of_other_nodes_and_of_what_is_gone_are_ignored() {
    let mut call = Call::new();
    let (transport, _) = call.of_bob();
    let probe = |transport| {
        Notice::Observation(Seen::Probe {
            transport,
            rate: 1,
            bytes: 1,
        })
    };
    assert_eq!(call.notice(probe(transport)).len(), 1);
    assert_eq!(call.notice(probe(TransportId(u64::MAX))), []);
    let track = TrackId(u64::MAX);
    assert_eq!(
        call.notice(Notice::Observation(Seen::KeyFrameQuery { track, attempt: 1 })),
        []
    );
    call.world.notice(NodeId(77), probe(transport));
    assert_eq!(call.seen(), []);
}

#[test]
fn observations_are_output_only_where_they_are_asked_for() {
    let mut world = World::new();
    let bob = world.join("bob", PeerMode::Dual);
    world.request(bob, Request::Leave);
    let is_observation = |output: &Output| matches!(output, Output::Observation { .. });
    assert!(!world.out.iter().chain(&world.said).any(is_observation));
}
