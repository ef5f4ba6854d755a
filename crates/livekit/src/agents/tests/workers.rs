//! Workers, as they describe themselves, and bad ones.

use std::time::Duration;

use access::Claims;
use controller::ConnectionId;
use livekit_protocol as proto;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{JobType, WorkerStatus};
use prost::Message;

use super::world::World;
use super::{FIRST, SECOND};
use crate::Frame;
use crate::agents::{Counter, Inbox, Workers, admit, is_path};

#[test]
fn only_a_token_with_the_grant_admits_a_worker() {
    let token = |is_agent| {
        let mut claims = Claims {
            iss: "devkey".to_owned(),
            ..Claims::default()
        };
        claims.video.agent = is_agent;
        let token = access::sign(&claims, &super::world::keys()).expect("a key of this server");
        format!("Bearer {token}")
    };
    let status = |authorization: Option<&str>| {
        let admitted = admit(authorization, "", &super::world::keys(), super::world::UNIX);
        admitted.map(|_| ()).map_err(|refusal| refusal.status)
    };
    assert_eq!(status(Some(&token(true))), Ok(()));
    assert_eq!(status(Some(&token(false))), Err(401));
    assert_eq!(status(Some("Bearer x")), Err(401));
    assert_eq!(status(None), Err(401));
    assert!(is_path("/agent") && is_path("//agent/") && !is_path("/agent/x") && !is_path("/agents") && !is_path("/"));
}

#[test]
fn a_worker_that_does_not_register_is_closed() {
    let mut world = World::new();
    world.open(FIRST);
    world.pass(Duration::from_secs(9));
    assert!(world.closed.is_empty());
    world.pass(Duration::from_secs(1));
    assert_eq!(world.closed, [(FIRST, 1008, "unregistered")]);
    world.open(SECOND);
    world.decline(SECOND, "AJ_1");
    assert_eq!(world.closed[1..], [(SECOND, 1008, "bad_registration")]);
    world.decline(SECOND, "AJ_1");
    assert_eq!(world.counts[Counter::UnknownWorker], 1);
}

#[test]
fn a_registration_must_be_one() {
    let refused = |change: fn(&mut proto::RegisterWorkerRequest)| {
        let mut world = World::new();
        world.open(FIRST);
        let mut request = proto::RegisterWorkerRequest::default();
        change(&mut request);
        world.say(FIRST, Said::Register(request));
        !world.closed.is_empty()
    };
    assert!(!refused(|_| {}));
    assert!(refused(|request| request.r#type = 9));
    assert!(refused(|request| request.deployment = "a_b".to_owned()));
    assert!(refused(|request| request.deployment = "x".repeat(65)));
    assert!(refused(|request| request.agent_name = "x".repeat(257)));
}

#[test]
fn a_ping_is_answered_also_before_the_registration() {
    let mut world = World::new();
    world.open(FIRST);
    world.say(FIRST, Said::Ping(proto::WorkerPing { timestamp: 5 }));
    let pong = world.take(FIRST, |message| match message {
        proto::server_message::Message::Pong(pong) => Some(*pong),
        _ => None,
    });
    assert_eq!(pong.expect("an answer").last_timestamp, 5);
}

#[test]
fn a_full_or_draining_worker_gets_no_jobs() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.status(FIRST, WorkerStatus::WsFull, 0.9);
    world.room("a", &[]);
    assert!(world.offer(FIRST).is_none());
    world.status(FIRST, WorkerStatus::WsAvailable, 0.1);
    assert!(world.offer(FIRST).is_some(), "it has waited");
    let draining = proto::UpdateWorkerStatus {
        draining: true,
        ..proto::UpdateWorkerStatus::default()
    };
    world.say(FIRST, Said::UpdateWorker(draining));
    world.room("b", &[]);
    assert!(world.offer(FIRST).is_none());
}

#[test]
fn a_late_status_changes_nothing() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    for (seq, status) in [(2, WorkerStatus::WsFull), (1, WorkerStatus::WsAvailable)] {
        let update = proto::UpdateWorkerStatus {
            status: Some(status.into()),
            seq,
            ..proto::UpdateWorkerStatus::default()
        };
        world.say(FIRST, Said::UpdateWorker(update));
    }
    world.room("a", &[]);
    assert!(world.offer(FIRST).is_none());
}

