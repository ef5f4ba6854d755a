//! The gRPC service around a device: streams, the election, errors of single updates.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use p4runtime::rpc;
use p4runtime::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use p4runtime::v1::stream_message_request::Update as Ask;
use p4runtime::v1::stream_message_response::Update as Answer;
use p4runtime::v1::{self, MasterArbitrationUpdate, StreamMessageResponse, Uint128};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status, Streaming};

use super::arbitration::{Arbitration, Rejected};
use super::refusal::{Outcome, Refusal};
use super::{Device, Options};
use crate::switch::Output;

/// Messages that wait for one controller. Packets beyond it are dropped and counted.
const WAITING_MAX: usize = 4096;

/// The longest request: a program and its description.
const REQUEST_MAX: usize = 16 << 20;

/// Entities in one message of an answer to a read.
const ENTITIES_MAX: usize = 1024;

/// Sends packets of the controller's `PacketOut`.
pub type Transmit = Arc<dyn Fn(Vec<Output>) + Send + Sync>;

/// The time since the start of the switch.
type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

type Responses = mpsc::Sender<Result<StreamMessageResponse, Status>>;

/// A device that controllers and packets reach at once.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    clock: Clock,
    transmit: Transmit,
}

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Server").finish_non_exhaustive()
    }
}

struct State {
    device: Device,
    arbitration: Arbitration,
    streams: HashMap<u64, Responses>,
    next_stream: u64,
    packet_ins: u64,
    dropped_packet_ins: u64,
}

impl Server {
    /// A device with a clock, and a way to send packets.
    #[must_use]
    pub fn new(options: Options, clock: Clock, transmit: Transmit) -> Self {
        let state = State {
            device: Device::new(options),
            arbitration: Arbitration::default(),
            streams: HashMap::new(),
            next_stream: 0,
            packet_ins: 0,
            dropped_packet_ins: 0,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            clock,
            transmit,
        }
    }

    /// Serves controllers until a signal.
    pub async fn serve(
        self,
        listener: TcpListener,
        signal: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error> {
        let service = P4RuntimeServer::new(self).max_decoding_message_size(REQUEST_MAX);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let server = tonic::transport::Server::builder().add_service(service);
        server.serve_with_incoming_shutdown(incoming, signal).await
    }

    /// Processes a packet. Packets to the controller are delivered; the others are returned.
    pub fn packet(&self, port: u16, bytes: &[u8]) -> Vec<Output> {
        let now = (self.clock)();
        let mut state = self.state();
        let outputs = state.device.packet(now, port, bytes);
        state.deliver(outputs)
    }

    /// Packets that were sent to the controller.
    #[must_use]
    pub fn packet_ins(&self) -> u64 {
        self.state().packet_ins
    }

    /// Packets to the controller that were dropped, because it was absent or slow.
    #[must_use]
    pub fn dropped_packet_ins(&self) -> u64 {
        self.state().dropped_packet_ins
    }

    /// Looks at the device, or changes it.
    pub fn with_device<T>(&self, look: impl FnOnce(&mut Device) -> T) -> T {
        look(&mut self.state().device)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device, for a request of the primary.
    fn as_primary(&self, election: Option<Uint128>) -> Result<MutexGuard<'_, State>, Status> {
        let state = self.state();
        if state.arbitration.is_primary(number(election)) {
            return Ok(state);
        }
        Err(Status::permission_denied("Not primary"))
    }

    /// Handles one message of a stream. An error ends the stream.
    fn message(&self, stream: &mut Option<u64>, ask: Ask, responses: &Responses) -> Result<(), Status> {
        match ask {
            Ask::Arbitration(update) => self.arbitrate(stream, &update, responses),
            Ask::Packet(packet) => {
                let now = (self.clock)();
                let mut state = self.state();
                let Some((primary, _)) = state.arbitration.primary() else {
                    return Ok(());
                };
                if *stream != Some(primary) {
                    return Ok(());
                }
                match state.device.packet_out(now, &packet) {
                    Ok(outputs) => {
                        let outputs = state.deliver(outputs);
                        drop(state);
                        (self.transmit)(outputs);
                    }
                    Err(refusal) => {
                        let details = v1::PacketOutError {
                            packet_out: Some(packet),
                        };
                        let error = v1::StreamError {
                            canonical_code: refusal.code as i32,
                            message: refusal.message,
                            details: Some(v1::stream_error::Details::PacketOut(details)),
                            ..Default::default()
                        };
                        state.send(primary, Answer::Error(error));
                    }
                }
                Ok(())
            }
            Ask::DigestAck(_) | Ask::Other(_) => Ok(()),
        }
    }

    fn arbitrate(
        &self,
        stream: &mut Option<u64>,
        update: &MasterArbitrationUpdate,
        responses: &Responses,
    ) -> Result<(), Status> {
        let mut state = self.state();
        let device = state.device.options().device_id;
        if update.device_id != device {
            return Err(Status::not_found(format!("there is no device {}", update.device_id)));
        }
        if update.role.as_ref().is_some_and(|it| !it.name.is_empty()) {
            return Err(Status::unimplemented("roles"));
        }
        let id = stream.unwrap_or(state.next_stream);
        let has_changed = match state.arbitration.contend(id, number(update.election_id)) {
            Ok(has_changed) => has_changed,
            Err(Rejected::Taken) => {
                return Err(Status::invalid_argument("Election id already exists"));
            }
            Err(Rejected::Full) => return Err(Status::resource_exhausted("Too many connections")),
        };
        if stream.is_none() {
            state.next_stream += 1;
            *stream = Some(id);
            state.streams.insert(id, responses.clone());
        }
        if has_changed {
            state.notify_all()
        } else {
            state.notify(id)
        }
        Ok(())
    }

    fn leave(&self, stream: Option<u64>) {
        let Some(stream) = stream else { return };
        let mut state = self.state();
        state.streams.remove(&stream);
        if state.arbitration.leave(stream) {
            state.notify_all();
        }
    }
}

impl State {
    fn send(&mut self, stream: u64, answer: Answer) -> bool {
        let message = StreamMessageResponse { update: Some(answer) };
        self.streams
            .get(&stream)
            .is_some_and(|it| it.try_send(Ok(message)).is_ok())
    }

