//! One controller that saves, and another one that goes on.

use access::{ApiKeys, Claims, VideoGrant};
use cluster::seal::SealKeys;
use controller::{
    AdminRequest, AdminRequestId, ClientTraits, Config, ConnectionId, CreateRoom, Input, Join, PeerMode, WallClock,
};
use environment::Random;
use southbound::{Capabilities, Fingerprint, HashFunction, Node, Notice};

use super::*;

const NODE: NodeId = NodeId(1);
const SPARE: NodeId = NodeId(2);

/// Parts with their names.
type Saved = Vec<(Arc<str>, Arc<[u8]>)>;

/// A controller with its snapshots, and the parts that nodes have.
struct World {
    rooms: Controller,
    snapshots: Snapshots,
    parts: BTreeMap<Arc<str>, (NodeId, Part)>,
    connections: u64,
}

impl World {
    fn new(seed: u8) -> Self {
        Self::with(seed, 1_000)
    }

    fn with(seed: u8, participants_max: usize) -> Self {
        let now = Instant::now();
        let clock = WallClock {
            now,
            unix: Duration::from_secs(1_800_000_000),
        };
        let config = Config {
            participants_max,
            ..Config::new(ApiKeys::default().with("devkey", "secret"))
        };
        let mut rooms = Controller::new(config, clock, [seed; 32]);
        rooms.takeover().note_unsaved();
        let notice = Notice::Node(Node {
            node: NODE,
            addresses: vec!["192.0.2.1:7882".parse().unwrap()],
            tcp_addresses: Vec::new(),
            fingerprint: Fingerprint {
                hash: HashFunction::Sha256,
                digest: vec![0xab; 32],
            },
            clear_rtp: false,
            clear_trunks: false,
            capabilities: Capabilities::ALL,
        });
        rooms.handle(now, Input::Notice { node: NODE, notice }, &mut Vec::new());
        let keys = SealKeys::parse("Xk2vF0c4VQ1m9r6tq3bJ8hN5wZ7yE0aLxP2sD4gH6jM=").unwrap();
        Self {
            rooms,
            snapshots: Snapshots::new(Sealer::new(keys, Random::new([seed; 32]))),
            parts: BTreeMap::new(),
            connections: 0,
        }
    }

    fn create(&mut self, name: &str) {
        let request = AdminRequest::CreateRoom(CreateRoom {
            api_key: "devkey".to_owned(),
            name: name.to_owned(),
            ..CreateRoom::default()
        });
        self.ask(request);
    }

    fn ask(&mut self, request: AdminRequest) {
        let request_id = AdminRequestId(1);
        let input = Input::Admin { request_id, request };
        self.rooms.handle(Instant::now(), input, &mut Vec::new());
    }

    fn remove(&mut self, room: &str, identity: &str) {
        self.ask(AdminRequest::RemoveParticipant {
            room: room.to_owned(),
            identity: identity.to_owned(),
        });
    }

    fn join(&mut self, room: &str, identity: &str) {
        let join = Join {
            claims: Claims {
                iss: "devkey".to_owned(),
                sub: identity.to_owned(),
                video: VideoGrant {
                    room_join: true,
                    room: room.to_owned(),
                    ..VideoGrant::default()
                },
                ..Claims::default()
            },
            mode: PeerMode::Single,
            traits: ClientTraits::default(),
            auto_subscribe: true,
            auto_subscribe_data: false,
            attributes: BTreeMap::new(),
            metadata: String::new(),
            tracks: Vec::new(),
            offer: None,
            room: CreateRoom::default(),
            region: None,
        };
        self.connections += 1;
        let (connection, join) = (ConnectionId(self.connections), Box::new(join));
        self.rooms
            .handle(Instant::now(), Input::Join { connection, join }, &mut Vec::new());
    }

    fn keep(&mut self, part: &str, content: Option<&str>) {
        let content = content.map(|content| content.as_bytes().to_vec());
        self.snapshots.keep(Instant::now(), &"lobby".into(), part, content);
    }

    /// Saves all changes. Returns the parts that are saved, and those that are forgotten.
    fn save(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut saved, mut forgotten) = (Vec::new(), Vec::new());
        for (_, node, content) in self
            .snapshots
            .save_changes(&mut self.rooms, &[SPARE], true, Instant::now)
        {
            match content {
                RoomContent::Save { part: name, blob } => {
                    saved.push(name.to_string());
                    self.parts.insert(name.clone(), (node, Part { name, blob }));
                }
                RoomContent::Forget { part } => {
                    forgotten.push(part.to_string());
                    self.parts.remove(&part);
                }
                other => panic!("{other:?}"),
            }
        }
        (saved, forgotten)
    }

    /// Another controller goes on with the room from its parts.
    fn successor(&self) -> (World, Saved) {
        let mut after = World::new(8);
        let room: Arc<str> = "lobby".into();
        let parts: Vec<_> = self.parts.values().cloned().collect();
        let mut opened = after.snapshots.open(&room, &parts);
        let keepsakes = opened.keepsakes.clone();
        if let Some(saved) = opened.room.take() {
            let people = std::mem::take(&mut opened.participants);
            let mut takeover = after.rooms.takeover();
            let restored = takeover.restore(Instant::now(), &room, saved, people, &mut Vec::new());
            assert_eq!(restored, Ok(()));
        }
        after.snapshots.adopt(&room, opened);
        after.parts = self.parts.clone();
        (after, keepsakes)
    }
}

