//! Rooms that another controller goes on with.

use std::collections::BTreeMap;
use std::time::Duration;

use controller::{ConnectionId, ParticipantInfo, RoomChange, WallClock};
use livekit_protocol as proto;
use livekit_protocol::{JobStatus, JobType};

use super::world::{UNIX, World, agent, keys, room_info};
use crate::agents::{DispatchReply, DispatchRequest, SavedPart, Takeover, Workers, is_part};

const ROOM: &str = "lobby";
const WORKER: ConnectionId = ConnectionId(1);

/// The parts that nodes have of a room.
#[derive(Default)]
struct Nodes(BTreeMap<String, Vec<u8>>);

impl Nodes {
    fn keep(&mut self, workers: &mut Workers) {
        for SavedPart { room, part, content } in Takeover::of(workers).take_unsaved() {
            assert!(room == ROOM && is_part(&part), "{part}");
            match content {
                Some(content) => self.0.insert(part, content),
                None => self.0.remove(&part),
            };
        }
    }
}

fn controller(seed: u64) -> World {
    let mut world = World::new();
    let now = world.now;
    world.workers = Workers::new(keys(), WallClock { now, unix: UNIX }, seed);
    Takeover::of(&mut world.workers).note_unsaved();
    world
}

/// Another controller, which goes on with what the nodes have. A worker is connected there.
fn successor(nodes: &Nodes, present: Vec<ParticipantInfo>) -> World {
    let mut next = controller(8);
    next.worker(WORKER, "helper", JobType::JtRoom);
    let now = next.now;
    Takeover::of(&mut next.workers).room_restored(now, room_info(ROOM), present);
    for (part, content) in &nodes.0 {
        assert!(
            Takeover::of(&mut next.workers).restore(now, ROOM, part, content),
            "{part}"
        );
    }
    assert!(!next.has_offer(WORKER), "before all parts are there");
    next.pass(Duration::ZERO);
    next
}

fn dispatches(world: &mut World) -> Vec<proto::AgentDispatch> {
    let request = DispatchRequest::List {
        room: ROOM.to_owned(),
        id: String::new(),
    };
    match world.act(|workers, now, out| workers.administer(now, request, out)) {
        Ok(DispatchReply::All(all)) => all,
        other => panic!("{other:?}"),
    }
}

/// The id, the status and the agent of each job.
fn jobs(world: &mut World) -> Vec<(String, JobStatus, String)> {
    let states = dispatches(world).into_iter().filter_map(|dispatch| dispatch.state);
    let jobs = states.flat_map(|state| state.jobs);
    let told = jobs.map(|job| {
        let state = job.state.unwrap_or_default();
        (job.id, state.status(), state.participant_identity)
    });
    told.collect()
}

#[test]
fn a_dispatch_that_waits_is_assigned_once_by_the_next_controller() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.room(ROOM, &["helper"]);
    nodes.keep(&mut first.workers);
    assert_eq!(nodes.0.len(), 2, "without a worker no job has begun");
    let mut next = successor(&nodes, Vec::new());
    assert_eq!(dispatches(&mut next)[0].id, dispatches(&mut first)[0].id);
    next.runs(ROOM, WORKER, "bot");
    next.pass(Duration::from_secs(300));
    assert!(!next.has_offer(WORKER));
    assert_eq!(jobs(&mut next).len(), 1);
}

#[test]
fn a_job_that_is_offered_waits_again_under_its_id() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.worker(WORKER, "helper", JobType::JtRoom);
    first.room(ROOM, &["helper"]);
    let (job, _) = first.offer(WORKER).unwrap();
    nodes.keep(&mut first.workers);
    let mut next = successor(&nodes, Vec::new());
    assert_eq!(next.offer(WORKER).unwrap().0.id, job.id);
    assert!(!next.has_offer(WORKER));
}

