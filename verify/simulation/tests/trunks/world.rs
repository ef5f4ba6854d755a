//! Two nodes, the people at them, and the way between them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dataplane::{Egress, Path};
use is::stun::{StunMessage, TransId};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::{Command, TrackId};
use wire::PacketKind;

use crate::cable::Cable;
use crate::camera::Camera;
use crate::node::Node;
use crate::orders::{self, FIRST, TRACKS, Trunk, node_address};
use crate::viewer::Viewer;

/// One way between a node and a person at it.
const NEAR: Duration = Duration::from_millis(5);
/// Between two checks of a person.
const CHECK: Duration = Duration::from_secs(2);
/// How many people watch.
pub(crate) const VIEWERS: usize = 2;
const PORT: u16 = 1_000;

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) nodes: [Node; 2],
    /// From each node to the other.
    pub(crate) cables: [Cable; 2],
    pub(crate) camera: Camera,
    /// The person that the camera is with.
    pub(crate) filmed_by: usize,
    pub(crate) viewers: Vec<Viewer>,
    travelling: BTreeMap<(Instant, u64), (End, Path, Vec<u8>)>,
    sent: u64,
    check_at: Instant,
    people: usize,
}

/// The end of a datagram's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Node(usize),
    Person(usize),
}

/// The node that a person is at: the camera is person 0, and the viewers follow.
fn node_of(person: usize) -> usize {
    usize::from(person > 0)
}

/// The viewer that a person is, if it is one.
fn viewer(person: usize) -> Option<usize> {
    person.checked_sub(1).filter(|viewer| *viewer < VIEWERS)
}

/// The way of a person's datagrams, as its node sees it.
fn path(person: usize) -> Path {
    Path {
        local: node_address(node_of(person)),
        remote: ([198, 51, 100, 1], PORT + person as u16).into(),
    }
}

/// The way of the trunk, as a node sees it.
pub(crate) fn trunk_path(node: usize) -> Path {
    Path {
        local: node_address(node),
        remote: node_address(1 - node),
    }
}