#[test]
fn a_worker_that_lies_about_its_load_gets_no_more_than_its_jobs_leave_it() {
    for lie in [0.0, -5.0, f32::NEG_INFINITY] {
        let mut world = World::new();
        world.worker(FIRST, "", JobType::JtRoom);
        world.worker(SECOND, "", JobType::JtRoom);
        world.status(FIRST, WorkerStatus::WsAvailable, lie);
        world.status(SECOND, WorkerStatus::WsAvailable, 0.5);
        let mut jobs = [0; 2];
        for room in 0..30 {
            world.room(&format!("room {room}"), &[]);
            for (index, worker) in [FIRST, SECOND].into_iter().enumerate() {
                if let Some((job, _)) = world.offer(worker) {
                    world.accept(worker, &job.id, &format!("agent {room}"));
                    jobs[index] += 1;
                }
            }
        }
        assert_eq!(jobs[0] + jobs[1], 30);
        assert!(jobs[1] >= 9, "{jobs:?} with {lie}");
    }
}

#[test]
fn a_worker_is_asked_about_a_bounded_number_of_jobs_at_a_time() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    for room in 0..50 {
        world.room(&format!("room {room}"), &[]);
    }
    let offers: Vec<_> = std::iter::from_fn(|| world.offer(FIRST)).collect();
    assert_eq!(offers.len(), 16);
    world.decline(FIRST, &offers[0].0.id);
    assert!(world.offer(FIRST).is_some(), "the next one");
}

#[test]
fn workers_of_one_token_leave_slots_to_others() {
    let mut world = World::new();
    let mut flood = 0;
    while world.closed.is_empty() {
        world.open_by("flood", ConnectionId(flood));
        flood += 1;
    }
    assert_eq!(world.closed, [(ConnectionId(flood - 1), 1013, "too_many_workers")]);
    assert!((880..900).contains(&flood), "{flood}");
    let mut others = 2000..;
    for worker in others.by_ref().take(100) {
        world.open_by(&worker.to_string(), ConnectionId(worker));
    }
    assert_eq!(world.closed.len(), 1, "there is room for others");
    world.pass(Duration::from_secs(3));
    for worker in others.take(100) {
        world.open_by(&worker.to_string(), ConnectionId(worker));
    }
    let evicted = &world.closed[1..];
    assert_eq!(evicted.first(), Some(&(ConnectionId(0), 1013, "too_many_workers")));
    assert!(evicted.iter().all(|(closed, ..)| closed.0 < flood), "{evicted:?}");
}

#[test]
fn registered_workers_stay() {
    let mut world = World::new();
    let mut flood = 0;
    while world.closed.is_empty() {
        world.open_by("flood", ConnectionId(flood));
        world.say(
            ConnectionId(flood),
            Said::Register(proto::RegisterWorkerRequest::default()),
        );
        flood += 1;
    }
    world.pass(Duration::from_secs(3));
    world.open_by("flood", ConnectionId(flood));
    assert_eq!(world.closed.len(), 2);
    world.open_by("other", ConnectionId(flood + 1));
    assert_eq!(world.closed.len(), 2);
}

#[test]
fn a_worker_gets_jobs_in_the_rooms_of_its_key() {
    let mut world = World::new();
    let claims = Claims {
        iss: "devkey".to_owned(),
        key_rooms: access::RoomNames::new(vec!["shop-*".to_owned()]),
        ..Claims::default()
    };
    world.act(|workers, now, out| workers.open(now, FIRST, claims, None, out));
    world.say(FIRST, Said::Register(proto::RegisterWorkerRequest::default()));
    world.room("school", &[]);
    assert!(world.offer(FIRST).is_none());
    world.room("shop-1", &[]);
    assert_eq!(
        world.offer(FIRST).expect("a job").0.room.expect("a room").name,
        "shop-1"
    );
}

