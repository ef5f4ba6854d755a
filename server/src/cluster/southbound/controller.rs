//! The controller's end of its connection with a media node.

use std::fmt;
use std::io;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use southbound::{ControllerHello, ControllerMessage, NodeHello, NodeMessage, RoomMessage};
use southbound_wire::v1::southbound_client::SouthboundClient;
use southbound_wire::{MESSAGE_LEN_MAX, v1};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};
use tracing::info;

use super::{HELLO_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_MAX, WINDOW};
use crate::cli::Role;
use crate::cluster::tls::ClusterTls;
use crate::os::tcp::tune;

/// How long a node may take to accept the connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// Messages to the node that wait; then the sender waits.
const MESSAGES_MAX: usize = 256;

/// Messages of the node that wait; then the node waits, and after a while it disconnects.
const EVENTS_MAX: usize = 4_096;

/// A media node on another machine. The connection ends when this is dropped.
///
/// The node has said its hello. The first events are the pages of its rooms
/// ([`NodeMessage::Rooms`]), then [`Notice::Node`](southbound::Notice::Node) about its addresses.
#[derive(Debug)]
pub(crate) struct RemoteNode {
    /// The hello of the node.
    pub hello: NodeHello,
    /// The version of the protocol that both speak.
    pub version: u32,
    /// Messages about rooms, in their order. Sending waits while the node has as many as it takes,
    /// and fails once the connection is lost.
    pub messages: mpsc::Sender<RoomMessage>,
    /// Messages of the node, in their order. The end means that the connection is lost. A
    /// controller that does not take them is disconnected by the node, which does not wait. So they
    /// are to be taken also while sending waits.
    pub events: mpsc::Receiver<NodeMessage>,
    /// Aborted when it is dropped.
    _tasks: JoinSet<()>,
}

/// Why there is no connection with a node.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The address does not answer.
    Unreachable(io::Error),
    /// The peer is no media node of this cluster, or TLS failed otherwise.
    Tls(io::Error),
    /// A step took too long.
    Silent,
    /// The node refused the connection.
    Refused(Status),
    /// The node broke the protocol.
    Malformed(&'static str),
    /// The two have no version of the protocol in common.
    Version,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "the node cannot be reached: {error}"),
            Self::Tls(error) => write!(f, "the peer is no media node of this cluster: {error}"),
            Self::Silent => f.write_str("the node does not answer in time"),
            Self::Refused(status) => write!(f, "the node refuses the connection: {}", status.message()),
            Self::Malformed(why) => write!(f, "the node breaks the protocol: {why}"),
            Self::Version => f.write_str("the node speaks other versions of the protocol"),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Connects to the node at an address, which is `HOST:PORT`. Bounded in time.
///
/// Errors: any [`ConnectError`]. The caller tries again, after a while.
pub(crate) async fn connect(
    address: &str,
    tls: &ClusterTls,
    hello: ControllerHello,
) -> Result<RemoteNode, ConnectError> {
    let stream = timeout(CONNECT_MAX, open(address, tls));
    let stream = stream.await.map_err(|_| ConnectError::Silent)??;
    timeout(HELLO_MAX, begin(stream, hello))
        .await
        .map_err(|_| ConnectError::Silent)?
}

pub(crate) async fn open(address: &str, tls: &ClusterTls) -> Result<TlsStream<TcpStream>, ConnectError> {
    let stream = TcpStream::connect(address).await.map_err(ConnectError::Unreachable)?;
    tune(&stream, KEEP_ALIVE_EVERY + KEEP_ALIVE_MAX);
    let name = ServerName::try_from(Role::Media.name());
    let name = name.map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
    let shaken = tls.connector().connect(name, stream).await;
    shaken.map_err(ConnectError::Tls)
}

async fn begin(stream: TlsStream<TcpStream>, hello: ControllerHello) -> Result<RemoteNode, ConnectError> {
    let channel = channel(stream, KEEP_ALIVE_MAX).await?;
    let mut client = SouthboundClient::new(channel)
        .max_decoding_message_size(MESSAGE_LEN_MAX)
        .max_encoding_message_size(MESSAGE_LEN_MAX);
    let (messages, taken) = mpsc::channel::<RoomMessage>(MESSAGES_MAX);
    let first = tokio_stream::once(ControllerMessage::Hello(hello));
    let outgoing = first.chain(ReceiverStream::new(taken).map(ControllerMessage::Room));
    let outgoing = outgoing.map(v1::ControllerMessage::from);
    let answered = client.control(outgoing).await.map_err(ConnectError::Refused)?;
    let mut incoming = answered.into_inner();
    let first = incoming.message().await.map_err(ConnectError::Refused)?;
    let first = first.and_then(|message| NodeMessage::try_from(message).ok());
    let Some(NodeMessage::Hello(said)) = first else {
        return Err(ConnectError::Malformed("its first message is no hello"));
    };
    let version = said.versions.common(hello.versions).ok_or(ConnectError::Version)?;
    let (events, told) = mpsc::channel(EVENTS_MAX);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let why = read(incoming, &events).await;
        info!(node = said.node.0, %why, "the connection with a media node is lost");
    });
    Ok(RemoteNode {
        hello: said,
        version,
        messages,
        events: told,
        _tasks: tasks,
    })
}

/// HTTP/2 over one connection, which is not made again.
/// The peer may be silent for `silent_max` after it was asked for a sign of life.
pub(crate) async fn channel(stream: TlsStream<TcpStream>, silent_max: Duration) -> Result<Channel, ConnectError> {
    let endpoint = Endpoint::from_static("http://node")
        .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(silent_max)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let mut stream = Some(stream);
    let connector = tower::service_fn(move |_| {
        let stream = stream.take().map(TokioIo::new);
        std::future::ready(stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected)))
    });
    let connected = endpoint.connect_with_connector(connector).await;
    connected.map_err(|error| ConnectError::Tls(io::Error::other(error)))
}

/// Passes messages of the node on until its end, which it returns the reason of.
async fn read(mut incoming: Streaming<v1::NodeMessage>, events: &mpsc::Sender<NodeMessage>) -> String {
    loop {
        let message = match incoming.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return "the node has ended it".to_owned(),
            Err(status) => return status.message().to_owned(),
        };
        match NodeMessage::try_from(message) {
            Ok(message) => {
                if events.send(message).await.is_err() {
                    return "nobody takes its messages".to_owned();
                }
            }
            Err(error) => return format!("the node breaks the protocol: {error}"),
        }
    }
}
