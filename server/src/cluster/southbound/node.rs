//! The node's end: takes the connections of controllers, and passes their messages to the media
//! thread and the thread's messages to them.

mod accept;
mod connected;
mod identities;
mod origins;
mod outgoing;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use southbound::{
    ControllerHello, ControllerId, ControllerMessage, NodeHello, NodeId, NodeMessage, RoomMessage, Versions,
};
use southbound_wire::v1::southbound_server::{Southbound, SouthboundServer};
use southbound_wire::{MESSAGE_LEN_MAX, v1};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use tracing::{error, info, warn};

use super::{HELLO_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_MAX, WINDOW};
use crate::cluster::tls::ClusterTls;
use crate::media::fenced::{CONTROLLERS_MAX, Connection, EVENTS_MAX, MESSAGES_MAX};
use crate::media::links::LinkEnds;
use crate::media::waker::Waker;
use crate::metrics::Metrics;
use crate::metrics::cut::Cut;
use accept::Origin;
pub(crate) use connected::ConnectedControllers;
use connected::ConnectedGuard;
use identities::Identities;
use origins::Replies;
use outgoing::Outgoing;

/// Streams of a connection. A controller that connects again has another connection.
const STREAMS_MAX: u32 = 1;

/// The answers to a peer whose certificate does not permit what it asks for.
const NO_CONTROLLER: &str = "the certificate is not for controllers";
const NO_NODE: &str = "the certificate is not for media nodes";

/// How long a controller may take to learn why its connection ends.
const GOODBYE_MAX: Duration = Duration::from_secs(3);

/// The media thread, as connections reach it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Node {
    /// The id that it says in its hello.
    pub id: NodeId,
    /// Takes the connections of controllers after their hello.
    pub connections: mpsc::Sender<Connection>,
    /// Takes what happens to links of other nodes.
    pub links: LinkEnds,
    /// Wakes it after each message.
    pub waker: Waker,
    /// The versions that it speaks.
    pub versions: Versions,
    /// The controllers that are connected.
    pub connected: ConnectedControllers,
    /// Counts the connections that are refused or ended.
    pub metrics: Metrics,
}

/// The service, which every connection shares.
struct Service {
    node: Node,
    identities: Identities<ControllerId>,
    node_identities: Identities<NodeId>,
}

/// The controller at the other end of a connection.
struct Speaker {
    controller: ControllerId,
    /// The name in its certificate.
    name: Arc<str>,
    _connected: ConnectedGuard,
}

/// Serves controllers until the returned tasks are dropped. None of them ends by itself.
pub(crate) fn serve(listener: TcpListener, tls: ClusterTls, node: Node) -> JoinSet<()> {
    let (accepted, streams) = mpsc::channel(CONTROLLERS_MAX);
    let mut tasks = JoinSet::new();
    tasks.spawn(accept::accept_all(listener, tls, accepted, node.metrics.clone()));
    let service = Service {
        node,
        identities: Identities::default(),
        node_identities: Identities::default(),
    };
    let service = SouthboundServer::from_arc(Arc::new(service))
        .max_decoding_message_size(MESSAGE_LEN_MAX)
        .max_encoding_message_size(MESSAGE_LEN_MAX);
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE_EVERY))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_MAX))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS_MAX)
        .add_service(service);
    let streams = ReceiverStream::new(streams);
    tasks.spawn(async move {
        use tokio_stream::StreamExt;
        if let Err(error) = server.serve_with_incoming(streams.map(io::Result::Ok)).await {
            error!(%error, "controllers are not served any more");
        }
    });
    tasks
}

#[tonic::async_trait]
impl Southbound for Service {
    type ControlStream = Outgoing;

    async fn control(&self, request: Request<Streaming<v1::ControllerMessage>>) -> Result<Response<Outgoing>, Status> {
        let origin = opened(&request)?;
        let begun = match origin.is_controller {
            true => self.begin(request.into_inner(), &origin).await,
            false => Err(self.refuse(Cut::Role, &origin, Status::permission_denied(NO_CONTROLLER))),
        };
        answer(begun, origin)
    }

    type LinkStream = Replies;

    async fn link(&self, request: Request<Streaming<v1::LinkMessage>>) -> Result<Response<Replies>, Status> {
        let origin = opened(&request)?;
        let begun = match origin.is_node {
            true => self.begin_link(request.into_inner(), &origin).await,
            false => Err(self.refuse(Cut::Role, &origin, Status::permission_denied(NO_NODE))),
        };
        answer(begun, origin)
    }
}

/// The connection that a stream is opened on.
fn opened<T>(request: &Request<T>) -> Result<Origin, Status> {
    let origin = request.extensions().get::<Origin>().cloned();
    let origin = origin.ok_or_else(|| Status::internal("the connection has no certificate"))?;
    origin.opened();
    Ok(origin)
}

/// Ends the connection of a stream that is refused.
fn answer<T>(begun: Result<T, Status>, origin: Origin) -> Result<Response<T>, Status> {
    if begun.is_err() {
        tokio::spawn(close_soon(origin));
    }
    begun.map(Response::new)
}

