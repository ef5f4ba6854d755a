//! The endpoints that nodes are told, and messages that nodes have passed on already.

use std::collections::BTreeMap;

use controller::{
    Config, ConnectionId, DataContent, DataEncoding, DataMessage, Input, NodeStanding, Output, PeerMode,
    PublishDataTrack, Request, Resume, SyncState, UserData,
};
use southbound::{
    Command, ControllerId, DataTrackRoute, Linked, MessageEndpoint, MessageId, NodeId, Notice, TransportId, Versions,
};

use crate::world::{NODE, World, claims, joining, keys, node};

const OTHER: NodeId = NodeId(2);

fn standing(takes: bool) -> NodeStanding {
    NodeStanding {
        load: u32::from(!takes),
        capacity: if takes { u32::MAX } else { 1 },
        passes_messages_on: true,
        ..NodeStanding::default()
    }
}

/// Nodes that pass messages on, and what they know of endpoints.
struct Cluster {
    world: World,
    endpoints: BTreeMap<NodeId, BTreeMap<TransportId, MessageEndpoint>>,
    elsewhere: BTreeMap<NodeId, bool>,
    tracks: BTreeMap<(NodeId, TransportId, u16), DataTrackRoute>,
}

impl Cluster {
    fn new() -> Self {
        Self::of(World::new())
    }

    fn of(world: World) -> Self {
        let mut cluster = Self {
            world,
            endpoints: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            tracks: BTreeMap::new(),
        };
        cluster.world.notice(OTHER, Notice::Node(node(OTHER)));
        cluster.place(NODE);
        cluster
    }

    /// Newcomers come to this node.
    fn place(&mut self, at: NodeId) {
        for id in [NODE, OTHER] {
            let now = self.world.now;
            self.world
                .controller
                .placement()
                .set_standing(now, id, standing(id == at));
        }
    }

    fn join(&mut self, at: NodeId, identity: &str) -> ConnectionId {
        self.place(at);
        let connection = self.world.join_with(controller::Join {
            auto_subscribe_data: true,
            ..joining(identity)
        });
        self.note();
        connection
    }

    fn note(&mut self) {
        for output in &self.world.out {
            let Output::Command { node, command, .. } = output else {
                continue;
            };
            let endpoints = self.endpoints.entry(*node).or_default();
            match command {
                Command::SetEndpoint(endpoint) => {
                    endpoints.insert(endpoint.transport, (**endpoint).clone());
                }
                Command::RemoveEndpoint { transport } | Command::Close { transport } => {
                    endpoints.remove(transport);
                }
                Command::SetElsewhere { elsewhere } => {
                    self.elsewhere.insert(*node, *elsewhere);
                }
                Command::SetDataTrack(route) => {
                    self.tracks
                        .insert((*node, route.endpoint, route.handle), (**route).clone());
                }
                Command::RemoveDataTrack { endpoint, handle } => {
                    self.tracks.remove(&(*node, *endpoint, *handle));
                }
                _ => {}
            }
        }
    }

    fn endpoint(&self, identity: &str) -> Option<(NodeId, &MessageEndpoint)> {
        let all = self.endpoints.iter();
        let mut all = all.flat_map(|(node, endpoints)| endpoints.values().map(|endpoint| (*node, endpoint)));
        all.find(|(_, endpoint)| *endpoint.identity == *identity)
    }

    /// A message of somebody arrives that its node has passed on up to a number. Returns the
    /// transports that the controller sends it to.
    fn says(&mut self, identity: &str, to: &[&str], passed_on: Option<u64>) -> Vec<TransportId> {
        let (node, endpoint) = self.endpoint(identity).expect("it has an endpoint");
        let data = DataMessage {
            reliable: false,
            sequence: 0,
            sender_sid: String::new(),
            sender_identity: String::new(),
            generated: false,
            destinations: to.iter().map(|to| (*to).to_owned()).collect(),
            content: DataContent::User(UserData::default()),
            len: 10,
        };
        let input = Input::Data {
            transport: endpoint.transport,
            message: MessageId { node, number: 1 },
            passed_on,
            linked: Linked::default(),
            data: Some(Box::new(DataMessage { reliable: true, ..data })),
        };
        self.world.handle(input);
        let sent = self.world.out.iter().filter_map(|output| match output {
            Output::Data { to, .. } => Some(to.clone()),
            _ => None,
        });
        sent.flatten().collect()
    }

    /// The room goes on at another controller, whose nodes know nothing yet.
    fn taken_over(&mut self) -> Cluster {
        let takeover = &mut self.world.controller;
        let room = takeover.takeover().room("lobby").expect("there is a room");
        let participants = takeover.takeover().participants("lobby");
        let mut after = Cluster::of(World::with(Config {
            controller: ControllerId::new(2),
            ..Config::new(keys())
        }));
        let World {
            controller, now, out, ..
        } = &mut after.world;
        out.clear();
        controller
            .takeover()
            .restore(*now, "lobby", room, participants, out)
            .expect("it was saved");
        out.clear();
        for id in [NODE, OTHER] {
            controller.takeover().repeat(*now, "lobby", id, out);
        }
        after.note();
        after
    }
}