#[test]
fn a_job_that_runs_stays_known_and_is_not_begun_again() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.worker(WORKER, "helper", JobType::JtRoom);
    first.room(ROOM, &["helper"]);
    let job = first.runs(ROOM, WORKER, "bot");
    nodes.keep(&mut first.workers);
    let mut next = successor(&nodes, vec![agent("bot")]);
    next.pass(Duration::from_secs(300));
    assert!(!next.has_offer(WORKER));
    assert_eq!(jobs(&mut next), [(job.clone(), JobStatus::JsRunning, "bot".to_owned())]);
    // The worker need not know that there is another controller.
    next.job_status(WORKER, &job, JobStatus::JsSuccess);
    assert_eq!(jobs(&mut next), [(job, JobStatus::JsSuccess, String::new())]);
    next.pass(Duration::from_secs(300));
    assert!(!next.has_offer(WORKER));
}

#[test]
fn a_job_whose_agent_never_came_is_offered_again() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.worker(WORKER, "helper", JobType::JtRoom);
    first.room(ROOM, &["helper"]);
    let (job, _) = first.offer(WORKER).unwrap();
    first.accept(WORKER, &job.id, "bot");
    nodes.keep(&mut first.workers);
    let mut next = successor(&nodes, Vec::new());
    assert!(!next.has_offer(WORKER), "the agent may still come");
    next.pass(Duration::from_secs(30));
    assert_eq!(next.offer(WORKER).unwrap().0.id, job.id);
}

#[test]
fn nothing_is_left_of_a_dispatch_that_is_deleted_and_of_a_room_that_is_over() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.worker(WORKER, "helper", JobType::JtRoom);
    first.room(ROOM, &["helper", "other"]);
    nodes.keep(&mut first.workers);
    assert_eq!(
        nodes.0.len(),
        4,
        "the room, two dispatches and a job: {:?}",
        nodes.0.keys()
    );
    let all = dispatches(&mut first);
    let helper = all.iter().find(|dispatch| dispatch.agent_name == "helper").unwrap();
    let request = DispatchRequest::Delete {
        room: ROOM.to_owned(),
        id: helper.id.clone(),
    };
    first
        .act(|workers, now, out| workers.administer(now, request, out))
        .unwrap();
    nodes.keep(&mut first.workers);
    assert_eq!(nodes.0.len(), 2, "{:?}", nodes.0.keys());
    first.event(ROOM, RoomChange::Finished);
    nodes.keep(&mut first.workers);
    assert!(nodes.0.is_empty(), "{:?}", nodes.0.keys());
}

#[test]
fn a_room_that_another_controller_has_is_not_forgotten_by_its_nodes() {
    let (mut first, mut nodes) = (controller(7), Nodes::default());
    first.worker(WORKER, "helper", JobType::JtRoom);
    first.room(ROOM, &["helper"]);
    nodes.keep(&mut first.workers);
    let before = nodes.0.clone();
    first.workers.room_released(ROOM);
    nodes.keep(&mut first.workers);
    assert_eq!(nodes.0, before);
}

#[test]
fn parts_that_cannot_be_read_are_of_no_use() {
    let mut world = controller(7);
    let now = world.now;
    assert!(
        !Takeover::of(&mut world.workers).restore(now, ROOM, "agents", b"{}"),
        "there is no such room"
    );
    Takeover::of(&mut world.workers).room_restored(now, room_info(ROOM), Vec::new());
    let junk: [(&str, &[u8]); 4] = [
        ("agents AD_1", b""),
        ("agents AD_1", b"{\"name\": 5}"),
        ("agents AD_1 AJ_1", b"{}"),
        ("agents AD_1 AJ_1", b"\xff"),
    ];
    for (part, content) in junk {
        assert!(
            !Takeover::of(&mut world.workers).restore(now, ROOM, part, content),
            "{part}"
        );
    }
    assert!(is_part("agents") && is_part("agents AD_1"));
    assert!(!is_part("webhook 1") && !is_part("agents_AD"));
}