impl Service {
    /// Takes the hello of a controller, and connects it with the thread.
    ///
    /// Errors: why it is refused.
    async fn begin(&self, mut incoming: Streaming<v1::ControllerMessage>, origin: &Origin) -> Result<Outgoing, Status> {
        let Node {
            id,
            connections,
            waker,
            versions,
            connected,
            metrics,
            ..
        } = &self.node;
        let hello = self.read_hello(&mut incoming, origin).await?;
        let controller = hello.controller;
        let Some(version) = hello.versions.common(*versions) else {
            let (theirs, ours) = (hello.versions, versions);
            let text = format!(
                "the controller speaks the versions {} to {}, and this node {} to {}",
                theirs.oldest, theirs.newest, ours.oldest, ours.newest
            );
            return Err(self.refuse(Cut::Version, origin, Status::failed_precondition(text)));
        };
        if let Err(name) = self.identities.bind(controller, &origin.name, false) {
            let number = controller.number();
            warn!(
                controller = number,
                name = &*name,
                "the id that a controller says is another one's"
            );
            let status = Status::permission_denied("another certificate has said this controller's id before");
            return Err(self.refuse(Cut::Identity, origin, status));
        }
        let (messages, taken) = mpsc::channel(MESSAGES_MAX);
        let (events, told) = mpsc::channel(EVENTS_MAX);
        let (ended, ending) = oneshot::channel();
        let connection = Connection {
            controller,
            version,
            messages: taken,
            events,
            ended,
        };
        let gone = |_| Status::unavailable("the node ends");
        connections.send(connection).await.map_err(gone)?;
        waker.wake();
        let name = origin.name.clone();
        info!(
            controller = controller.number(),
            name = &*name,
            version,
            "a controller is connected"
        );
        let (broken, breach) = oneshot::channel();
        let (waker, origin) = (waker.clone(), origin.clone());
        tokio::spawn(async move {
            if let Err(status) = read(incoming, &messages, &waker).await {
                let _ = broken.send(status);
            }
            drop(messages);
            // The thread finds the end of the queue.
            waker.wake();
            close_soon(origin).await;
        });
        let hello = NodeMessage::Hello(NodeHello {
            versions: *versions,
            node: *id,
        });
        let speaker = Speaker {
            controller,
            name,
            _connected: connected.enter(),
        };
        Ok(Outgoing::new(speaker, hello, told, ending, breach, metrics.clone()))
    }

    async fn read_hello(
        &self,
        incoming: &mut Streaming<v1::ControllerMessage>,
        origin: &Origin,
    ) -> Result<ControllerHello, Status> {
        let refuse = |why, status| self.refuse(why, origin, status);
        let first = timeout(HELLO_MAX, incoming.message()).await;
        let first = first.map_err(|_| refuse(Cut::Silent, Status::deadline_exceeded("no hello came in time")))?;
        let first = first.map_err(|status| refuse(Cut::Malformed, status))?;
        let no_hello = || refuse(Cut::NoHello, Status::invalid_argument("the first message is no hello"));
        let malformed =
            |error: southbound_wire::Error| refuse(Cut::Malformed, Status::invalid_argument(error.to_string()));
        match first.ok_or_else(no_hello)?.try_into().map_err(malformed)? {
            ControllerMessage::Hello(hello) => Ok(hello),
            ControllerMessage::Room(_) => Err(no_hello()),
        }
    }

    fn refuse(&self, why: Cut, origin: &Origin, status: Status) -> Status {
        warn!(
            name = &*origin.name,
            reason = status.message(),
            "a connection is refused"
        );
        self.node.metrics.southbound_cut(why);
        status
    }
}

/// Ends a connection as soon as the controller has learnt why. One that reads nothing would keep
/// it, and what waits for it.
async fn close_soon(origin: Origin) {
    tokio::time::sleep(GOODBYE_MAX).await;
    origin.close();
}

/// Passes the messages of a controller to the thread, waiting while that has as many as it takes.
///
/// Errors: a message is malformed or too long.
async fn read(
    mut incoming: Streaming<v1::ControllerMessage>,
    messages: &mpsc::Sender<RoomMessage>,
    waker: &Waker,
) -> Result<(), Status> {
    loop {
        let message = tokio::select! {
            message = incoming.message() => message,
            () = messages.closed() => return Ok(()),
        };
        let message = match message {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            // The connection is gone, or a message is too long or no protobuf.
            Err(status) => return Err(status),
        };
        let message = message.try_into();
        let message = message.map_err(|error: southbound_wire::Error| Status::invalid_argument(error.to_string()))?;
        let ControllerMessage::Room(message) = message else {
            return Err(Status::invalid_argument("a second hello"));
        };
        // The thread may sleep while it has messages that it was not woken for.
        if messages.capacity() == 0 {
            waker.wake();
        }
        if messages.send(message).await.is_err() {
            return Ok(());
        }
        waker.wake();
    }
}
