//! Two controllers command one agent.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant};
use agent::{Agent, Certificate};
use controller::{
    AddTrack, ClientTraits, Config, ConnectionId, Controller, CreateRoom, Description, Input, Join, Output, PeerMode,
    TrackSource, WallClock,
};
use dataplane::Clock;
use southbound::{Command, ControllerId, NodeId, Notice, SubscriptionId, TrackId, TransportId};
use virtual_device::Plane;
use wire::{MediaKind, NtpTime};

const NODE: NodeId = NodeId(0);
const UNIX: Duration = Duration::from_secs(1_800_000_000);

/// One node with its controllers.
struct World {
    now: Instant,
    agent: Agent,
    plane: Plane,
    controllers: Vec<Controller>,
    ids: Vec<Ids>,
    refusals: Vec<String>,
}

/// The ids that one controller has used.
#[derive(Debug, Default)]
struct Ids {
    transports: BTreeSet<TransportId>,
    tracks: BTreeSet<TrackId>,
    subscriptions: BTreeSet<SubscriptionId>,
}

impl World {
    fn new(ids: &[ControllerId]) -> Self {
        let now = Instant::now();
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let certificate = Certificate::generate().unwrap();
        let config = agent::Config::new(vec![([192, 0, 2, 1], 7882).into()], certificate);
        let controllers = ids.iter().zip(0..).map(|(id, seed)| {
            let config = Config {
                controller: *id,
                ..Config::new(ApiKeys::default().with("devkey", "secret"))
            };
            Controller::new(config, WallClock { now, unix: UNIX }, [seed; 32])
        });
        let mut world = Self {
            now,
            agent: Agent::new(config, clock, 1),
            plane: Plane::new(clock),
            controllers: controllers.collect(),
            ids: ids.iter().map(|_| Ids::default()).collect(),
            refusals: Vec::new(),
        };
        let mut notices = Vec::new();
        world.agent.handle_timeout(now, &mut world.plane, &mut notices);
        world.settle(VecDeque::new(), notices);
        world
    }

    /// Somebody joins a controller's room with a microphone.
    fn join(&mut self, controller: usize, connection: u64, identity: &str) {
        let microphone = AddTrack {
            cid: "microphone".to_owned(),
            kind: Some(MediaKind::Audio),
            source: TrackSource::Microphone,
            ..AddTrack::default()
        };
        let join = Join {
            claims: claims(identity),
            mode: PeerMode::Single,
            traits: ClientTraits::default(),
            auto_subscribe: true,
            auto_subscribe_data: false,
            attributes: Default::default(),
            metadata: String::new(),
            tracks: vec![microphone],
            offer: Some(offer("microphone")),
            room: CreateRoom::default(),
            region: None,
        };
        let connection = ConnectionId(connection);
        let join = Box::new(join);
        self.input(controller, Input::Join { connection, join });
    }

    fn input(&mut self, controller: usize, input: Input) {
        let mut out = Vec::new();
        self.controllers[controller].handle(self.now, input, &mut out);
        self.settle(out.into_iter().map(|output| (controller, output)).collect(), Vec::new());
    }

    /// Passes commands to the agent, and its notices to everybody.
    fn settle(&mut self, mut outputs: VecDeque<(usize, Output)>, mut notices: Vec<Notice>) {
        while !outputs.is_empty() || !notices.is_empty() {
            for (controller, output) in std::mem::take(&mut outputs) {
                if let Output::Command { command, .. } = output {
                    self.ids[controller].note(&command);
                    self.agent.command(self.now, command, &mut self.plane, &mut notices);
                }
            }
            for notice in std::mem::take(&mut notices) {
                if let Notice::Refused { why, .. } = &notice {
                    self.refusals.push(why.clone());
                }
                for (at, controller) in self.controllers.iter_mut().enumerate() {
                    let mut out = Vec::new();
                    let notice = notice.clone();
                    let input = Input::Notice { node: NODE, notice };
                    controller.handle(self.now, input, &mut out);
                    outputs.extend(out.into_iter().map(|output| (at, output)));
                }
            }
        }
    }
}

impl Ids {
    fn note(&mut self, command: &Command) {
        match command {
            Command::Open(open) => drop(self.transports.insert(open.transport)),
            Command::Publish(publication) => drop(self.tracks.insert(publication.track)),
            Command::Subscribe(subscription) => drop(self.subscriptions.insert(subscription.subscription)),
            _ => {}
        }
    }
}

fn claims(identity: &str) -> Claims {
    Claims {
        iss: "devkey".to_owned(),
        sub: identity.to_owned(),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

/// An offer of a section that sends audio of this track, and of one that receives.
fn offer(track: &str) -> Description {
    let fingerprint = ["AB"; 32].join(":");
    let section = |mid: u8, direction: &str| {
        format!(
            "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=ice-ufrag:abcd\r\n\
             a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {fingerprint}\r\na=setup:actpass\r\n\
             a={direction}\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n"
        )
    };
    let session = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n";
    let sender = section(0, "sendonly") + &format!("a=msid:- {track}\r\n");
    Description::read(1, &[session, &sender, &section(1, "recvonly")].concat())
}

#[test]
fn calls_of_two_controllers_on_one_node_do_not_meet() {
    let mut world = World::new(&[ControllerId::new(1), ControllerId::new(2)]);
    for controller in 0..2 {
        world.join(controller, 1, "ada");
        world.join(controller, 2, "bob");
    }
    assert_eq!(world.refusals, [""; 0]);
    let [first, second] = &world.ids[..] else {
        unreachable!()
    };
    assert!(first.transports.is_disjoint(&second.transports), "{first:?} {second:?}");
    assert!(first.tracks.is_disjoint(&second.tracks), "{first:?} {second:?}");
    assert!(
        first.subscriptions.is_disjoint(&second.subscriptions),
        "{first:?} {second:?}"
    );
    assert!(
        first
            .transports
            .iter()
            .all(|id| id.controller() == ControllerId::new(1))
    );
    let used = (first.transports.len(), first.tracks.len(), first.subscriptions.len());
    assert_eq!(used, (2, 2, 1));

    world.input(
        0,
        Input::Ended {
            connection: ConnectionId(1),
        },
    );
    world.input(
        0,
        Input::Ended {
            connection: ConnectionId(2),
        },
    );
    assert_eq!(world.controllers[0].population().participants, 0);
    assert_eq!(world.controllers[1].population().participants, 2);
    assert!(!world.agent.is_idle(), "the other controller's call goes on");
    world.input(
        1,
        Input::Ended {
            connection: ConnectionId(1),
        },
    );
    world.input(
        1,
        Input::Ended {
            connection: ConnectionId(2),
        },
    );
    assert!(world.agent.is_idle());
}
