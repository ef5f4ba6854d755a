//! Adoption that the store makes slow.

use std::time::Duration;

use southbound::{Epoch, NodeId, RoomState};

use super::*;
use crate::cluster::Config;
use crate::io::{Input, MemberChange, NodeEvent, StoreAnswer, StoreOperation, StoredValue};
use crate::limits::SUSPICION;
use crate::record::{ControllerRecord, RoomRecord, controller_key, write};

const OWN: ControllerId = ControllerId::new(1);
const GONE: ControllerId = ControllerId::new(2);
const NODE: NodeId = NodeId(1);
const ADDRESS: &str = "gone.example:7891";

/// A controller beside a store that answers about rooms in turns.
struct World {
    cluster: Cluster,
    now: Instant,
    out: Vec<Output>,
    /// Requests about rooms that wait for the next turn.
    asked: Vec<Input>,
    opened: usize,
    elsewhere: usize,
}

impl World {
    fn input(&mut self, input: Input) {
        self.cluster.handle(self.now, input, &mut self.out);
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(output) = (!self.out.is_empty()).then(|| self.out.remove(0)) {
            let store = |request, answer| Input::Store { request, answer };
            let won = StoreAnswer::Won { revision: 7 };
            match output {
                Output::Store { request, operation } => match operation {
                    StoreOperation::GrantLease | StoreOperation::KeepAlive => {
                        let answer = store(request, StoreAnswer::Done);
                        self.cluster.handle(self.now, answer, &mut self.out);
                    }
                    StoreOperation::Read { .. } => {
                        let value = write(&RoomRecord {
                            owner: GONE.number(),
                            epoch: 1,
                        });
                        let found = StoredValue { value, revision: 1 };
                        self.asked.push(store(request, StoreAnswer::Entry(Some(found))));
                    }
                    StoreOperation::Swap { .. } => self.asked.push(store(request, won)),
                    StoreOperation::Claim { .. } => self.cluster.handle(self.now, store(request, won), &mut self.out),
                    StoreOperation::Delete { .. } => {}
                },
                Output::ToNode { node, message } => {
                    let event = NodeEvent::Claimed {
                        room: message.room,
                        epoch: message.epoch,
                    };
                    self.cluster
                        .handle(self.now, Input::Node { node, event }, &mut self.out);
                }
                Output::Opened { .. } => self.opened += 1,
                Output::Elsewhere { .. } => self.elsewhere += 1,
                _ => {}
            }
        }
    }

    fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(at) = self.cluster.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.cluster.handle_timeout(self.now, &mut self.out);
            self.settle();
        }
        self.now = end;
    }
}

#[test]
fn an_owner_stays_gone_until_all_of_its_rooms_are_adopted() {
    let now = Instant::now();
    let record = |address: &str| ControllerRecord {
        address: address.to_owned(),
        ..ControllerRecord::default()
    };
    let config = Config {
        controller: OWN,
        record: record("own.example:7891"),
        lease: Duration::from_secs(6),
    };
    let mut world = World {
        cluster: Cluster::new(config, now),
        now,
        out: Vec::new(),
        asked: Vec::new(),
        opened: 0,
        elsewhere: 0,
    };
    world.advance(Duration::from_millis(1));
    for (controller, address) in [(OWN, "own.example:7891"), (GONE, ADDRESS)] {
        let (key, value) = (controller_key(controller), write(&record(address)));
        world.input(Input::Member(MemberChange::Put { key, value }));
    }
    world.input(Input::Member(MemberChange::Complete));
    let rooms = (0..5 * ORPHANS_AT_ONCE).map(|number| RoomState {
        room: format!("room-{number}").into(),
        owner: GONE,
        epoch: Epoch(1),
        revision: 1,
        has_ended: false,
    });
    let rooms: Vec<_> = rooms.collect();
    let all = rooms.len();
    let event = NodeEvent::Connected { rooms };
    world.input(Input::Node { node: NODE, event });
    world.advance(Duration::from_secs(4));
    assert_eq!((world.opened, world.elsewhere), (0, 0), "the owner runs");

    let (begun, address) = (world.now, ADDRESS.to_owned());
    world.input(Input::Suspect { address });
    while !world.asked.is_empty() {
        world.advance(Duration::from_millis(1_500));
        for answer in std::mem::take(&mut world.asked) {
            world.input(answer);
        }
    }
    assert!(world.now > begun + SUSPICION, "the store was slow");
    assert_eq!((world.opened, world.elsewhere), (all, 0));
    // Nothing is left to adopt, so it may be another process that answers there.
    world.advance(SUSPICION);
    let room: Arc<str> = "room-0".into();
    world.input(Input::Release { room: room.clone() });
    world.input(Input::Suspect { address: String::new() });
    assert!(world.cluster.members.address(GONE).is_some());
}
