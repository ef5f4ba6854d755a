//! One connection, from the arbitration to its end.

use std::fmt;

use p4runtime::v1;
use p4runtime::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::v1::stream_message_request::Update as Request;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use crate::context::ANSWER_MAX;
use crate::program::Program;
use crate::shared::Shared;

pub(super) type Client = P4RuntimeClient<Channel>;

/// So many messages wait to be sent on the stream.
const STREAM_MAX: usize = 512;

/// The longest answer that is read: all entries of a full switch are read in many.
const MESSAGE_MAX: usize = 64 << 20;

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// There was none.
    Unreachable(String),
    /// The switch no longer answers.
    Lost(String),
    /// Another controller has the mastership, and the switch does not keep this one waiting.
    NotPrimary,
    /// The switch has another program: it restarted.
    Changed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Unreachable(why) => write!(f, "unreachable: {why}"),
            End::Lost(why) => write!(f, "lost: {why}"),
            End::NotPrimary => f.write_str("another controller has the mastership"),
            End::Changed => f.write_str("it has another program"),
        }
    }
}

/// A connection.
pub(super) struct Session<'a> {
    pub(super) shared: &'a Shared,
    pub(super) program: &'a Program,
    pub(super) client: Client,
    pub(super) device: u64,
    election: u64,
    pub(super) out: mpsc::Sender<v1::StreamMessageRequest>,
    pub(super) incoming: Streaming<v1::StreamMessageResponse>,
}

impl<'a> Session<'a> {
    /// Connects, and asks for the mastership.
    pub(super) async fn open(shared: &'a Shared, program: &'a Program) -> Result<Self, End> {
        let (switch, device, election) = {
            let core = shared.core();
            let config = core.config();
            (config.switch, config.device, config.election)
        };
        let unreachable = |error: &dyn fmt::Display| End::Unreachable(error.to_string());
        let endpoint = Endpoint::from_shared(format!("http://{switch}")).map_err(|error| unreachable(&error))?;
        let endpoint = endpoint.connect_timeout(ANSWER_MAX).tcp_nodelay(true);
        let channel = endpoint.connect().await.map_err(|error| unreachable(&error))?;
        let mut client = P4RuntimeClient::new(channel).max_decoding_message_size(MESSAGE_MAX);
        let (out, requests) = mpsc::channel(STREAM_MAX);
        let arbitration = v1::MasterArbitrationUpdate {
            device_id: device,
            election_id: Some(election_id(election)),
            ..Default::default()
        };
        let _ = out.try_send(request(Request::Arbitration(arbitration)));
        let opened = timeout(ANSWER_MAX, client.stream_channel(ReceiverStream::new(requests))).await;
        let incoming = match opened {
            Ok(Ok(response)) => response.into_inner(),
            Ok(Err(status)) => return Err(lost(&status)),
            Err(_) => return Err(End::Unreachable("no answer".to_owned())),
        };
        Ok(Session {
            shared,
            program,
            client,
            device,
            election,
            out,
            incoming,
        })
    }

    pub(super) fn election(&self) -> v1::Uint128 {
        election_id(self.election)
    }

    pub(super) fn write_request(&self, updates: Vec<v1::Update>) -> v1::WriteRequest {
        v1::WriteRequest {
            device_id: self.device,
            election_id: Some(self.election()),
            updates,
            ..Default::default()
        }
    }
}

fn election_id(election: u64) -> v1::Uint128 {
    v1::Uint128 { high: 0, low: election }
}

pub(super) fn request(update: Request) -> v1::StreamMessageRequest {
    v1::StreamMessageRequest { update: Some(update) }
}

pub(super) fn is_primary(update: &v1::MasterArbitrationUpdate) -> bool {
    update.status.as_ref().is_some_and(|status| status.code == 0)
}

pub(super) fn is_lost(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled
    )
}

/// The end of a connection with this status.
pub(super) fn lost(status: &Status) -> End {
    match status.code() {
        Code::PermissionDenied => End::NotPrimary,
        // Another controller has the same number.
        Code::InvalidArgument => End::Lost(format!(
            "the switch does not accept the election number: {}",
            status.message()
        )),
        code => End::Lost(format!("{code}: {}", status.message())),
    }
}
