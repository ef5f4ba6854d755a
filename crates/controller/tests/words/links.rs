//! The participants of other nodes that nodes are told, and messages that links have carried.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controller::{DataContent, DataMessage, Input, NodeStanding, Output, Request, UserData};
use southbound::{Command, FailedLink, Linked, MessageId, NodeId, Notice, TransportId};

use crate::world::{NODE, World, joining, node};

const OTHER: NodeId = NodeId(2);

fn standing(takes: bool, has_links: bool) -> NodeStanding {
    NodeStanding {
        load: u32::from(!takes),
        capacity: if takes { u32::MAX } else { 1 },
        passes_messages_on: true,
        has_links,
        ..NodeStanding::default()
    }
}

/// Two nodes, and what each knows of the other one's participants.
struct Cluster {
    world: World,
    has_links: bool,
    own: BTreeMap<String, (NodeId, TransportId)>,
    distant: BTreeMap<NodeId, BTreeSet<String>>,
    reaches: BTreeMap<(NodeId, NodeId), u64>,
    elsewhere: BTreeMap<NodeId, bool>,
    commands: Vec<(NodeId, Command)>,
}

impl Cluster {
    fn new(has_links: bool) -> Self {
        let mut world = World::new();
        world.notice(OTHER, Notice::Node(node(OTHER)));
        Self {
            world,
            has_links,
            own: BTreeMap::new(),
            distant: BTreeMap::new(),
            reaches: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            commands: Vec::new(),
        }
    }

    fn join(&mut self, at: NodeId, identity: &str) -> controller::ConnectionId {
        for id in [NODE, OTHER] {
            let now = self.world.now;
            let standing = standing(id == at, self.has_links);
            self.world.controller.placement().set_standing(now, id, standing);
        }
        let connection = self.world.join_with(joining(identity));
        self.note();
        connection
    }

    fn note(&mut self) {
        self.commands.clear();
        for output in &self.world.out {
            let Output::Command { node, command, .. } = output else {
                continue;
            };
            self.commands.push((*node, command.clone()));
            let distant = self.distant.entry(*node).or_default();
            match command {
                Command::SetEndpoint(endpoint) => {
                    self.own
                        .insert(endpoint.identity.to_string(), (*node, endpoint.transport));
                }
                Command::SetDistantEndpoint(endpoint) => {
                    let (at, transport) = self.own[&*endpoint.identity];
                    assert_eq!((endpoint.node, endpoint.transport), (at, transport));
                    distant.insert(endpoint.identity.to_string());
                }
                Command::RemoveDistantEndpoint { transport } => {
                    let own = &self.own;
                    distant.retain(|identity| own[identity].1 != *transport);
                }
                Command::SetReach { node: to, number } => {
                    self.reaches.insert((*node, *to), *number);
                }
                Command::SetElsewhere { elsewhere } => {
                    self.elsewhere.insert(*node, *elsewhere);
                }
                _ => {}
            }
        }
    }

