//! Workers and agents that fail, and their replacement.

use std::time::Duration;

use controller::EndReason;
use livekit_protocol as proto;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{JobStatus, JobType};

use super::world::{World, agent};
use super::{FIRST, SECOND};
use crate::agents::Counter;

const ONE_SECOND: Duration = Duration::from_secs(1);

/// A room whose job is offered to the only worker.
fn offered() -> (World, proto::Job) {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let (job, _) = world.offer(FIRST).expect("a job");
    (world, job)
}

/// A room whose job the first of two workers runs; returns the job.
fn running() -> (World, String) {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let job = world.runs("lobby", FIRST, "agent-1");
    world.worker(SECOND, "", JobType::JtRoom);
    (world, job)
}

#[test]
fn a_declined_job_goes_to_the_next_worker_and_comes_back_after_a_while() {
    let (mut world, job) = offered();
    world.decline(FIRST, &job.id);
    assert!(world.offer(FIRST).is_none());
    world.worker(SECOND, "", JobType::JtRoom);
    let (again, resuming) = world.offer(SECOND).expect("the same job");
    assert_eq!((again.id, resuming), (job.id.clone(), false));
    world.decline(SECOND, &job.id);
    assert!(world.offer(FIRST).is_none() && world.offer(SECOND).is_none());
    world.pass(Duration::from_secs(30));
    assert!(world.offer(FIRST).is_some() || world.offer(SECOND).is_some());
}

#[test]
fn a_job_that_its_worker_turns_down_for_good_is_over() {
    let (mut world, job) = offered();
    let answer = proto::AvailabilityResponse {
        job_id: job.id,
        terminate: true,
        ..proto::AvailabilityResponse::default()
    };
    world.answer(FIRST, answer);
    world.pass(Duration::from_secs(100));
    assert!(world.offer(FIRST).is_none());
    assert_eq!(world.states("lobby"), [JobStatus::JsSuccess]);
}

#[test]
fn a_worker_that_does_not_answer_loses_the_job_and_in_the_end_its_connection() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    for room in ["a", "b", "c"] {
        world.room(room, &[]);
    }
    world.worker(SECOND, "", JobType::JtRoom);
    assert!(world.offer(SECOND).is_none());
    world.pass(Duration::from_secs(10));
    assert_eq!(world.closed, [(FIRST, 1008, "unresponsive")]);
    assert_eq!(world.counts[Counter::Unanswered], 3);
    let offers: Vec<_> = std::iter::from_fn(|| world.offer(SECOND)).collect();
    assert_eq!(offers.len(), 3);
}

#[test]
fn a_worker_that_takes_jobs_and_does_nothing_is_replaced() {
    let (mut world, job) = offered();
    world.accept(FIRST, &job.id, "agent-1");
    world.worker(SECOND, "", JobType::JtRoom);
    world.pass(Duration::from_secs(60));
    assert_eq!(world.terminated(FIRST), std::slice::from_ref(&job.id));
    assert_eq!(world.counts[Counter::NotJoined], 1);
    world.pass(ONE_SECOND);
    let (again, resuming) = world
        .offer(SECOND)
        .expect("the job goes to the one that has not failed");
    assert_eq!((again.id, resuming), (job.id, true));
}

#[test]
fn a_worker_that_dies_with_its_agent_is_replaced() {
    let (mut world, job) = running();
    world.lose(FIRST);
    world.pass(Duration::from_secs(5));
    assert!(world.offer(SECOND).is_none(), "its agent is still there");
    world.leaves("lobby", agent("agent-1"), EndReason::SignalClose);
    world.pass(ONE_SECOND);
    let (again, resuming) = world.offer(SECOND).expect("the job is offered again");
    assert_eq!((again.id.as_str(), resuming), (job.as_str(), true));
    world.accept(SECOND, &job, "agent-1");
    assert!(world.assignment(SECOND).is_some());
    assert_eq!(world.states("lobby"), [JobStatus::JsRunning]);
}

#[test]
fn a_worker_that_dies_before_its_agent_joined_is_replaced_after_a_while() {
    let (mut world, job) = offered();
    world.accept(FIRST, &job.id, "agent-1");
    world.worker(SECOND, "", JobType::JtRoom);
    world.lose(FIRST);
    world.pass(Duration::from_secs(20));
    assert!(world.offer(SECOND).is_none());
    world.pass(ONE_SECOND);
    assert!(world.offer(SECOND).is_some());
}

