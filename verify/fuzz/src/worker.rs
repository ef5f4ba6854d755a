//! Messages of a worker of agents that has registered and is offered a job.

use std::time::{Duration, Instant};

use access::{ApiKeys, Claims};
use controller::{ConnectionId, RoomChange, RoomEvent, RoomInfo, WallClock};
use livekit::Frame;
use livekit::agents::{DispatchReply, DispatchRequest, Inbox, Output, Workers};
use livekit_protocol::server_message::Message as ToWorker;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{RegisterWorkerRequest, ServerMessage, WorkerMessage};
use prost::Message;

const UNIX: Duration = Duration::from_secs(1_800_000_000);
const WORKER: ConnectionId = ConnectionId(1);

/// The most outputs of one message: an answer, a job and its assignment, their counts and events.
const OUTPUTS_MAX: usize = 16;

/// Any message changes nothing but the worker's own jobs, and has few consequences.
pub fn worker(data: &[u8]) {
    #[allow(clippy::disallowed_methods, reason = "some instant to begin at")]
    let now = Instant::now();
    let keys = ApiKeys::default().with("devkey", "secret");
    let mut workers = Workers::new(keys, WallClock { now, unix: UNIX }, 1);
    let mut inbox = Inbox::new(now);
    let mut out = Vec::new();
    let claims = Claims {
        iss: "devkey".to_owned(),
        ..Claims::default()
    };
    workers.open(now, WORKER, claims, None, &mut out);
    workers.room_event(now, &started(), &mut out);
    let register = Said::Register(RegisterWorkerRequest::default());
    let frame = binary(WorkerMessage {
        message: Some(register),
    });
    workers.message(now, WORKER, inbox.read(now, &frame), &|_, _| false, &mut out);
    let job = out.iter().find_map(offered).expect("a job is offered");
    let mut frames = vec![Frame::Binary(data.to_vec().into())];
    frames.extend(
        WorkerMessage::decode(data)
            .ok()
            .map(|message| binary(about(message, &job))),
    );
    frames.extend(
        std::str::from_utf8(data)
            .ok()
            .map(|text| Frame::Text(text.to_owned().into())),
    );
    for frame in frames {
        out.clear();
        workers.message(now, WORKER, inbox.read(now, &frame), &|_, _| false, &mut out);
        assert!(out.len() <= OUTPUTS_MAX, "{} outputs", out.len());
    }
    out.clear();
    workers.handle_timeout(now + Duration::from_secs(3600), &mut out);
    let list = DispatchRequest::List {
        room: "lobby".to_owned(),
        id: String::new(),
    };
    let listed = workers.administer(now, list, &mut out);
    assert!(matches!(listed, Ok(DispatchReply::All(dispatches)) if dispatches.len() == 1));
}

fn binary(message: WorkerMessage) -> Frame {
    Frame::Binary(message.encode_to_vec().into())
}

/// A message is more interesting if it is about a job that there is.
fn about(mut message: WorkerMessage, job: &str) -> WorkerMessage {
    match &mut message.message {
        Some(Said::Availability(answer)) => answer.job_id = job.to_owned(),
        Some(Said::UpdateJob(update)) => update.job_id = job.to_owned(),
        Some(Said::MigrateJob(report)) => report.job_ids.push(job.to_owned()),
        _ => {}
    }
    message
}

fn offered(output: &Output) -> Option<String> {
    let Output::Send {
        frame: Frame::Binary(bytes),
        ..
    } = output
    else {
        return None;
    };
    match ServerMessage::decode(bytes.clone()).ok()?.message? {
        ToWorker::Availability(request) => Some(request.job?.id),
        _ => None,
    }
}

/// A room named `lobby` has opened.
pub(crate) fn started() -> RoomEvent {
    RoomEvent {
        id: "EV_1".to_owned(),
        room: RoomInfo {
            sid: "RM_1".to_owned(),
            name: "lobby".to_owned(),
            empty_timeout: Duration::ZERO,
            departure_timeout: Duration::ZERO,
            max_participants: 0,
            created: UNIX,
            metadata: String::new(),
            num_participants: 0,
            num_publishers: 0,
            active_recording: false,
        },
        at: UNIX,
        change: RoomChange::Started(Vec::new()),
    }
}
