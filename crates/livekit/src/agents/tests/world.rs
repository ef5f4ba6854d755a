//! Workers and rooms of a test, with a clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, ParticipantKind, Permission, TrackSource};
use controller::{
    AgentRequest, BackupCodecPolicy, ConnectionId, Encryption, EndReason, ParticipantInfo, ParticipantState, Publisher,
    RoomChange, RoomEvent, RoomInfo, TrackInfo, WallClock,
};
use livekit_protocol as proto;
use livekit_protocol::server_message::Message;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{JobStatus, JobType, WorkerStatus};
use prost::Message as _;
use wire::MediaKind;

use crate::Frame;
use crate::agents::{Counters, DispatchReply, DispatchRequest, Output, Received, Workers};

/// Since 1970-01-01 UTC, when a test begins.
pub(super) const UNIX: Duration = Duration::from_secs(1_800_000_000);

pub(super) fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

/// A participant that joins; the id of its stay is made of its identity.
pub(super) fn participant(identity: &str) -> ParticipantInfo {
    ParticipantInfo {
        sid: format!("PA_{identity}"),
        identity: identity.to_owned(),
        state: ParticipantState::Active,
        tracks: Vec::new(),
        data_tracks: Vec::new(),
        metadata: String::new(),
        joined: UNIX,
        name: String::new(),
        version: 1,
        permission: Permission::of(&Claims::default()),
        is_publisher: false,
        kind: ParticipantKind::Standard,
        kind_details: Vec::new(),
        attributes: BTreeMap::new(),
        client_protocol: 0,
        capabilities: Vec::new(),
        disconnect_reason: None,
    }
}

/// An agent that joins.
pub(super) fn agent(identity: &str) -> ParticipantInfo {
    let mut info = participant(identity);
    info.kind = ParticipantKind::Agent;
    info
}

pub(super) fn request(name: &str) -> AgentRequest {
    AgentRequest {
        name: name.to_owned(),
        ..AgentRequest::default()
    }
}

/// A room of this name.
pub(super) fn room_info(room: &str) -> RoomInfo {
    RoomInfo {
        sid: format!("RM_{room}"),
        name: room.to_owned(),
        empty_timeout: Duration::ZERO,
        departure_timeout: Duration::ZERO,
        max_participants: 0,
        created: UNIX,
        metadata: String::new(),
        num_participants: 0,
        num_publishers: 0,
        active_recording: false,
    }
}

pub(super) struct World {
    pub(super) workers: Workers,
    pub(super) now: Instant,
    /// Messages that nobody has looked at.
    sent: Vec<(ConnectionId, Message)>,
    /// Messages in JSON.
    pub(super) texts: Vec<String>,
    /// Connections that were closed, with their codes and reasons.
    pub(super) closed: Vec<(ConnectionId, u16, &'static str)>,
    /// Agents that were removed, by identity.
    pub(super) removed: Vec<String>,
    pub(super) counts: Counters,
    /// Identities of participants whose media has not connected.
    pub(super) present: Vec<String>,
}

impl World {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        World {
            workers: Workers::new(keys(), WallClock { now, unix: UNIX }, 7),
            now,
            sent: Vec::new(),
            texts: Vec::new(),
            closed: Vec::new(),
            removed: Vec::new(),
            counts: Counters::default(),
            present: Vec::new(),
        }
    }

    pub(super) fn act<T>(&mut self, act: impl FnOnce(&mut Workers, Instant, &mut Vec<Output>) -> T) -> T {
        let mut out = Vec::new();
        let done = act(&mut self.workers, self.now, &mut out);
        for output in out {
            match output {
                Output::Send {
                    connection,
                    frame: Frame::Binary(bytes),
                }
                | Output::SendKept {
                    connection,
                    frame: Frame::Binary(bytes),
                    ..
                } => {
                    let message = proto::ServerMessage::decode(bytes).expect("a message").message;
                    self.sent.push((connection, message.expect("of a known kind")));
                }
                Output::Send {
                    frame: Frame::Text(text),
                    ..
                }
                | Output::SendKept {
                    frame: Frame::Text(text),
                    ..
                } => self.texts.push(String::from_utf8(text.to_vec()).expect("UTF-8")),
                Output::Send {
                    frame: Frame::Parts(_), ..
                }
                | Output::SendKept {
                    frame: Frame::Parts(_), ..
                } => unreachable!("no message to a worker has a list of participants"),
                Output::Close {
                    connection,
                    code,
                    reason,
                } => self.closed.push((connection, code, reason)),
                Output::Remove { identity, .. } => self.removed.push(identity),
                Output::Count(counter) => self.counts.count(counter),
                Output::Event(_) => {}
            }
        }
        done
    }

