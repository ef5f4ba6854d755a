//! The links that other media nodes make to this one.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use southbound::{LinkHello, LinkMessage, LinkReply, Versions};
use southbound_wire::v1;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::Stream;
use tonic::{Status, Streaming};
use tracing::{info, warn};

use super::accept::Origin;
use super::{HELLO_MAX, Node, Service, close_soon};
use crate::cluster::node_ids;
use crate::media::links::{LinkEvent, REPLIES_MAX, SAID_MAX, Said};
use crate::metrics::cut::Cut;

/// The number of the last connection.
static LAST: AtomicU64 = AtomicU64::new(0);

impl Service {
    /// Takes the hello of a node, and connects its link with the thread.
    ///
    /// Errors: why it is refused.
    pub(super) async fn begin_link(
        &self,
        mut incoming: Streaming<v1::LinkMessage>,
        origin: &Origin,
    ) -> Result<Replies, Status> {
        let hello = self.read_link_hello(&mut incoming, origin).await?;
        let common = hello.versions.common(self.node.versions);
        if common.is_none_or(|version| version < Versions::LINKS) {
            let status = Status::failed_precondition("the nodes have no version with links in common");
            return Err(self.refuse(Cut::Version, origin, status));
        }
        let is_proven = node_ids::is_of(hello.node, &origin.name);
        if let Err(name) = self.node_identities.bind(hello.node, &origin.name, is_proven) {
            warn!(
                node = hello.node.0,
                name = &*name,
                "the id that a node says is another one's"
            );
            let status = Status::permission_denied("another certificate has said this node's id before");
            return Err(self.refuse(Cut::Identity, origin, status));
        }
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        let (replies, mut replied) = mpsc::channel(REPLIES_MAX);
        let (said, taken) = mpsc::channel(SAID_MAX);
        let Node { links, waker, .. } = &self.node;
        let gone = |()| Status::unavailable("the node ends");
        links
            .tell(LinkEvent::Entered(hello, id, replies, taken), waker)
            .await
            .map_err(gone)?;
        // Messages are taken only then.
        let Some(welcome) = replied.recv().await else {
            let status = Status::failed_precondition("the node does not take the link");
            return Err(self.refuse(Cut::Full, origin, status));
        };
        info!(
            node = hello.node.0,
            name = &*origin.name,
            "another media node is linked"
        );
        let (node, origin) = (self.node.clone(), origin.clone());
        tokio::spawn(async move {
            if let Some(status) = read(incoming, &said, &node).await {
                node.metrics.southbound_cut(Cut::Malformed);
                warn!(node = hello.node.0, reason = status.message(), "a link is ended");
            }
            let _ = node.links.tell(LinkEvent::Left(hello.node, id), &node.waker).await;
            close_soon(origin).await;
        });
        Ok(Replies {
            welcome: Some(welcome),
            replied,
        })
    }

    async fn read_link_hello(
        &self,
        incoming: &mut Streaming<v1::LinkMessage>,
        origin: &Origin,
    ) -> Result<LinkHello, Status> {
        let refuse = |why, status| self.refuse(why, origin, status);
        let first = timeout(HELLO_MAX, incoming.message()).await;
        let first = first.map_err(|_| refuse(Cut::Silent, Status::deadline_exceeded("no hello came in time")))?;
        let first = first.map_err(|status| refuse(Cut::Malformed, status))?;
        let first = first.and_then(|message| LinkMessage::try_from(message).ok());
        match first {
            Some(LinkMessage::Hello(hello)) => Ok(hello),
            _ => Err(refuse(
                Cut::NoHello,
                Status::invalid_argument("the first message is no hello"),
            )),
        }
    }
}

/// Passes the messages of a node to the thread, waiting while that has as many as it takes. Returns
/// the reason if the node broke the protocol.
async fn read(mut incoming: Streaming<v1::LinkMessage>, said: &mpsc::Sender<Said>, node: &Node) -> Option<Status> {
    loop {
        let message = match incoming.message().await {
            Ok(Some(message)) => message,
            // The connection is gone as well if a message is too long or no protobuf.
            Ok(None) | Err(_) => return None,
        };
        let linked = match message.try_into() {
            Ok(LinkMessage::Message(linked)) => linked,
            Ok(LinkMessage::Hello(_)) => return Some(Status::invalid_argument("a second hello")),
            Err(error) => {
                let error: southbound_wire::Error = error;
                return Some(Status::invalid_argument(error.to_string()));
            }
        };
        // The thread may sleep while it has messages that it was not woken for.
        if said.capacity() == 0 {
            node.waker.wake();
        }
        if said.send(linked).await.is_err() {
            return None;
        }
        node.waker.wake();
    }
}

/// The answers to a node. The end means that the thread has ended the link.
pub(crate) struct Replies {
    welcome: Option<LinkReply>,
    replied: mpsc::Receiver<LinkReply>,
}

impl Stream for Replies {
    type Item = Result<v1::LinkReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(welcome) = self.welcome.take() {
            return Poll::Ready(Some(Ok(welcome.into())));
        }
        let reply = std::task::ready!(self.replied.poll_recv(cx));
        Poll::Ready(reply.map(|reply| Ok(reply.into())))
    }
}