#[test]
fn each_participant_has_an_endpoint_at_its_node() {
    let mut cluster = Cluster::new();
    let ada = cluster.join(NODE, "ada");
    assert_eq!(cluster.elsewhere, [(NODE, false)].into());
    cluster.join(NODE, "ben");
    let numbers: Vec<_> = cluster.endpoints[&NODE]
        .values()
        .map(|endpoint| endpoint.number)
        .collect();
    assert_eq!((numbers, &cluster.elsewhere), (vec![1, 2], &[(NODE, false)].into()));
    cluster.world.publish(ada);
    cluster.note();
    let (_, endpoint) = cluster.endpoint("ada").unwrap();
    assert!(endpoint.uplink.is_some_and(|uplink| uplink != endpoint.transport));
    assert!(endpoint.rights.publish && endpoint.number == 1);

    let cleo = cluster.join(OTHER, "cleo");
    assert_eq!(cluster.endpoint("cleo").map(|(node, _)| node), Some(OTHER));
    assert_eq!(cluster.elsewhere, [(NODE, true), (OTHER, true)].into());
    cluster.world.request(cleo, Request::Leave);
    cluster.note();
    assert_eq!((cluster.endpoint("cleo"), cluster.elsewhere[&NODE]), (None, false));
}

#[test]
fn a_node_that_does_not_pass_messages_on_has_no_endpoints() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    let is_endpoint = |output: &Output| {
        matches!(
            output,
            Output::Command {
                command: Command::SetEndpoint(_) | Command::SetElsewhere { .. },
                ..
            }
        )
    };
    assert!(!world.out.iter().any(is_endpoint));
    assert_eq!(Versions { oldest: 1, newest: 1 }.common(Versions::OURS), Some(1));
}

#[test]
fn the_controller_serves_those_whom_the_node_has_not() {
    let mut cluster = Cluster::new();
    for identity in ["ada", "ben", "dan"] {
        cluster.join(NODE, identity);
    }
    cluster.join(OTHER, "cleo");
    let at = |identity: &str| cluster.endpoint(identity).unwrap().1.transport;
    let (ben, cleo, dan) = (at("ben"), at("cleo"), at("dan"));
    assert_eq!(cluster.says("ada", &[], None), [ben, dan, cleo]);
    assert_eq!(cluster.says("ada", &[], Some(2)), [dan, cleo], "dan came afterwards");
    assert_eq!(cluster.says("ada", &[], Some(4)), [cleo]);
    assert_eq!(cluster.says("ada", &["ben", "cleo"], Some(4)), [cleo]);
    assert_eq!(
        cluster.says("cleo", &["ben"], Some(4)),
        [ben],
        "its own node has passed on nothing here"
    );
}

#[test]
fn numbers_of_endpoints_outlive_their_controller() {
    let mut cluster = Cluster::new();
    cluster.join(NODE, "ada");
    cluster.join(NODE, "ben");
    cluster.join(OTHER, "cleo");
    let mut after = cluster.taken_over();
    assert_eq!(after.endpoints, cluster.endpoints);
    assert_eq!(after.elsewhere, cluster.elsewhere);
    let cleo = after.endpoint("cleo").unwrap().1.transport;
    assert_eq!(
        after.says("ada", &[], Some(3)),
        [cleo],
        "a message that waited for an owner"
    );
    after.join(NODE, "eve");
    let number = after.endpoint("eve").unwrap().1.number;
    assert!(number > 1 << 16, "{number} may have been given before");
}

#[test]
fn a_data_track_has_a_route_to_its_receivers_here() {
    let mut cluster = Cluster::new();
    let ada = cluster.join(NODE, "ada");
    cluster.join(NODE, "ben");
    cluster.join(OTHER, "cleo");
    for identity in ["ben", "cleo"] {
        let (node, endpoint) = cluster.endpoint(identity).unwrap();
        let connected = Notice::Connected {
            transport: endpoint.transport,
            srtp: None,
        };
        cluster.world.notice(node, connected);
    }
    let publish = PublishDataTrack {
        handle: 7,
        name: "positions".to_owned(),
        encryption: Default::default(),
        encoding: None::<DataEncoding>,
        schema: None,
    };
    cluster.world.request(ada, Request::PublishDataTrack(publish));
    cluster.note();
    let ben = cluster.endpoint("ben").unwrap().1.transport;
    let routes: Vec<_> = cluster.tracks.values().cloned().collect();
    let [route] = &routes[..] else {
        panic!("one route, and not {routes:?}");
    };
    assert_eq!(
        (route.handle, &route.receivers[..], route.elsewhere),
        (7, &[ben][..], true)
    );
    let after = cluster.taken_over();
    assert_eq!(after.tracks, cluster.tracks);
    cluster.world.request(ada, Request::UnpublishDataTrack(7));
    cluster.note();
    assert!(cluster.tracks.is_empty());
}

#[test]
fn the_node_sends_again_what_it_has_passed_on() {
    let mut cluster = Cluster::new();
    let ada = cluster.join(NODE, "ada");
    cluster.join(NODE, "ben");
    let transport = cluster.endpoint("ada").unwrap().1.transport;
    let sid = cluster.world.controller.takeover().participants("lobby")[0].sid.clone();
    let connected = Notice::Connected { transport, srtp: None };
    cluster.world.notice(NODE, connected);
    cluster.world.handle(Input::Ended { connection: ada });
    let resume = Resume {
        claims: claims("ada"),
        mode: PeerMode::Dual,
        sid,
        sync_state: Some(SyncState {
            received: vec![("PA_ben".to_owned(), 7)],
            ..SyncState::default()
        }),
        offer: None,
    };
    let resume = Box::new(resume);
    cluster.world.handle(Input::Resume {
        connection: ConnectionId(77),
        resume,
    });
    let expected = Command::Resend {
        transport,
        received: vec![("PA_ben".into(), 7)],
    };
    let is_told = |output: &Output| matches!(output, Output::Command { command, .. } if *command == expected);
    assert!(cluster.world.out.iter().any(is_told), "{:?}", cluster.world.out);
}
