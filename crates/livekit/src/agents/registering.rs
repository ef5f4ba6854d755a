//! Messages of workers, and their registration.

use std::time::Instant;

use controller::{ConnectionId, ServerInfo};
use livekit_protocol as proto;
use livekit_protocol::JobType;
use livekit_protocol::server_message::Message;
use livekit_protocol::worker_message::Message as Said;

use super::dispatch::check_deployment;
use super::inbox::Received;
use super::job::WorkerKind;
use super::output::{Counter, Event, Output};
use super::worker::Registration;
use super::workers::Workers;
use crate::infos;
use crate::limits::CID_MAX;

impl Workers {
    /// A message arrived, read by the connection's [`Inbox`](super::Inbox). `is_taken` says whether
    /// somebody in a room who is no agent has an identity, also before its media connects.
    pub fn message(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        received: Received,
        is_taken: &dyn Fn(&str, &str) -> bool,
        out: &mut Vec<Output>,
    ) {
        let Some(worker) = self.workers.get_mut(&connection) else {
            out.push(Output::Count(Counter::UnknownWorker));
            return;
        };
        let is_registered = worker.registration.is_some();
        let said = match received.message {
            Ok(said) => said,
            Err(why) => return self.close(now, connection, why.code, why.counter, out),
        };
        worker.json = received.json;
        match said {
            None => {}
            Some(Said::Ping(ping)) => self.pong(now, connection, ping, out),
            Some(Said::Register(request)) => self.register(now, connection, request, out),
            Some(_) if !is_registered => self.close(now, connection, 1008, Counter::BadRegistration, out),
            Some(Said::Availability(answer)) => self.answered(now, connection, answer, is_taken, out),
            Some(Said::UpdateWorker(status)) => self.worker_status(now, connection, status, out),
            Some(Said::UpdateJob(update)) => {
                self.job_status(now, connection, update, out);
                self.offer_to(now, connection, out);
            }
            Some(Said::MigrateJob(request)) => self.adopt(now, connection, request.job_ids, out),
            Some(Said::SimulateJob(_)) => out.push(Output::Count(Counter::Unsupported)),
        }
    }

    fn pong(&self, now: Instant, connection: ConnectionId, ping: proto::WorkerPing, out: &mut Vec<Output>) {
        let pong = proto::WorkerPong {
            last_timestamp: ping.timestamp,
            timestamp: self.clock.unix(now).as_millis() as i64,
        };
        self.send(connection, Message::Pong(pong), out);
    }

    fn register(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        request: proto::RegisterWorkerRequest,
        out: &mut Vec<Output>,
    ) {
        let Some(worker) = self.workers.get_mut(&connection) else {
            return;
        };
        if worker.registration.is_some() {
            out.push(Output::Count(Counter::Unsupported));
            return;
        }
        let Some(registration) = registration(request) else {
            self.close(now, connection, 1008, Counter::BadRegistration, out);
            return;
        };
        let kind = registration.kind.clone();
        worker.registration = Some(registration);
        self.slots.settle(worker.slot);
        let worker_id = worker.id.clone();
        out.push(Output::Event(Event::Registered {
            worker: worker_id.clone(),
            agent: kind.name.clone(),
        }));
        let unnamed = ServerInfo {
            ice_servers: Vec::new(),
            relay_only: false,
            region: String::new(),
            node_id: String::new(),
        };
        let response = proto::RegisterWorkerResponse {
            worker_id,
            server_info: Some(infos::server(&unnamed)),
            ..proto::RegisterWorkerResponse::default()
        };
        self.send(connection, Message::Register(response), out);
        self.begin_jobs_of_kind(&kind);
        self.offer_waiting(now, &kind, out);
    }

    fn worker_status(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        status: proto::UpdateWorkerStatus,
        out: &mut Vec<Output>,
    ) {
        let worker = self.workers.get_mut(&connection);
        if worker.is_some_and(|worker| worker.update(status)) {
            self.offer_to(now, connection, out);
        }
    }

    /// Offers what waits for workers of a worker's kind.
    fn offer_to(&mut self, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        let worker = self.workers.get(&connection);
        let registration = worker.and_then(|worker| worker.registration.as_ref());
        if let Some(kind) = registration.map(|registration| registration.kind.clone()) {
            self.offer_waiting(now, &kind, out);
        }
    }
}

/// The registration in a request; `None` if it cannot be one. HTTP endpoints of agents, which this
/// server does not serve, are ignored.
fn registration(request: proto::RegisterWorkerRequest) -> Option<Registration> {
    let job_type = JobType::try_from(request.r#type).ok()?;
    check_deployment(&request.deployment).ok()?;
    let namespace = request.namespace.unwrap_or_default();
    if request.agent_name.len() > CID_MAX || namespace.len() > CID_MAX {
        return None;
    }
    let permission = request.allowed_permissions.unwrap_or(proto::ParticipantPermission {
        can_subscribe: true,
        can_publish: true,
        can_publish_data: true,
        can_update_metadata: true,
        ..proto::ParticipantPermission::default()
    });
    Some(Registration {
        kind: WorkerKind {
            name: request.agent_name,
            deployment: request.deployment,
            namespace,
            job_type,
        },
        permission,
    })
}
