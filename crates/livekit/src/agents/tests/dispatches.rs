//! Dispatches by the API.

use std::time::Duration;

use access::Claims;
use controller::AgentRequest;
use livekit_protocol as proto;
use livekit_protocol::{JobRestartPolicy, JobStatus, JobType};
use serde_json::json;

use super::world::{World, agent, request};
use super::{FIRST, SECOND};
use crate::agents::{DispatchError, DispatchReply, DispatchRequest};

impl World {
    fn administer(&mut self, request: DispatchRequest) -> Result<DispatchReply, DispatchError> {
        self.act(|workers, now, out| workers.administer(now, request, out))
    }

    /// Creates a dispatch and returns its id.
    fn create(&mut self, room: &str, agent: AgentRequest) -> Result<String, DispatchError> {
        let request = DispatchRequest::Create {
            api_key: "devkey".to_owned(),
            room: room.to_owned(),
            agent,
        };
        match self.administer(request)? {
            DispatchReply::One(dispatch) => Ok(dispatch.id),
            all => panic!("one dispatch, and not {all:?}"),
        }
    }

    fn delete(&mut self, room: &str, id: &str) -> Result<DispatchReply, DispatchError> {
        let (room, id) = (room.to_owned(), id.to_owned());
        self.administer(DispatchRequest::Delete { room, id })
    }
}

/// Found by LiveKit's `TestAgentNamespaces`.
#[test]
fn workers_of_each_namespace_get_a_job() {
    let mut world = World::new();
    world.room("lobby", &[]);
    for (connection, namespace) in [(FIRST, "one"), (SECOND, "two")] {
        let request = proto::RegisterWorkerRequest {
            r#type: JobType::JtRoom.into(),
            namespace: Some(namespace.to_owned()),
            ..proto::RegisterWorkerRequest::default()
        };
        world.register(connection, request);
        let (job, _) = world.offer(connection).expect("a job");
        assert_eq!(job.namespace, namespace);
        world.accept(connection, &job.id, "");
        assert!(world.assignment(connection).is_some());
    }
}

#[test]
fn a_dispatch_brings_an_agent_to_a_room_that_is_open() {
    let mut world = World::new();
    world.worker(FIRST, "scribe", JobType::JtRoom);
    world.worker(SECOND, "scribe", JobType::JtParticipant);
    world.room("lobby", &[]);
    world.joins("lobby", "ada");
    let mut agent = request("scribe");
    agent.metadata = "in French".to_owned();
    agent.attributes.insert("tone".to_owned(), "dry".to_owned());
    let id = world.create("lobby", agent).expect("it is created");
    let (job, _) = world.offer(FIRST).expect("a job");
    assert_eq!(
        (job.dispatch_id.as_str(), job.agent_name.as_str()),
        (id.as_str(), "scribe")
    );
    assert_eq!(
        (job.metadata.as_str(), job.attributes["tone"].as_str()),
        ("in French", "dry")
    );
    let (about, _) = world.offer(SECOND).expect("a job about ada");
    assert_eq!(about.participant.expect("ada").identity, "ada");
    let listed = world.dispatches("lobby");
    assert_eq!(
        listed
            .iter()
            .map(|dispatch| dispatch.agent_name.as_str())
            .collect::<Vec<_>>(),
        ["", "scribe"]
    );
    let state = listed[1].state.clone().expect("a state");
    assert!(state.created_at > 0 && state.deleted_at == 0);
    assert_eq!(
        state.jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(),
        [&job.id, &about.id]
    );
}

#[test]
fn a_deleted_dispatch_ends_its_jobs_and_removes_agents_that_stay() {
    let mut world = World::new();
    world.worker(FIRST, "scribe", JobType::JtRoom);
    world.room("lobby", &["scribe"]);
    let job = world.runs("lobby", FIRST, "agent-1");
    let id = world.dispatches("lobby")[0].id.clone();
    match world.delete("lobby", &id) {
        Ok(DispatchReply::One(dispatch)) => assert!(dispatch.state.expect("a state").deleted_at > 0),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.terminated(FIRST), [job]);
    assert!(world.dispatches("lobby").is_empty() && world.removed.is_empty());
    world.pass(Duration::from_secs(3));
    assert_eq!(world.removed, ["agent-1"]);
    world.leaves("lobby", agent("agent-1"), controller::EndReason::ParticipantRemoved);
    assert_eq!(world.delete("lobby", &id), Err(DispatchError::DispatchNotFound));
}