    fn notify_all(&mut self) {
        for stream in self.streams.keys().copied().collect::<Vec<_>>() {
            self.notify(stream);
        }
    }

    /// Tells a controller who is primary.
    fn notify(&mut self, stream: u64) {
        let primary = self.arbitration.primary();
        let (code, message) = match primary {
            Some((it, _)) if it == stream => (Code::Ok, "Is primary"),
            Some(_) => (Code::AlreadyExists, "Is backup"),
            None => (Code::NotFound, "There is no primary"),
        };
        let election = primary.map(|(_, it)| Uint128 {
            high: (it >> 64) as u64,
            low: it as u64,
        });
        let update = MasterArbitrationUpdate {
            device_id: self.device.options().device_id,
            election_id: election,
            status: Some(rpc::Status {
                code: code as i32,
                message: message.to_owned(),
                details: Vec::new(),
            }),
            ..Default::default()
        };
        self.send(stream, Answer::Arbitration(update));
    }

    /// Delivers packets to the controller, and returns the others.
    fn deliver(&mut self, outputs: Vec<Output>) -> Vec<Output> {
        let cpu_port = self.device.options().cpu_port;
        let (ins, others): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|it| it.port == cpu_port);
        for packet in ins {
            let message = self.device.packet_in(&packet.bytes);
            let primary = self.arbitration.primary();
            let is_sent = match (message, primary) {
                (Some(message), Some((stream, _))) => self.send(stream, Answer::Packet(message)),
                _ => false,
            };
            self.packet_ins += u64::from(is_sent);
            self.dropped_packet_ins += u64::from(!is_sent);
        }
        others
    }
}

fn number(election: Option<Uint128>) -> u128 {
    election.map_or(0, |it| u128::from(it.high) << 64 | u128::from(it.low))
}

fn status(refusal: Refusal) -> Status {
    Status::new(refusal.code, refusal.message)
}

/// The status of a write: OK, or UNKNOWN with one error for each update in its details.
fn write_status(outcomes: &[Outcome<()>]) -> Result<(), Status> {
    if outcomes.iter().all(Result::is_ok) {
        return Ok(());
    }
    let details = outcomes.iter().map(|outcome| {
        let error = match outcome {
            Ok(()) => v1::Error::default(),
            Err(refusal) => v1::Error {
                canonical_code: refusal.code as i32,
                message: refusal.message.clone(),
                space: "switch-sim".to_owned(),
                ..Default::default()
            },
        };
        prost_types::Any {
            type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
            value: error.encode_to_vec(),
        }
    });
    let all = rpc::Status {
        code: Code::Unknown as i32,
        message: String::new(),
        details: details.collect(),
    };
    Err(Status::with_details(Code::Unknown, "", all.encode_to_vec().into()))
}

#[tonic::async_trait]
impl P4Runtime for Server {
    type ReadStream = ReceiverStream<Result<v1::ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let request = request.into_inner();
        let mut state = self.as_primary(request.election_id)?;
        let outcomes = state.device.write(&request).map_err(status)?;
        write_status(&outcomes)?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let entities = self.state().device.read(request.get_ref()).map_err(status)?;
        let chunks: Vec<_> = entities.chunks(ENTITIES_MAX).map(<[_]>::to_vec).collect();
        let (sender, receiver) = mpsc::channel(chunks.len().max(1));
        for entities in chunks {
            // There is room for all.
            let _ = sender.try_send(Ok(v1::ReadResponse { entities }));
        }
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        if !request.role.is_empty() {
            return Err(Status::unimplemented("roles"));
        }
        let mut state = self.as_primary(request.election_id)?;
        state.device.set_pipeline(&request).map_err(status)?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let config = self.state().device.get_pipeline(request.get_ref()).map_err(status)?;
        Ok(Response::new(v1::GetForwardingPipelineConfigResponse {
            config: Some(config),
        }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let mut asks = request.into_inner();
        let (responses, receiver) = mpsc::channel(WAITING_MAX);
        let server = self.clone();
        tokio::spawn(async move {
            let mut stream = None;
            while let Ok(Some(message)) = asks.message().await {
                let Some(ask) = message.update else { continue };
                if let Err(status) = server.message(&mut stream, ask, &responses) {
                    let _ = responses.send(Err(status)).await;
                    break;
                }
            }
            server.leave(stream);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn capabilities(
        &self,
        _: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        let p4runtime_api_version = "1.5.0".to_owned();
        Ok(Response::new(v1::CapabilitiesResponse {
            p4runtime_api_version,
            experimental: None,
        }))
    }
}