#[test]
fn an_agent_whose_media_never_connected_is_lost_with_its_worker_or_leaves_by_itself() {
    let begun = || {
        let (mut world, job) = offered();
        world.accept(FIRST, &job.id, "agent-1");
        world.worker(SECOND, "", JobType::JtRoom);
        world
    };
    let mut world = begun();
    world.lose(FIRST);
    world.aborts("lobby", agent("agent-1"), EndReason::SignalClose);
    world.pass(ONE_SECOND);
    assert!(world.offer(SECOND).is_some());

    let mut world = begun();
    world.aborts("lobby", agent("agent-1"), EndReason::SignalClose);
    world.pass(Duration::from_secs(11));
    assert!(
        world.offer(SECOND).is_none(),
        "it may join until a minute after its assignment"
    );

    let mut world = begun();
    world.aborts("lobby", agent("agent-1"), EndReason::ClientInitiated);
    assert_eq!(world.terminated(FIRST).len(), 1);
    assert_eq!(world.states("lobby"), [JobStatus::JsSuccess]);
}

#[test]
fn an_offer_of_a_worker_that_dies_goes_to_another_at_once() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    world.worker(SECOND, "", JobType::JtRoom);
    world.lose(FIRST);
    assert!(world.offer(SECOND).is_some_and(|(_, resuming)| !resuming));
}

#[test]
fn a_worker_that_comes_back_keeps_its_jobs() {
    let (mut world, job) = running();
    world.lose(FIRST);
    let back = controller::ConnectionId(3);
    world.worker(back, "", JobType::JtRoom);
    let report = proto::MigrateJobRequest {
        job_ids: vec![job.clone(), "AJ_unknown".to_owned()],
    };
    world.say(back, Said::MigrateJob(report));
    assert!(world.terminated(back).is_empty());
    world.leaves("lobby", agent("agent-1"), EndReason::ConnectionTimeout);
    world.pass(Duration::from_secs(9));
    assert!(world.offer(SECOND).is_none(), "its agent may join again");
    world.job_status(back, &job, JobStatus::JsSuccess);
    assert_eq!(world.states("lobby"), [JobStatus::JsSuccess]);
}

#[test]
fn a_job_that_another_worker_has_is_ended_where_it_is_reported() {
    let (mut world, job) = running();
    let report = proto::MigrateJobRequest {
        job_ids: vec![job.clone()],
    };
    world.say(SECOND, Said::MigrateJob(report));
    assert_eq!(world.terminated(SECOND), [job]);
}

#[test]
fn an_agent_that_joins_again_in_time_is_not_replaced() {
    let (mut world, _) = running();
    world.leaves("lobby", agent("agent-1"), EndReason::DuplicateIdentity);
    let mut again = agent("agent-1");
    again.sid = "PA_again".to_owned();
    world.event("lobby", controller::RoomChange::ParticipantJoined(again));
    world.pass(Duration::from_secs(100));
    assert!(world.terminated(FIRST).is_empty());
    assert!(world.offer(FIRST).is_none() && world.offer(SECOND).is_none());
}

#[test]
fn an_agent_that_is_lost_while_its_worker_lives_is_replaced() {
    let (mut world, job) = running();
    world.leaves("lobby", agent("agent-1"), EndReason::ConnectionTimeout);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.terminated(FIRST), [job]);
    world.pass(ONE_SECOND);
    assert!(world.offer(SECOND).is_some());
}

#[test]
fn a_job_that_fails_is_offered_again_more_and_more_slowly_and_not_for_ever() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    let mut times = 0;
    let mut waits = Vec::new();
    while let Some((job, _)) = world.offer(FIRST) {
        world.accept(FIRST, &job.id, "agent-1");
        world.job_status(FIRST, &job.id, JobStatus::JsFailed);
        times += 1;
        let mut wait = 0;
        while wait < 40 && world.counts[Counter::Failed] == 0 {
            let waiting = world.workers.poll_timeout().is_some();
            world.pass(ONE_SECOND);
            wait += 1;
            if !waiting || world.has_offer(FIRST) {
                break;
            }
        }
        waits.push(wait);
    }
    assert_eq!(times, 21);
    assert_eq!(waits[..6], [1, 2, 4, 8, 16, 30]);
    assert_eq!(world.states("lobby"), [JobStatus::JsFailed]);
}

#[test]
fn a_worker_cannot_report_on_the_jobs_of_another() {
    let (mut world, job) = running();
    world.job_status(SECOND, &job, JobStatus::JsSuccess);
    assert_eq!(world.counts[Counter::UnknownJob], 1);
    assert_eq!(world.states("lobby"), [JobStatus::JsRunning]);
}

#[test]
fn an_agent_may_not_take_the_identity_of_somebody_in_the_room() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("lobby", &[]);
    world.joins("lobby", "ada");
    let (job, _) = world.offer(FIRST).expect("a job");
    world.accept(FIRST, &job.id, "ada");
    assert!(world.assignment(FIRST).is_none());
    assert_eq!(world.counts[Counter::BadAnswer], 1);
    world.pass(Duration::from_secs(30));
    let (job, _) = world.offer(FIRST).expect("the job again");
    world.accept(FIRST, &job.id, "");
    let named = world.assignment(FIRST).and_then(|assignment| assignment.job?.state);
    assert_eq!(
        named.expect("it is assigned").participant_identity,
        format!("agent-{}", job.id)
    );
}
