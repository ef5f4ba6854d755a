//! A small P4Runtime client.

use std::net::SocketAddr;
use std::time::Duration;

use p4runtime::rpc;
use p4runtime::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::v1::stream_message_request::Update as Ask;
use p4runtime::v1::stream_message_response::Update as Answer;
use p4runtime::v1::{
    self, ForwardingPipelineConfig, MasterArbitrationUpdate, PacketIn, PacketOut, StreamMessageRequest,
    StreamMessageResponse, Uint128,
};
use prost::Message;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use crate::DEVICE;

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// How long an expected packet may take.
const EXPECTED_MAX: Duration = Duration::from_secs(2);

/// How long an unexpected one is waited for.
const FURTHER: Duration = Duration::from_millis(3);

/// The longest answer to a read.
const RESPONSE_MAX: usize = 64 << 20;

/// The codes of a write's updates, or the status of a request.
#[derive(Debug)]
pub enum Refused {
    /// One code for each update.
    Updates(Vec<(Code, String)>),
    /// The whole request.
    Request(Status),
}

/// A controller with a stream.
pub struct Controller {
    runtime: Runtime,
    client: P4RuntimeClient<Channel>,
    asks: mpsc::Sender<StreamMessageRequest>,
    answers: Streaming<StreamMessageResponse>,
    election: Uint128,
}

impl Controller {
    /// Connects, and contends with an election id. Returns the code of the answer: OK for the
    /// primary, `AlreadyExists` for a backup.
    pub fn connect(address: SocketAddr, election: u64) -> Result<(Self, Code), Status> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Status::internal(error.to_string()))?;
        let election = Uint128 { high: 0, low: election };
        let (asks, receiver) = mpsc::channel(64);
        let (client, answers) = runtime.block_on(async {
            let client = P4RuntimeClient::connect(format!("http://{address}")).await;
            let client = client.map_err(|error| Status::unavailable(error.to_string()))?;
            let mut client = client.max_decoding_message_size(RESPONSE_MAX);
            let update = MasterArbitrationUpdate {
                device_id: DEVICE,
                election_id: Some(election),
                ..Default::default()
            };
            let first = StreamMessageRequest {
                update: Some(Ask::Arbitration(update)),
            };
            let _ = asks.send(first).await;
            let answers = client.stream_channel(ReceiverStream::new(receiver)).await?;
            Ok::<_, Status>((client, answers.into_inner()))
        })?;
        let mut controller = Self {
            runtime,
            client,
            asks,
            answers,
            election,
        };
        let code = controller.arbitration()?;
        Ok((controller, code))
    }

    /// The next answer about who is primary.
    pub fn arbitration(&mut self) -> Result<Code, Status> {
        loop {
            match self.answer(ANSWER_MAX)? {
                Some(Answer::Arbitration(update)) => {
                    return Ok(Code::from(update.status.map_or(0, |it| it.code)));
                }
                Some(_) => {}
                None => return Err(Status::deadline_exceeded("no arbitration")),
            }
        }
    }

    /// The next packet to the controller within a time.
    pub fn packet_in(&mut self, wait: Duration) -> Result<Option<PacketIn>, Status> {
        loop {
            match self.answer(wait)? {
                Some(Answer::Packet(packet)) => return Ok(Some(packet)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// The packets to the controller, of which so many are expected: those are waited for, and
    /// further ones for a short time.
    pub fn packet_ins(&mut self, expected: usize) -> Result<Vec<PacketIn>, Status> {
        let mut found = Vec::new();
        loop {
            let wait = if found.len() < expected { EXPECTED_MAX } else { FURTHER };
            match self.packet_in(wait)? {
                Some(packet) => found.push(packet),
                None => return Ok(found),
            }
        }
    }

    fn answer(&mut self, wait: Duration) -> Result<Option<Answer>, Status> {
        let answers = &mut self.answers;
        let next = self.runtime.block_on(async { timeout(wait, answers.message()).await });
        match next {
            Ok(Ok(Some(message))) => Ok(message.update),
            Ok(Ok(None)) => Err(Status::unavailable("the stream has ended")),
            Ok(Err(status)) => Err(status),
            Err(_) => Ok(None),
        }
    }

    /// Sends a packet through the switch.
    pub fn packet_out(&mut self, packet: PacketOut) {
        let message = StreamMessageRequest {
            update: Some(Ask::Packet(packet)),
        };
        let _ = self.runtime.block_on(self.asks.send(message));
    }

    /// Sets a program and its description.
    pub fn push(&mut self, json: &str, p4info: &str, cookie: u64) -> Result<(), Status> {
        let info = p4runtime::p4info(p4info).map_err(|error| Status::internal(error.to_string()))?;
        self.install(ForwardingPipelineConfig {
            p4info: Some(info),
            p4_device_config: json.into(),
            cookie: Some(v1::forwarding_pipeline_config::Cookie { cookie }),
        })
    }

    /// Sets a program as a driver has it.
    pub fn install(&mut self, config: ForwardingPipelineConfig) -> Result<(), Status> {
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: DEVICE,
            election_id: Some(self.election),
            action: Action::VerifyAndCommit as i32,
            config: Some(config),
            ..Default::default()
        };
        let client = &mut self.client;
        self.runtime
            .block_on(client.set_forwarding_pipeline_config(request))
            .map(|_| ())
    }

    /// Applies updates.
    pub fn write(&mut self, updates: Vec<v1::Update>) -> Result<(), Refused> {
        let request = v1::WriteRequest {
            device_id: DEVICE,
            election_id: Some(self.election),
            updates,
            ..Default::default()
        };
        let client = &mut self.client;
        match self.runtime.block_on(client.write(request)) {
            Ok(_) => Ok(()),
            Err(status) => Err(refused(status)),
        }
    }

    /// Reads entities.
    pub fn read(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Status> {
        let request = v1::ReadRequest {
            device_id: DEVICE,
            entities,
            ..Default::default()
        };
        let client = &mut self.client;
        self.runtime.block_on(async {
            let mut responses = client.read(request).await?.into_inner();
            let mut found = Vec::new();
            while let Some(response) = responses.message().await? {
                found.extend(response.entities);
            }
            Ok(found)
        })
    }
}

/// The codes of single updates, from the details of a status.
fn refused(status: Status) -> Refused {
    let details = rpc::Status::decode(status.details()).map(|it| it.details);
    let errors = details.unwrap_or_default();
    let error = |it: &prost_types::Any| v1::Error::decode(it.value.as_slice()).ok();
    let errors: Option<Vec<_>> = errors.iter().map(error).collect();
    match errors {
        Some(errors) if !errors.is_empty() => {
            let code = |it: v1::Error| (Code::from(it.canonical_code), it.message);
            Refused::Updates(errors.into_iter().map(code).collect())
        }
        _ => Refused::Request(status),
    }
}