    /// A reliable message of somebody arrives. Returns the transports that it is sent to.
    fn says(&mut self, identity: &str, sequence: u32, passed_on: Option<u64>, linked: Linked) -> Vec<TransportId> {
        let (node, transport) = self.own[identity];
        self.world.handle(Input::Data {
            transport,
            message: MessageId { node, number: 1 },
            passed_on,
            linked,
            data: Some(Box::new(DataMessage {
                reliable: true,
                sequence,
                sender_sid: String::new(),
                sender_identity: String::new(),
                generated: false,
                destinations: Vec::new(),
                content: DataContent::User(UserData::default()),
                len: 10,
            })),
        });
        self.note();
        let sent = self.world.out.iter().filter_map(|output| match output {
            Output::Data { to, .. } => Some(to.clone()),
            _ => None,
        });
        sent.flatten().collect()
    }
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn nodes_are_told_of_participants_on_others() {
    let mut cluster = Cluster::new(true);
    cluster.join(NODE, "ada");
    assert!(cluster.reaches.is_empty(), "there is no other node");
    let cleo = cluster.join(OTHER, "cleo");
    assert_eq!(
        cluster.distant,
        [(NODE, names(["cleo"])), (OTHER, names(["ada"]))].into()
    );
    assert_eq!(cluster.reaches, [((NODE, OTHER), 2), ((OTHER, NODE), 2)].into());
    assert_eq!(cluster.elsewhere, [(NODE, false), (OTHER, false)].into());
    cluster.join(NODE, "ben");
    assert_eq!(cluster.distant[&OTHER], names(["ada", "ben"]));
    assert_eq!(cluster.reaches, [((NODE, OTHER), 3), ((OTHER, NODE), 3)].into());
    cluster.world.request(cleo, Request::Leave);
    cluster.note();
    assert_eq!(cluster.distant[&NODE], names([]));
    assert_eq!(cluster.reaches, [((NODE, OTHER), 0), ((OTHER, NODE), 0)].into());
    assert!(!cluster.elsewhere[&NODE]);
}

#[test]
fn nodes_without_links_are_told_of_nobody() {
    let mut cluster = Cluster::new(false);
    cluster.join(NODE, "ada");
    cluster.join(OTHER, "cleo");
    assert!(cluster.reaches.is_empty() && cluster.distant.values().all(BTreeSet::is_empty));
    assert!(cluster.elsewhere[&NODE]);
}

#[test]
fn the_controller_serves_those_whom_no_link_has_reached() {
    let mut cluster = Cluster::new(true);
    cluster.join(NODE, "ada");
    cluster.join(OTHER, "cleo");
    cluster.join(OTHER, "dan");
    let [cleo, dan] = ["cleo", "dan"].map(|name| cluster.own[name].1);
    let linked = |number| Linked {
        nodes: vec![(OTHER, number)],
        failed: None,
    };
    assert_eq!(cluster.says("ada", 1, Some(1), Linked::default()), [cleo, dan]);
    assert_eq!(cluster.says("ada", 2, Some(1), linked(2)), [dan]);
    assert_eq!(cluster.says("ada", 3, Some(1), linked(3)), []);
}

#[test]
fn the_controller_passes_on_what_a_link_has_failed() {
    let mut cluster = Cluster::new(true);
    cluster.join(NODE, "ada");
    cluster.join(NODE, "ben");
    cluster.join(OTHER, "cleo");
    cluster.join(OTHER, "dan");
    let cleo = cluster.own["cleo"].1;
    cluster.says("ada", 7, Some(2), Linked::default());
    let failed = Linked {
        nodes: Vec::new(),
        failed: Some(FailedLink {
            node: OTHER,
            series: 4,
            number: 3,
        }),
    };
    // The numbers of its sender do not matter, which it has seen before.
    assert_eq!(cluster.says("ada", 5, Some(2), failed), [cleo]);
    let ended = Command::SetSource {
        node: NODE,
        series: 4,
        number: 0,
    };
    assert_eq!(cluster.commands[0], (OTHER, ended));
}

#[test]
fn the_controller_passes_on_what_somebody_has_missed() {
    let mut cluster = Cluster::new(true);
    cluster.join(NODE, "ada");
    cluster.join(OTHER, "cleo");
    let cleo = cluster.own["cleo"].1;
    let participants = cluster.world.controller.takeover().participants("lobby");
    let sid_of = |identity: &str| {
        let mut all = participants.iter();
        let found = all.find(|participant| participant.identity == identity);
        Arc::<str>::from(found.expect("it has joined").sid.as_str())
    };
    let (ada, sid_of_cleo) = (sid_of("ada"), sid_of("cleo"));
    let missed = |room: &str, sender: &Arc<str>, transport| Notice::Missed {
        room: room.into(),
        sender: sender.clone(),
        transport,
        label: "_reliable".into(),
        payload: b"2"[..].into(),
    };
    // It takes the word of the node that the sender is on.
    for (node, notice) in [
        (NODE, missed("attic", &ada, cleo)),
        (OTHER, missed("lobby", &ada, cleo)),
        (NODE, missed("lobby", &sid_of_cleo, cleo)),
        (NODE, missed("lobby", &ada, TransportId(999))),
    ] {
        cluster.world.notice(node, notice);
        cluster.note();
        assert_eq!(cluster.commands, []);
    }
    cluster.world.notice(NODE, missed("lobby", &ada, cleo));
    cluster.note();
    let send = Command::Send {
        to: vec![cleo],
        label: "_reliable".into(),
        payload: b"2"[..].into(),
        reliable: true,
        message: None,
    };
    assert_eq!(cluster.commands, [(OTHER, send)]);
}

#[test]
fn the_controller_says_when_what_it_got_from_a_node_has_been_passed_on() {
    let mut cluster = Cluster::new(true);
    cluster.join(NODE, "ada");
    cluster.join(OTHER, "cleo");
    let reaches = |room: &str, node| Notice::Reaches {
        room: room.into(),
        node,
        series: 4,
        number: 2,
    };
    for (room, other) in [("attic", OTHER), ("lobby", NodeId(9))] {
        cluster.world.notice(NODE, reaches(room, other));
        cluster.note();
        assert_eq!(cluster.commands, []);
    }
    cluster.world.notice(NODE, reaches("lobby", OTHER));
    cluster.note();
    let source = Command::SetSource {
        node: NODE,
        series: 4,
        number: 2,
    };
    assert_eq!(cluster.commands, [(OTHER, source)]);
}
