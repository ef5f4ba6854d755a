//! One controller, with everything of it that stands between its rooms and the nodes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::ApiKeys;
use cluster::seal::{SealKeys, Sealer};
use cluster::{Cluster, ControllerRecord, Input, MemberChange, NodeEvent, Output, Part};
use controller::{Config, Controller, NodeStanding, Notification, Request, WallClock};
use environment::Random;
use handover::Snapshots;
use southbound::{Capabilities, Command, ControllerId, Fingerprint, HashFunction, Node, NodeId, Notice, RoomContent};
use wire::srtp::SrtpProfile;

use crate::client::{Offers, join};
use crate::media::Media;
use crate::store::Store;

const KEY: &str = "Xk2vF0c4VQ1m9r6tq3bJ8hN5wZ7yE0aLxP2sD4gH6jM=";

/// A controller of the measurement.
pub(crate) struct Machine {
    pub(crate) id: ControllerId,
    pub(crate) rooms: Controller,
    cluster: Cluster,
    snapshots: Snapshots,
    connections: u64,
    /// Rooms that it goes on with, and when the last one was.
    pub(crate) adopted: usize,
    pub(crate) last: Option<Instant>,
}

/// The store and the nodes that controllers share.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) store: Store,
    pub(crate) nodes: BTreeMap<NodeId, Media>,
}

impl Machine {
    pub(crate) fn new(number: u32, outside: &mut Outside) -> Self {
        let now = Instant::now();
        let id = ControllerId::new(number);
        let keys = SealKeys::parse(KEY).expect("the key is one");
        let clock = WallClock {
            now,
            unix: Duration::from_secs(1_800_000_000),
        };
        let of_rooms = Config {
            controller: id,
            ..Config::new(ApiKeys::default().with("devkey", "secret"))
        };
        let config = cluster::Config {
            controller: id,
            record: record(number),
            lease: Duration::from_secs(3_600),
        };
        let mut machine = Self {
            id,
            rooms: Controller::new(of_rooms, clock, [number as u8; 32]),
            cluster: Cluster::new(config, now),
            snapshots: Snapshots::new(Sealer::new(keys, Random::new([number as u8; 32]))),
            connections: 0,
            adopted: 0,
            last: None,
        };
        machine.rooms.set_room_events(true);
        machine.rooms.takeover().note_unsaved();
        let mut out = Vec::new();
        machine.cluster.handle_timeout(now, &mut out);
        machine.perform(outside, out);
        for change in [MemberChange::Reset, MemberChange::Complete] {
            machine.input(outside, Input::Member(change));
        }
        for node in outside.nodes.keys().copied().collect::<Vec<_>>() {
            let notice = Notice::Node(said(node));
            machine
                .rooms
                .handle(now, controller::Input::Notice { node, notice }, &mut Vec::new());
            let standing = NodeStanding {
                capacity: u32::MAX,
                ..NodeStanding::default()
            };
            machine.rooms.placement().set_standing(now, node, standing);
            let rooms = outside.nodes[&node].states();
            let event = NodeEvent::Connected { rooms };
            machine.input(outside, Input::Node { node, event });
        }
        machine
    }

    /// Another controller runs beside it.
    pub(crate) fn meet(&mut self, outside: &mut Outside, number: u32) {
        let value = format!("{{\"name\":\"{number}\",\"address\":\"{number}:1\",\"draining\":false}}");
        let put = MemberChange::Put {
            key: cluster::controller_key(ControllerId::new(number)),
            value: value.into_bytes(),
        };
        self.input(outside, Input::Member(put));
    }

    pub(crate) fn input(&mut self, outside: &mut Outside, input: Input) {
        let mut out = Vec::new();
        self.cluster.handle(Instant::now(), input, &mut out);
        self.perform(outside, out);
    }

    /// A room with these people, each of whom publishes and receives.
    pub(crate) fn fill(&mut self, outside: &mut Outside, room: &str, people: usize, offers: &Offers) {
        let open = Input::Open {
            room: room.into(),
            creates: true,
            denied_by: None,
        };
        self.input(outside, open);
        for person in 0..people {
            self.connections += 1;
            let connection = controller::ConnectionId(self.connections);
            let identity = format!("person-{person}");
            let join = Box::new(join(room, &identity));
            self.tell(outside, controller::Input::Join { connection, join }, offers);
            let offer = Box::new(Request::Offer(offers.with_more(0)));
            self.tell(
                outside,
                controller::Input::Request {
                    connection,
                    request: offer,
                },
                offers,
            );
        }
    }

