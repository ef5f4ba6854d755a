//! Workers, dispatches and jobs, without a server.

mod dispatches;
mod failures;
mod takeover;
mod workers;
mod world;

use std::time::Duration;

use access::{ParticipantKind, verify};
use controller::{ConnectionId, EndReason, RoomChange};
use livekit_protocol::{JobStatus, JobType, WorkerStatus};

use world::{World, participant};

const FIRST: ConnectionId = ConnectionId(1);
const SECOND: ConnectionId = ConnectionId(2);

#[test]
fn a_room_has_its_agent_join_with_the_token_of_the_job() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let (job, resuming) = world.offer(FIRST).expect("a job is offered");
    assert!(!resuming && job.participant.is_none());
    assert_eq!(job.room.expect("a room").name, "lobby");
    world.accept(FIRST, &job.id, "agent-1");
    let token = world.assignment(FIRST).expect("the job is assigned").token;
    let claims = verify(&token, &world::keys(), world::UNIX).expect("a token of this server");
    let video = &claims.video;
    assert_eq!((claims.identity(), claims.kind.as_str()), ("agent-1", "agent"));
    assert!(video.room_join && video.agent && video.room == "lobby" && !video.hidden);
    assert_eq!(
        (video.can_publish, video.can_update_own_metadata),
        (Some(true), Some(true))
    );
    assert_eq!(claims.attributes["lk.agent_name"], "");
}

#[test]
fn a_worker_gets_the_jobs_of_rooms_that_opened_before_it_came() {
    let mut world = World::new();
    world.room("lobby", &["scribe"]);
    world.worker(FIRST, "scribe", JobType::JtRoom);
    assert!(world.offer(FIRST).is_some());
    world.worker(SECOND, "scribe", JobType::JtRoom);
    assert!(world.offer(SECOND).is_none(), "the job is offered already");
}

#[test]
fn a_room_that_asks_for_agents_has_no_unnamed_one() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.worker(SECOND, "scribe", JobType::JtRoom);
    world.room("lobby", &["scribe"]);
    assert!(world.offer(FIRST).is_none());
    assert!(world.offer(SECOND).is_some());
}

#[test]
fn participants_and_publishers_have_jobs_of_their_own() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtParticipant);
    world.worker(SECOND, "", JobType::JtPublisher);
    world.room("lobby", &[]);
    assert!(world.offer(FIRST).is_none() && world.offer(SECOND).is_none());
    world.joins("lobby", "ada");
    let (job, _) = world.offer(FIRST).expect("a job about ada");
    assert_eq!(job.participant.expect("ada").identity, "ada");
    assert!(world.offer(SECOND).is_none());
    world.publishes("lobby", "ada");
    world.publishes("lobby", "ada");
    let (job, _) = world.offer(SECOND).expect("a job about ada's tracks");
    assert_eq!(job.participant.expect("ada").identity, "ada");
    assert!(world.offer(SECOND).is_none(), "one for each publisher");
}

#[test]
fn agents_and_recorders_have_no_jobs_about_them() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtParticipant);
    world.room("lobby", &[]);
    for kind in [ParticipantKind::Agent, ParticipantKind::Egress] {
        let mut info = participant("robot");
        info.kind = kind;
        world.event("lobby", RoomChange::ParticipantJoined(info));
    }
    for (agent, recorder) in [(true, false), (false, true)] {
        let mut info = participant("robot");
        (info.permission.agent, info.permission.recorder) = (agent, recorder);
        world.event("lobby", RoomChange::ParticipantJoined(info));
    }
    assert!(world.offer(FIRST).is_none());
}

#[test]
fn a_job_about_a_participant_that_left_is_not_offered_any_more() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtParticipant);
    world.status(FIRST, WorkerStatus::WsFull, 1.0);
    world.room("lobby", &[]);
    world.joins("lobby", "ada");
    world.leaves("lobby", participant("ada"), EndReason::ClientInitiated);
    world.status(FIRST, WorkerStatus::WsAvailable, 0.0);
    assert!(world.offer(FIRST).is_none());
}

#[test]
fn an_agent_that_leaves_by_itself_has_done_its_job() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let job = world.runs("lobby", FIRST, "agent-1");
    world.leaves("lobby", world::agent("agent-1"), EndReason::ClientInitiated);
    assert_eq!(world.terminated(FIRST), [job]);
    world.pass(Duration::from_secs(300));
    assert!(world.offer(FIRST).is_none());
    assert_eq!(world.states("lobby"), [JobStatus::JsSuccess]);
}

#[test]
fn the_end_of_a_room_ends_its_jobs() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let job = world.runs("lobby", FIRST, "agent-1");
    world.event("lobby", RoomChange::Finished);
    assert_eq!(world.terminated(FIRST), [job]);
    world.room("lobby", &[]);
    assert!(world.offer(FIRST).is_some(), "a room of that name is another room");
}
