//! Data tracks whose packets go over links between nodes.

use std::collections::BTreeMap;

use controller::{DataContent, DataMessage, Input, Join, NodeStanding, Output, PublishDataTrack, Request};
use southbound::{
    Command, DataTrackRoute, DistantTrack, Linked, MessageEndpoint, MessageId, NodeId, Notice, TransportId,
};

use crate::world::{NODE, World, joining, node};

const OTHER: NodeId = NodeId(2);

/// Ada and Ben at one node, Cleo at another one, and the data tracks that both know.
struct Cluster {
    world: World,
    links_tracks: bool,
    endpoints: BTreeMap<String, MessageEndpoint>,
    routes: BTreeMap<u16, DataTrackRoute>,
    distant: BTreeMap<(NodeId, u16), DistantTrack>,
    connections: BTreeMap<&'static str, controller::ConnectionId>,
}

impl Cluster {
    fn new(links_tracks: bool) -> Self {
        let mut world = World::new();
        world.notice(OTHER, Notice::Node(node(OTHER)));
        let mut cluster = Self {
            world,
            links_tracks,
            endpoints: BTreeMap::new(),
            routes: BTreeMap::new(),
            distant: BTreeMap::new(),
            connections: BTreeMap::new(),
        };
        for (at, identity) in [(NODE, "ada"), (NODE, "ben"), (OTHER, "cleo")] {
            cluster.join(at, identity);
        }
        cluster
    }

    fn join(&mut self, at: NodeId, identity: &'static str) {
        for id in [NODE, OTHER] {
            let standing = NodeStanding {
                load: u32::from(id != at),
                capacity: if id == at { u32::MAX } else { 1 },
                passes_messages_on: true,
                has_links: true,
                links_tracks: self.links_tracks,
                ..NodeStanding::default()
            };
            let now = self.world.now;
            self.world.controller.placement().set_standing(now, id, standing);
        }
        let connection = self.world.join_with(Join {
            auto_subscribe_data: true,
            ..joining(identity)
        });
        self.connections.insert(identity, connection);
        self.note();
        let transport = self.endpoints[identity].transport;
        for notice in [
            Notice::Connected { transport, srtp: None },
            Notice::ChannelOpened {
                transport,
                label: "_data_track".into(),
            },
        ] {
            self.world.notice(at, notice);
            self.note();
        }
    }

    fn request(&mut self, identity: &str, request: Request) {
        self.world.request(self.connections[identity], request);
        self.note();
    }

    fn publish(&mut self, handle: u32) {
        let publish = PublishDataTrack {
            handle,
            name: format!("track {handle}"),
            encryption: Default::default(),
            encoding: None,
            schema: None,
        };
        self.request("ada", Request::PublishDataTrack(publish));
    }

    fn note(&mut self) {
        for output in &self.world.out {
            let Output::Command { node, command, .. } = output else {
                continue;
            };
            match command {
                Command::SetEndpoint(endpoint) => {
                    self.endpoints
                        .insert(endpoint.identity.to_string(), (**endpoint).clone());
                }
                Command::SetDataTrack(route) => _ = self.routes.insert(route.sent_as, (**route).clone()),
                Command::RemoveDataTrack { handle, .. } => self.routes.retain(|_, route| route.handle != *handle),
                Command::SetDistantTrack(track) => {
                    self.distant.insert((*node, track.handle), (**track).clone());
                }
                Command::RemoveDistantTrack { handle } => _ = self.distant.remove(&(*node, *handle)),
                _ => {}
            }
        }
    }

    /// A packet of Ada's arrives that has gone to these nodes. Returns the transports that the
    /// controller sends it to.
    fn sends(&mut self, handle: u16, nodes: Vec<(NodeId, u64)>) -> Vec<TransportId> {
        self.world.handle(Input::Data {
            transport: self.endpoints["ada"].transport,
            message: MessageId { node: NODE, number: 1 },
            passed_on: Some(2),
            linked: Linked { nodes, failed: None },
            data: Some(Box::new(DataMessage {
                reliable: false,
                sequence: 0,
                sender_sid: String::new(),
                sender_identity: String::new(),
                generated: false,
                destinations: Vec::new(),
                content: DataContent::Frame {
                    handle,
                    packet: [0; 12][..].into(),
                },
                len: 12,
            })),
        });
        let sent = self.world.out.iter().filter_map(|output| match output {
            Output::Data { to, .. } => Some(to.clone()),
            _ => None,
        });
        sent.flatten().collect()
    }
}