#[test]
fn requests_about_rooms_that_are_not_there_fail() {
    let mut world = World::new();
    let list = DispatchRequest::List {
        room: "attic".to_owned(),
        id: String::new(),
    };
    assert_eq!(world.administer(list), Err(DispatchError::RoomNotFound));
    assert_eq!(world.create("attic", request("")), Err(DispatchError::RoomNotFound));
    assert_eq!(world.delete("attic", "AD_1"), Err(DispatchError::RoomNotFound));
}

#[test]
fn dispatches_of_a_room_are_bounded() {
    let mut world = World::new();
    world.room("lobby", &[]);
    for _ in 1..64 {
        assert!(world.create("lobby", request("scribe")).is_ok());
    }
    assert_eq!(
        world.create("lobby", request("scribe")),
        Err(DispatchError::TooManyDispatches)
    );
}

#[test]
fn deployments_have_workers_of_their_own() {
    let mut world = World::new();
    world.worker(FIRST, "scribe", JobType::JtRoom);
    world.room("lobby", &[]);
    let mut staging = request("scribe");
    staging.deployment = "staging".to_owned();
    world.create("lobby", staging).expect("it is created");
    assert!(world.offer(FIRST).is_none());
}

#[test]
fn a_job_that_is_not_to_be_restarted_fails_once() {
    let mut world = World::new();
    world.worker(FIRST, "scribe", JobType::JtRoom);
    world.room("lobby", &[]);
    let mut once = request("scribe");
    once.never_restart = true;
    world.create("lobby", once).expect("it is created");
    let job = world.runs("lobby", FIRST, "agent-1");
    world.job_status(FIRST, &job, JobStatus::JsFailed);
    world.pass(Duration::from_secs(100));
    assert!(world.offer(FIRST).is_none());
    assert_eq!(world.states("lobby"), [JobStatus::JsFailed]);
    assert_eq!(
        world.dispatches("lobby")[1].restart_policy,
        i32::from(JobRestartPolicy::JrpNever)
    );
}

#[test]
fn a_token_names_the_agents_of_the_room_it_creates() {
    let of = |config: serde_json::Value| {
        let claims = Claims {
            room_config: config.as_object().cloned(),
            ..Claims::default()
        };
        crate::api::set_up(&claims).map(|room| room.agents)
    };
    let said = json!({"agents": [{"agentName": "scribe", "metadata": "m", "restartPolicy": "JRP_NEVER"}, {}]});
    let mut scribe = request("scribe");
    (scribe.metadata, scribe.never_restart) = ("m".to_owned(), true);
    assert_eq!(of(said), Ok(vec![scribe, request("")]));
    assert_eq!(of(json!({})), Ok(Vec::new()));
    let many = vec![json!({}); 65];
    for bad in [
        json!({"agents": many}),
        json!({"agents": [{"deployment": "a b"}]}),
        json!({"agents": [{"metadata": "x".repeat(100_000)}]}),
        json!({"agents": "scribe"}),
    ] {
        assert!(of(bad).is_err());
    }
}

#[test]
fn dispatches_of_all_rooms_together_are_bounded() {
    const METADATA: usize = 60 << 10;
    let mut world = World::new();
    let (mut kept, mut refusals) = (0, Vec::new());
    for number in 0..100 {
        let room = format!("room-{number}");
        world.room(&room, &[]);
        let large = || controller::AgentRequest {
            metadata: "m".repeat(METADATA),
            ..request("scribe")
        };
        assert!(world.create(&room, large()).is_ok(), "each room has its share");
        kept += 1;
        while world.create(&room, large()).is_ok() {
            kept += 1;
        }
        refusals.push(world.create(&room, large()).expect_err("there is a limit"));
    }
    assert_eq!(refusals[0], DispatchError::TooManyDispatches);
    assert_eq!(refusals[99], DispatchError::StoreFull);
    assert!(kept * METADATA < (64 << 20) + 100 * (64 << 10), "{kept} are kept");
}