    /// Lets time pass, and does what becomes due.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.workers.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.act(Workers::handle_timeout);
        }
        self.now = end;
    }

    pub(super) fn open(&mut self, connection: ConnectionId) {
        self.open_by("", connection);
    }

    /// The same with the token of an identity.
    pub(super) fn open_by(&mut self, identity: &str, connection: ConnectionId) {
        let claims = Claims {
            iss: "devkey".to_owned(),
            sub: identity.to_owned(),
            ..Claims::default()
        };
        self.act(|workers, now, out| workers.open(now, connection, claims, None, out));
    }

    pub(super) fn say(&mut self, connection: ConnectionId, said: Said) {
        let received = Received {
            json: false,
            message: Ok(Some(said)),
        };
        let present = self.present.clone();
        let is_taken = |_: &str, identity: &str| present.iter().any(|other| other == identity);
        self.act(|workers, now, out| workers.message(now, connection, received, &is_taken, out));
    }

    pub(super) fn lose(&mut self, connection: ConnectionId) {
        self.act(|workers, now, out| workers.closed(now, connection, out));
    }

    /// A worker that registers.
    pub(super) fn worker(&mut self, connection: ConnectionId, name: &str, job_type: JobType) {
        let request = proto::RegisterWorkerRequest {
            r#type: job_type.into(),
            agent_name: name.to_owned(),
            ..proto::RegisterWorkerRequest::default()
        };
        self.register(connection, request);
    }

    pub(super) fn register(&mut self, connection: ConnectionId, request: proto::RegisterWorkerRequest) {
        self.open(connection);
        self.say(connection, Said::Register(request));
        let registered = self.take(connection, |message| match message {
            Message::Register(response) => Some(response.clone()),
            _ => None,
        });
        let response = registered.expect("it is registered");
        assert!(response.worker_id.starts_with("AW_"));
    }

    pub(super) fn status(&mut self, connection: ConnectionId, status: WorkerStatus, load: f32) {
        let update = proto::UpdateWorkerStatus {
            status: Some(status.into()),
            load,
            ..proto::UpdateWorkerStatus::default()
        };
        self.say(connection, Said::UpdateWorker(update));
    }

    pub(super) fn job_status(&mut self, connection: ConnectionId, job: &str, status: JobStatus) {
        let update = proto::UpdateJobStatus {
            job_id: job.to_owned(),
            status: status.into(),
            error: String::new(),
        };
        self.say(connection, Said::UpdateJob(update));
    }

    pub(super) fn answer(&mut self, connection: ConnectionId, answer: proto::AvailabilityResponse) {
        self.say(connection, Said::Availability(answer));
    }

    pub(super) fn accept(&mut self, connection: ConnectionId, job: &str, identity: &str) {
        self.answer(
            connection,
            proto::AvailabilityResponse {
                job_id: job.to_owned(),
                available: true,
                participant_identity: identity.to_owned(),
                ..proto::AvailabilityResponse::default()
            },
        );
    }

    pub(super) fn decline(&mut self, connection: ConnectionId, job: &str) {
        self.answer(
            connection,
            proto::AvailabilityResponse {
                job_id: job.to_owned(),
                ..proto::AvailabilityResponse::default()
            },
        );
    }

    pub(super) fn event(&mut self, room: &str, change: RoomChange) {
        let event = RoomEvent {
            id: "EV_1".to_owned(),
            room: room_info(room),
            at: UNIX,
            change,
        };
        self.act(|workers, now, out| workers.room_event(now, &event, out));
    }

    /// A room opens that asks for agents of these names.
    pub(super) fn room(&mut self, name: &str, agents: &[&str]) {
        let agents = agents.iter().map(|name| request(name)).collect();
        self.event(name, RoomChange::Started(agents));
    }

    pub(super) fn joins(&mut self, room: &str, identity: &str) {
        self.event(room, RoomChange::ParticipantJoined(participant(identity)));
    }

    pub(super) fn publishes(&mut self, room: &str, identity: &str) {
        let info = participant(identity);
        let publisher = Publisher {
            sid: info.sid,
            identity: info.identity,
        };
        self.event(room, RoomChange::TrackPublished(publisher, Box::new(track())));
    }

    pub(super) fn leaves(&mut self, room: &str, mut info: ParticipantInfo, reason: EndReason) {
        info.disconnect_reason = Some(reason);
        self.event(room, RoomChange::ParticipantLeft(info));
    }

    /// Somebody leaves whose media never connected.
    pub(super) fn aborts(&mut self, room: &str, mut info: ParticipantInfo, reason: EndReason) {
        info.disconnect_reason = Some(reason);
        self.event(room, RoomChange::ParticipantAborted(info));
    }

    /// A worker takes the job that it is offered, and its agent joins. Returns the job.
    pub(super) fn runs(&mut self, room: &str, connection: ConnectionId, identity: &str) -> String {
        let (job, _) = self.offer(connection).expect("a job is offered");
        self.accept(connection, &job.id, identity);
        assert!(self.assignment(connection).is_some(), "it is assigned");
        self.event(room, RoomChange::ParticipantJoined(agent(identity)));
        job.id
    }

    /// The next job that a worker is offered, and whether another had it.
    pub(super) fn offer(&mut self, connection: ConnectionId) -> Option<(proto::Job, bool)> {
        self.take(connection, |message| match message {
            Message::Availability(request) => Some((request.job.clone()?, request.resuming)),
            _ => None,
        })
    }

    /// Whether a worker is offered a job that nobody has looked at.
    pub(super) fn has_offer(&self, connection: ConnectionId) -> bool {
        let mut sent = self.sent.iter();
        sent.any(|(to, message)| *to == connection && matches!(message, Message::Availability(_)))
    }

    pub(super) fn assignment(&mut self, connection: ConnectionId) -> Option<proto::JobAssignment> {
        self.take(connection, |message| match message {
            Message::Assignment(assignment) => Some(assignment.clone()),
            _ => None,
        })
    }

    /// The jobs that a worker is told to end.
    pub(super) fn terminated(&mut self, connection: ConnectionId) -> Vec<String> {
        let next = |world: &mut World| {
            world.take(connection, |message| match message {
                Message::Termination(termination) => Some(termination.job_id.clone()),
                _ => None,
            })
        };
        std::iter::from_fn(|| next(self)).collect()
    }

    /// The first message to a connection that is of interest.
    pub(super) fn take<T>(&mut self, connection: ConnectionId, read: impl Fn(&Message) -> Option<T>) -> Option<T> {
        let of_interest = |(to, message): &(ConnectionId, Message)| match *to == connection {
            true => read(message),
            false => None,
        };
        let index = self.sent.iter().position(|sent| of_interest(sent).is_some())?;
        let (_, message) = self.sent.remove(index);
        read(&message)
    }

    pub(super) fn dispatches(&mut self, room: &str) -> Vec<proto::AgentDispatch> {
        let list = DispatchRequest::List {
            room: room.to_owned(),
            id: String::new(),
        };
        match self.act(|workers, now, out| workers.administer(now, list, out)) {
            Ok(DispatchReply::All(dispatches)) => dispatches,
            other => panic!("no list: {other:?}"),
        }
    }

    /// How the jobs of a room stand.
    pub(super) fn states(&mut self, room: &str) -> Vec<JobStatus> {
        let dispatches = self.dispatches(room).into_iter();
        let jobs = dispatches.flat_map(|dispatch| dispatch.state.unwrap_or_default().jobs);
        jobs.map(|job| job.state.unwrap_or_default().status()).collect()
    }
}

fn track() -> TrackInfo {
    TrackInfo {
        sid: "TR_1".to_owned(),
        kind: MediaKind::Audio,
        name: String::new(),
        muted: false,
        width: 0,
        height: 0,
        simulcast: false,
        disable_dtx: false,
        source: TrackSource::Microphone,
        layers: Vec::new(),
        mime_type: "audio/opus".to_owned(),
        mid: "0".to_owned(),
        codecs: Vec::new(),
        stereo: false,
        disable_red: false,
        encryption: Encryption::default(),
        stream: String::new(),
        audio_features: Vec::new(),
        backup_codec_policy: BackupCodecPolicy::default(),
        packet_trailer_features: Vec::new(),
    }
}