#[test]
fn a_data_track_is_known_at_the_nodes_that_its_packets_go_to() {
    let mut cluster = Cluster::new(true);
    cluster.publish(7);
    let (handle, route) = cluster.routes.first_key_value().expect("a route");
    let [ada, ben, cleo] = ["ada", "ben", "cleo"].map(|name| cluster.endpoints[name].clone());
    assert_eq!(
        (&route.receivers[..], &route.nodes[..], route.elsewhere),
        (&[ben.transport][..], &[OTHER][..], false)
    );
    let track = DistantTrack {
        sender: ada.sid.clone(),
        handle: *handle,
        receivers: vec![cleo.transport],
    };
    assert_eq!(cluster.distant, [((OTHER, *handle), track)].into());
    // Another one behind the link, and somebody who has enough.
    let handle = *handle;
    cluster.join(OTHER, "dan");
    let dan = cluster.endpoints["dan"].transport;
    assert_eq!(cluster.distant[&(OTHER, handle)].receivers, [cleo.transport, dan]);
    cluster.request("cleo", Request::Leave);
    assert_eq!(cluster.distant[&(OTHER, handle)].receivers, [dan]);
    assert_eq!(cluster.routes[&handle].nodes, [OTHER]);
    cluster.request("dan", Request::Leave);
    assert!(cluster.distant.is_empty() && cluster.routes[&handle].nodes.is_empty());
}

#[test]
fn a_data_track_that_ends_is_forgotten_at_all_nodes() {
    let mut cluster = Cluster::new(true);
    cluster.publish(7);
    cluster.publish(8);
    assert_eq!((cluster.routes.len(), cluster.distant.len()), (2, 2));
    cluster.request("ada", Request::UnpublishDataTrack(7));
    assert_eq!((cluster.routes.len(), cluster.distant.len()), (1, 1));
    cluster.request("ada", Request::Leave);
    assert!(cluster.routes.is_empty() && cluster.distant.is_empty());
}

#[test]
fn a_data_track_goes_by_the_controller_to_nodes_of_the_version_before() {
    let mut cluster = Cluster::new(false);
    cluster.publish(7);
    let route = cluster.routes.values().next().expect("a route");
    assert_eq!((&route.nodes[..], route.elsewhere), (&[][..], true));
    assert!(cluster.distant.is_empty());
    let cleo = cluster.endpoints["cleo"].transport;
    assert_eq!(cluster.sends(7, Vec::new()), [cleo]);
}

#[test]
fn the_controller_sends_packets_to_those_whom_no_link_has_reached() {
    let mut cluster = Cluster::new(true);
    cluster.publish(7);
    let cleo = cluster.endpoints["cleo"].clone();
    assert_eq!(cluster.sends(7, Vec::new()), [cleo.transport]);
    assert_eq!(cluster.sends(7, vec![(OTHER, cleo.number)]), []);
    assert_eq!(cluster.sends(7, vec![(OTHER, cleo.number - 1)]), [cleo.transport]);
}

#[test]
fn data_tracks_are_said_to_nodes_again() {
    let mut cluster = Cluster::new(true);
    cluster.publish(7);
    let repeated = |cluster: &mut Cluster, id| {
        let mut out = Vec::new();
        let now = cluster.world.now;
        cluster.world.controller.takeover().repeat(now, "lobby", id, &mut out);
        let commands = out.into_iter().filter_map(|output| match output {
            Output::Command { command, .. } => Some(command),
            _ => None,
        });
        commands.collect::<Vec<_>>()
    };
    let route = cluster.routes.values().next().expect("a route").clone();
    let track = cluster.distant.values().next().expect("a track").clone();
    assert!(repeated(&mut cluster, NODE).contains(&Command::SetDataTrack(Box::new(route))));
    assert!(repeated(&mut cluster, OTHER).contains(&Command::SetDistantTrack(Box::new(track))));
}