    /// Passes an input to the rooms. Transports connect as soon as they may, and clients offer the
    /// sections that they are asked for.
    fn tell(&mut self, outside: &mut Outside, input: controller::Input, offers: &Offers) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let mut out = Vec::new();
            self.rooms.handle(Instant::now(), input, &mut out);
            for output in &out {
                match output {
                    controller::Output::Notify {
                        connection,
                        notification: Notification::SectionsNeeded { audios, .. },
                    } => inputs.push_back(controller::Input::Request {
                        connection: *connection,
                        request: Box::new(Request::Offer(offers.with_more(*audios as usize))),
                    }),
                    controller::Output::Command {
                        node,
                        command: Command::Connect { transport, .. },
                        ..
                    } => inputs.push_back(controller::Input::Notice {
                        node: *node,
                        notice: Notice::Connected {
                            transport: *transport,
                            srtp: Some(SrtpProfile::AeadAes128Gcm),
                        },
                    }),
                    _ => {}
                }
            }
            self.pass_on(outside, &mut out);
        }
    }

    /// Saves everything that has changed. Returns how many messages that takes.
    pub(crate) fn save_all(&mut self, outside: &mut Outside) -> usize {
        let spare: Vec<_> = outside.nodes.keys().copied().collect();
        let messages = self.snapshots.save_changes(&mut self.rooms, &spare, true, Instant::now);
        let count = messages.len();
        for (room, node, content) in messages {
            self.send(outside, &room, node, content);
        }
        self.snapshots.take_saved();
        assert_eq!(self.snapshots.take_flaws(), []);
        count
    }

    /// Goes on with a room, as the program does.
    fn opened(&mut self, outside: &mut Outside, room: &Arc<str>, parts: &[(NodeId, Part)], nodes: &[NodeId]) {
        let now = Instant::now();
        let mut out = Vec::new();
        let mut opened = self.snapshots.open(room, parts);
        let Some(saved) = opened.room.take() else { return };
        let people = std::mem::take(&mut opened.participants);
        let restored = self.rooms.takeover().restore(now, room, saved, people, &mut out);
        assert_eq!(restored, Ok(()), "{room}");
        self.snapshots.adopt(room, opened);
        for node in nodes {
            self.rooms.takeover().repeat(now, room, *node, &mut out);
            self.pass_on(outside, &mut out);
            self.send(outside, room, *node, RoomContent::Complete);
        }
        self.adopted += 1;
        self.last = Some(Instant::now());
    }

    fn pass_on(&mut self, outside: &mut Outside, out: &mut Vec<controller::Output>) {
        for output in out.drain(..) {
            if let controller::Output::Command {
                node,
                room: Some(room),
                command,
            } = output
            {
                self.send(outside, &room, node, RoomContent::Command(command));
            }
        }
    }

    fn send(&mut self, outside: &mut Outside, room: &Arc<str>, node: NodeId, content: RoomContent) {
        let mut out = Vec::new();
        self.cluster.send(room, node, content, &mut out);
        self.perform(outside, out);
    }

    /// Does what the cluster says. Store and nodes answer after what is there already.
    fn perform(&mut self, outside: &mut Outside, outputs: Vec<Output>) {
        let mut todo = VecDeque::from(outputs);
        while let Some(output) = todo.pop_front() {
            let mut more = Vec::new();
            match output {
                Output::Store { request, operation } => {
                    let answer = outside.store.perform(operation);
                    let input = Input::Store { request, answer };
                    self.cluster.handle(Instant::now(), input, &mut more);
                }
                Output::ToNode { node, message } => {
                    let known = outside.nodes.get_mut(&node).expect("the node is there");
                    for event in known.take(self.id, message) {
                        let input = Input::Node { node, event };
                        self.cluster.handle(Instant::now(), input, &mut more);
                    }
                }
                Output::Opened { room, parts, nodes, .. } => self.opened(outside, &room, &parts, &nodes),
                // A suspicion is forgotten after a while, unless somebody repeats it.
                Output::Connect { .. } | Output::Elsewhere { .. } => {}
                other => panic!("{other:?}"),
            }
            todo.extend(more);
        }
    }

    /// A node has connected again.
    pub(crate) fn reconnect(&mut self, outside: &mut Outside, node: NodeId) {
        self.input(
            outside,
            Input::Node {
                node,
                event: NodeEvent::Lost,
            },
        );
        let rooms = outside.nodes[&node].states();
        let event = NodeEvent::Connected { rooms };
        self.input(outside, Input::Node { node, event });
    }
}

fn record(number: u32) -> ControllerRecord {
    ControllerRecord {
        name: number.to_string(),
        address: format!("{number}:1"),
        draining: false,
    }
}

fn said(node: NodeId) -> Node {
    Node {
        node,
        addresses: vec![([192, 0, 2, node.0 as u8], 7882).into()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    }
}