#[test]
fn the_token_of_a_job_makes_no_worker() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("a", &[]);
    let (job, _) = world.offer(FIRST).expect("a job");
    world.accept(FIRST, &job.id, "agent");
    let token = world.assignment(FIRST).expect("it is assigned").token;
    let status = |token: &str| {
        let admitted = admit(
            Some(&format!("Bearer {token}")),
            "",
            &super::world::keys(),
            super::world::UNIX,
        );
        admitted.map(|_| ()).map_err(|refusal| refusal.status)
    };
    assert_eq!(status(&token), Err(401));
    for change in [
        |claims: &mut Claims| claims.video.room_join = true,
        |claims: &mut Claims| claims.video.room = "a".to_owned(),
    ] {
        let mut claims = Claims {
            iss: "devkey".to_owned(),
            ..Claims::default()
        };
        claims.video.agent = true;
        change(&mut claims);
        let refreshed = access::sign(&claims, &super::world::keys()).expect("a key of this server");
        assert_eq!(status(&refreshed), Err(401));
    }
}

#[test]
fn a_worker_does_not_take_the_identity_of_somebody_whose_media_has_not_connected() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.room("a", &[]);
    world.present = vec!["alice".to_owned()];
    let (job, _) = world.offer(FIRST).expect("a job");
    world.accept(FIRST, &job.id, "alice");
    assert!(world.assignment(FIRST).is_none());
    assert_eq!(world.counts[Counter::BadAnswer], 1);
}

#[test]
fn a_worker_whose_key_is_removed_is_closed_when_it_takes_a_job() {
    let mut world = World::new();
    world.worker(FIRST, "", JobType::JtRoom);
    world.act(|workers: &mut Workers, _, _| workers.set_keys(access::ApiKeys::default()));
    world.room("a", &[]);
    let (job, _) = world.offer(FIRST).expect("a job");
    world.accept(FIRST, &job.id, "agent");
    assert_eq!(world.closed, [(FIRST, 1008, "key_removed")]);
}

#[test]
fn a_worker_that_speaks_json_is_answered_in_json() {
    let mut world = World::new();
    world.open(FIRST);
    let frame = Frame::Text(r#"{"register":{"type":"JT_ROOM","agentName":"scribe"}}"#.into());
    let received = Inbox::new(world.now).read(world.now, &frame);
    world.act(|workers, now, out| workers.message(now, FIRST, received, &|_, _| false, out));
    assert!(world.texts[0].contains("\"workerId\":\"AW_"), "{:?}", world.texts);
}

#[test]
fn frames_that_cannot_be_read_or_are_too_many_close_the_connection() {
    let closed = |frame: Frame, times: usize| {
        let mut world = World::new();
        world.open(FIRST);
        let mut inbox = Inbox::new(world.now);
        for _ in 0..times {
            let received = inbox.read(world.now, &frame);
            world.act(|workers, now, out| workers.message(now, FIRST, received, &|_, _| false, out));
        }
        world.closed.first().map(|(_, code, reason)| (*code, *reason))
    };
    let ping = proto::WorkerMessage {
        message: Some(Said::Ping(proto::WorkerPing { timestamp: 1 })),
    };
    let ping = Frame::Binary(ping.encode_to_vec().into());
    assert_eq!(closed(ping.clone(), 900), None);
    assert_eq!(closed(ping, 1100), Some((1008, "flood")));
    assert_eq!(
        closed(Frame::Binary(vec![0xff; 9].into()), 1),
        Some((1007, "malformed"))
    );
    assert_eq!(closed(Frame::Text("{".into()), 1), Some((1007, "malformed")));
    assert_eq!(
        closed(Frame::Binary(vec![0; (256 << 10) + 1].into()), 1),
        Some((1009, "oversized"))
    );
    assert_eq!(
        closed(Frame::Binary(bytes::Bytes::new()), 1),
        None,
        "of a newer protocol"
    );
}
