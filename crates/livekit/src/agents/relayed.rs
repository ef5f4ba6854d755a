//! A worker that is connected to one server, as others see it: that server speaks with them in the
//! worker's name, and each offers it the jobs of its own rooms.

use std::collections::BTreeSet;

use livekit_protocol::server_message::Message;
use livekit_protocol::worker_message::Message as Said;
use livekit_protocol::{JobStatus, MigrateJobRequest, ServerMessage, WorkerMessage};
use prost::Message as _;

use crate::frame::Frame;
use crate::limits::WORKER_JOBS_MAX;

/// The knowledge that a server needs of a worker that it has not spoken to.
#[derive(Clone, Debug, Default)]
pub struct RelayedWorker {
    registration: Option<Frame>,
    status: Option<Frame>,
    /// The jobs of other servers that it has.
    jobs: BTreeSet<String>,
}

impl RelayedWorker {
    /// Whether it has registered. Nothing is said in its name before.
    pub fn is_registered(&self) -> bool {
        self.registration.is_some()
    }

    /// Takes in a message of the worker. Returns whether other servers are to be told.
    pub fn worker_said(&mut self, frame: &Frame) -> bool {
        let message: Option<WorkerMessage> = match frame {
            Frame::Binary(bytes) => WorkerMessage::decode(bytes.clone()).ok(),
            Frame::Text(text) => serde_json::from_slice(text).ok(),
            Frame::Parts(_) => None,
        };
        match message.and_then(|message| message.message) {
            Some(Said::Register(_)) if self.registration.is_none() => {
                self.registration = Some(frame.clone());
                true
            }
            Some(Said::UpdateWorker(_)) => {
                self.status = Some(frame.clone());
                self.is_registered()
            }
            Some(Said::UpdateJob(update)) => {
                if [JobStatus::JsSuccess, JobStatus::JsFailed].contains(&update.status()) {
                    self.jobs.remove(&update.job_id);
                }
                self.is_registered()
            }
            Some(Said::MigrateJob(request)) => {
                request.job_ids.into_iter().for_each(|id| self.take(id));
                self.is_registered()
            }
            Some(Said::Availability(_)) => self.is_registered(),
            // The server that it is connected to answers.
            Some(Said::Register(_) | Said::Ping(_) | Said::SimulateJob(_)) | None => false,
        }
    }

    /// Takes in a message of another server. Returns whether the worker is to be told.
    pub fn server_said(&mut self, frame: &Frame) -> bool {
        let message: Option<ServerMessage> = match frame {
            Frame::Binary(bytes) => ServerMessage::decode(bytes.clone()).ok(),
            Frame::Text(text) => serde_json::from_slice(text).ok(),
            Frame::Parts(_) => None,
        };
        match message.and_then(|message| message.message) {
            Some(Message::Assignment(assignment)) => {
                let job = assignment.job.into_iter();
                job.for_each(|job| self.take(job.id));
                true
            }
            Some(Message::Termination(termination)) => {
                self.jobs.remove(&termination.job_id);
                true
            }
            Some(Message::Availability(_)) => true,
            // Only the server that the worker is connected to tells it about connections.
            Some(Message::Register(_) | Message::Pong(_) | Message::GoAway(_)) | None => false,
        }
    }

    /// The messages that begin a connection with another server: the registration, the last status,
    /// and the jobs that it has. Jobs of other servers are unknown there, and ignored.
    pub fn opening(&self) -> Vec<Frame> {
        let mut frames: Vec<_> = [&self.registration, &self.status]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        if !self.jobs.is_empty() {
            let job_ids = self.jobs.iter().cloned().collect();
            let message = WorkerMessage {
                message: Some(Said::MigrateJob(MigrateJobRequest { job_ids })),
            };
            let text = match &self.registration {
                Some(Frame::Text(_)) => serde_json::to_vec(&message).ok(),
                _ => None,
            };
            frames.push(match text {
                Some(text) => Frame::Text(text.into()),
                None => Frame::Binary(message.encode_to_vec().into()),
            });
        }
        frames
    }

    fn take(&mut self, id: String) {
        if self.jobs.len() < WORKER_JOBS_MAX {
            self.jobs.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use livekit_protocol as proto;

    use super::*;

    fn worker(message: Said) -> Frame {
        let message = Some(message);
        Frame::Binary(WorkerMessage { message }.encode_to_vec().into())
    }

    fn server(message: Message) -> Frame {
        let message = Some(message);
        Frame::Binary(ServerMessage { message }.encode_to_vec().into())
    }

    fn assignment(id: &str) -> Frame {
        let job = proto::Job {
            id: id.to_owned(),
            ..proto::Job::default()
        };
        server(Message::Assignment(proto::JobAssignment {
            job: Some(job),
            ..proto::JobAssignment::default()
        }))
    }

    fn ended(id: &str) -> Frame {
        worker(Said::UpdateJob(proto::UpdateJobStatus {
            job_id: id.to_owned(),
            status: JobStatus::JsSuccess.into(),
            ..proto::UpdateJobStatus::default()
        }))
    }

    #[test]
    fn a_server_that_is_new_learns_what_the_worker_has() {
        let mut relayed = RelayedWorker::default();
        let status = worker(Said::UpdateWorker(proto::UpdateWorkerStatus::default()));
        assert!(!relayed.worker_said(&status), "it has not registered");
        let registration = worker(Said::Register(proto::RegisterWorkerRequest::default()));
        assert!(relayed.worker_said(&registration));
        assert!(!relayed.worker_said(&registration), "once only");
        assert_eq!(relayed.opening(), [registration.clone(), status.clone()]);
        for id in ["a", "b", "c"] {
            assert!(relayed.server_said(&assignment(id)));
        }
        let termination = proto::JobTermination { job_id: "b".to_owned() };
        assert!(relayed.server_said(&server(Message::Termination(termination))));
        assert!(relayed.worker_said(&ended("c")));
        let job_ids = vec!["a".to_owned()];
        let has = worker(Said::MigrateJob(MigrateJobRequest { job_ids }));
        assert_eq!(relayed.opening(), [registration, status, has]);
    }

    #[test]
    fn one_server_answers_for_all() {
        let mut relayed = RelayedWorker::default();
        relayed.worker_said(&worker(Said::Register(proto::RegisterWorkerRequest::default())));
        assert!(!relayed.worker_said(&worker(Said::Ping(proto::WorkerPing::default()))));
        assert!(!relayed.server_said(&server(Message::Register(proto::RegisterWorkerResponse::default()))));
        assert!(!relayed.server_said(&server(Message::Pong(proto::WorkerPong::default()))));
        assert!(relayed.server_said(&server(Message::Availability(proto::AvailabilityRequest::default()))));
        for malformed in [Frame::Binary(vec![0xff].into()), Frame::Text(b"{".to_vec().into())] {
            assert!(!relayed.worker_said(&malformed) && !relayed.server_said(&malformed));
        }
    }
}