impl World {
    /// Two nodes with people at them, and nothing published.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let mut world = World {
            now,
            nodes: [0, 1].map(|index| Node::new(index, now)),
            cables: [3, 4].map(|seed| Cable::new(seed, now)),
            camera: Camera::new(now),
            filmed_by: 0,
            viewers: (0..VIEWERS).map(|_| Viewer::new(now)).collect(),
            travelling: BTreeMap::new(),
            sent: 0,
            check_at: now,
            people: 1 + VIEWERS,
        };
        for person in 0..=VIEWERS {
            for command in orders::person(person) {
                world.command(node_of(person), command);
            }
        }
        world.run(Duration::from_millis(200));
        world
    }

    /// The same, where the camera is watched over the trunk.
    pub(crate) fn watching() -> Self {
        let mut world = Self::new();
        world.command(0, orders::publish_camera(TRACKS[0], 0));
        world.join(FIRST, TRACKS[1]);
        (1..=VIEWERS).for_each(|person| world.command(1, orders::watch(person, TRACKS[1])));
        world
    }

    /// Opens a trunk. It carries the camera's encodings to a track of the far node.
    pub(crate) fn join(&mut self, trunk: Trunk, track: TrackId) {
        self.carry(trunk);
        self.command(1, trunk.publish(track));
    }

    /// Opens a trunk that carries the camera's encodings, and that nobody takes them from yet.
    pub(crate) fn carry(&mut self, trunk: Trunk) {
        (0..2).for_each(|node| self.command(node, trunk.open(node)));
        (0..3).for_each(|index| self.command(0, trunk.subscribe(index)));
    }

    /// Closes both ends of a trunk.
    pub(crate) fn part(&mut self, trunk: Trunk) {
        for node in 0..2 {
            let transport = trunk.transport(node);
            self.command(node, Command::Close { transport });
        }
    }

    /// Another person is there, at the far node.
    pub(crate) fn add_person(&mut self) -> usize {
        let person = self.people;
        self.people += 1;
        for command in orders::person(person) {
            self.command(node_of(person), command);
        }
        self.check(person);
        person
    }

    pub(crate) fn command(&mut self, node: usize, command: Command) {
        self.nodes[node].command(self.now, command);
        self.route(node);
    }

    /// A datagram arrives at a node from anywhere.
    pub(crate) fn deliver(&mut self, node: usize, path: Path, bytes: &[u8]) {
        self.nodes[node].packet(self.now, path, bytes);
        self.route(node);
    }

    /// A viewer sends RTCP.
    pub(crate) fn say(&mut self, viewer: usize, compound: Vec<u8>) {
        let person = viewer + 1;
        self.post(self.now + NEAR, End::Node(node_of(person)), path(person), compound);
    }

    /// Lets this much time pass.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let timeouts = self.nodes.iter().filter_map(Node::poll_timeout);
            let travelling = self.travelling.keys().next().map(|(at, _)| *at);
            let looks = self.viewers.iter().map(|viewer| viewer.next_look);
            let reports = self.viewers.iter().map(|viewer| viewer.link.next_report());
            let others = [self.camera.next_frame, self.check_at];
            let next = timeouts
                .chain(travelling)
                .chain(looks)
                .chain(reports)
                .chain(others)
                .min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.step();
        }
        self.now = end;
    }

    fn step(&mut self) {
        let now = self.now;
        if self.check_at <= now {
            self.check_at = now + CHECK;
            (0..self.people).for_each(|person| self.check(person));
        }
        for packet in self.camera.send(now) {
            let person = self.filmed_by;
            self.post(now + NEAR, End::Node(node_of(person)), path(person), packet);
        }
        for viewer in 0..VIEWERS {
            if self.viewers[viewer].next_look <= now
                && let Some(request) = self.viewers[viewer].look(now)
            {
                self.say(viewer, request);
            }
        }
        for viewer in 0..VIEWERS {
            let mut reports = Vec::new();
            self.viewers[viewer].link.report(now, &mut reports);
            reports.into_iter().for_each(|report| self.say(viewer, report));
        }
        while let Some(entry) = self.travelling.first_entry().filter(|entry| entry.key().0 <= now) {
            let (end, path, bytes) = entry.remove();
            match end {
                End::Node(node) => self.deliver(node, path, &bytes),
                End::Person(person) => self.receive(person, &bytes),
            }
        }
        for node in 0..2 {
            self.nodes[node].handle_timeout(now);
            self.route(node);
        }
    }

    /// A datagram arrives at a person.
    fn receive(&mut self, person: usize, bytes: &[u8]) {
        match (wire::classify(bytes), viewer(person)) {
            (PacketKind::Stun, _) => {
                let password = orders::credentials("peer", person).password;
                if let Some(answer) = virtual_device::answer(bytes, path(person).local, &password) {
                    self.post(self.now + NEAR, End::Node(node_of(person)), path(person), answer);
                }
            }
            (PacketKind::Rtp, Some(viewer)) => self.viewers[viewer].receive(self.now, bytes),
            (PacketKind::Rtcp, None) if person == self.filmed_by => self.camera.receive(self.now, bytes),
            _ => {}
        }
    }

    /// A person proves that it is there.
    fn check(&mut self, person: usize) {
        let (local, remote) = ("node", "peer");
        let [local, remote] = [local, remote].map(|side| orders::credentials(side, person));
        let username = format!("{}:{}", local.ufrag, remote.ufrag);
        let check = StunMessage::binding_request(&username, TransId::new(), true, 7, 100, true);
        let hmac = |key: &[u8], parts: &[&[u8]]| DefaultSha1HmacProvider.sha1_hmac(key, parts);
        let mut bytes = vec![0; 256];
        let len = check
            .to_bytes(Some(local.password.as_bytes()), &mut bytes, hmac)
            .expect("a check fits");
        bytes.truncate(len);
        self.post(self.now + NEAR, End::Node(node_of(person)), path(person), bytes);
    }

    /// Puts on their way the datagrams that a node has sent.
    fn route(&mut self, node: usize) {
        for Egress { path, bytes, .. } in self.nodes[node].take_sent() {
            if path.remote == node_address(1 - node) {
                if let Some(at) = self.cables[node].take(self.now, &bytes) {
                    self.post(at, End::Node(1 - node), trunk_path(1 - node), bytes);
                }
            } else {
                let person = usize::from(path.remote.port() - PORT);
                let arrives = match (wire::classify(&bytes), viewer(person)) {
                    (PacketKind::Rtp, Some(viewer)) => self.viewers[viewer].take(self.now, &bytes),
                    _ => Some(self.now + NEAR),
                };
                if let Some(at) = arrives {
                    self.post(at, End::Person(person), path, bytes);
                }
            }
        }
    }

    fn post(&mut self, at: Instant, end: End, path: Path, bytes: Vec<u8>) {
        self.sent += 1;
        self.travelling.insert((at, self.sent), (end, path, bytes));
    }
}