#[test]
fn a_room_that_goes_on_unchanged_is_not_saved_again() {
    let mut before = World::new(7);
    before.join("lobby", "ada");
    before.keep("webhook 1", Some("joined"));
    let (saved, _) = before.save();
    assert_eq!(saved[..2], ["webhook 1", "room"], "an event is kept before its change");
    assert!(saved[2].starts_with("PA_") && saved.len() == 3, "{saved:?}");
    assert_eq!(before.snapshots.take_saved(), ["lobby".into()]);

    let (mut after, keepsakes) = before.successor();
    assert_eq!(keepsakes, [("webhook 1".into(), b"joined".as_slice().into())]);
    assert_eq!(after.rooms.takeover().participants("lobby").len(), 1);
    assert_eq!(after.save(), (Vec::new(), Vec::new()));
    after.keep("webhook 1", None);
    assert_eq!(after.save(), (Vec::new(), vec!["webhook 1".to_owned()]));
    after.join("lobby", "ben");
    assert_eq!(after.save().0.len(), 1, "the newcomer alone");
}

#[test]
fn parts_outlive_their_room_until_they_are_over() {
    let mut before = World::new(7);
    before.keep("webhook 1", Some("finished"));
    assert_eq!(before.save(), (vec!["webhook 1".to_owned()], Vec::new()));
    let (mut after, keepsakes) = before.successor();
    assert_eq!(keepsakes.len(), 1);
    assert!(after.rooms.takeover().rooms().is_empty());
    assert!(after.snapshots.has_keepsakes("lobby"));
    after.keep("webhook 1", None);
    assert!(!after.snapshots.has_keepsakes("lobby"));
    assert_eq!(after.save(), (Vec::new(), vec!["webhook 1".to_owned()]));
}

#[test]
fn a_part_that_another_cluster_sealed_is_left_out_with_the_reason() {
    let mut before = World::new(7);
    before.create("lobby");
    before.keep("webhook 1", Some("started"));
    before.save();
    let (_, Part { blob, .. }) = before.parts.get_mut("webhook 1").unwrap();
    *blob = blob.iter().map(|byte| byte ^ 1).collect();
    let (mut after, keepsakes) = before.successor();
    assert_eq!(keepsakes, []);
    let flaws = after.snapshots.take_flaws();
    assert_eq!(
        (flaws.len(), flaws[0].part.as_str(), flaws[0].what),
        (1, "webhook 1", "is lost")
    );
    assert!(after.rooms.takeover().room("lobby").is_some());
}

#[test]
fn rooms_that_are_left_of_a_turn_are_saved_in_the_next_one() {
    let mut world = World::new(7);
    let begun = Instant::now();
    for room in ["a", "b", "c"] {
        world.create(room);
    }
    let slow = std::cell::Cell::new(begun);
    let clock = || {
        slow.set(slow.get() + TURN);
        slow.get()
    };
    let (rooms, snapshots) = (&mut world.rooms, &mut world.snapshots);
    let first = snapshots.save_changes(rooms, &[SPARE], false, clock);
    assert_eq!(first.len(), 1);
    assert!(snapshots.due().is_some(), "the others wait");
    // A room with a part of a front end is the next one.
    snapshots.keep(begun, &"c".into(), "webhook 1", Some(Vec::new()));
    let second = snapshots.save_changes(rooms, &[SPARE], false, clock);
    assert!(second.iter().all(|(room, ..)| **room == *"c"), "{second:?}");
    assert_eq!(snapshots.save_changes(rooms, &[SPARE], true, clock).len(), 1);
    assert!(snapshots.due().is_none());
}

/// The participants that are written, the parts that are saved and their bytes, for the last joins
/// of a room of this size.
fn cost_of_joins(size: usize) -> (u64, usize, usize) {
    const JOINS: usize = 20;
    let mut world = World::with(7, size + JOINS);
    for number in 0..size {
        world.join("lobby", &format!("listener {number}"));
        if number % 100 == 0 {
            world.save();
        }
    }
    world.save();
    let written = world.snapshots.written();
    let (mut parts, mut bytes) = (0, 0);
    for number in size..size + JOINS {
        world.join("lobby", &format!("listener {number}"));
        for part in world.save().0 {
            parts += 1;
            bytes += world.parts[part.as_str()].1.blob.len();
        }
    }
    (world.snapshots.written() - written, parts, bytes)
}

#[test]
fn a_join_is_saved_at_the_cost_of_one_participant_in_a_room_of_any_size() {
    let (small, large) = (cost_of_joins(100), cost_of_joins(2_000));
    assert_eq!(small.0, 20, "those who join are written, and nobody else");
    assert_eq!((small.0, small.1), (large.0, large.1));
    assert!(large.2 < small.2 + small.2 / 10, "{small:?} {large:?}");
}

#[test]
fn participants_who_have_left_are_forgotten() {
    let mut world = World::with(7, 100);
    for identity in ["ada", "ben", "cat"] {
        world.join("lobby", identity);
    }
    let people = |parts: Vec<String>| parts.iter().filter(|part| part.starts_with(PARTICIPANT)).count();
    assert_eq!(people(world.save().0), 3);
    world.remove("lobby", "ada");
    let (saved, forgotten) = world.save();
    assert_eq!((people(saved), people(forgotten)), (0, 1));
    // Another room of the name begins before the end of this one is saved.
    world.ask(AdminRequest::DeleteRoom {
        room: "lobby".to_owned(),
    });
    world.join("lobby", "dan");
    let (saved, forgotten) = world.save();
    assert_eq!((people(saved), people(forgotten)), (1, 2));
}
