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
}

impl World {
    fn new(seed: u8) -> Self {
        let now = Instant::now();
        let clock = WallClock {
            now,
            unix: Duration::from_secs(1_800_000_000),
        };
        let config = Config::new(ApiKeys::default().with("devkey", "secret"));
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
            capabilities: Capabilities::ALL,
        });
        rooms.handle(now, Input::Notice { node: NODE, notice }, &mut Vec::new());
        let keys = SealKeys::parse("Xk2vF0c4VQ1m9r6tq3bJ8hN5wZ7yE0aLxP2sD4gH6jM=").unwrap();
        Self {
            rooms,
            snapshots: Snapshots::new(Sealer::new(keys, Random::new([seed; 32]))),
            parts: BTreeMap::new(),
        }
    }

    fn create(&mut self, name: &str) {
        let request = AdminRequest::CreateRoom(CreateRoom {
            api_key: "devkey".to_owned(),
            name: name.to_owned(),
            ..CreateRoom::default()
        });
        let request_id = AdminRequestId(1);
        let input = Input::Admin { request_id, request };
        self.rooms.handle(Instant::now(), input, &mut Vec::new());
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
        let (connection, join) = (ConnectionId(1), Box::new(join));
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
