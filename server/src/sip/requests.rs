//! Requests of proxies on their way to the task.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot};

use super::others::PassedBack;
use super::shares::Share;

/// In which form a proxy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `ng` with a cookie.
    Ng,
    /// `ng` without one.
    NgPlain,
    /// rtpproxy's with a cookie.
    Rtpproxy,
    /// rtpproxy's without one.
    RtpproxyPlain,
}

/// The destination of an answer.
pub(crate) enum ReplyTo {
    /// To this address, from this socket.
    Datagram(Arc<UdpSocket>, SocketAddr),
    /// To whoever waits for it.
    Waiting(oneshot::Sender<Arc<[u8]>>),
    /// To the machine of the cluster that has passed the request on.
    Passed(PassedBack),
}

/// A message of a proxy.
pub(super) struct ControlMessage {
    pub(super) protocol: Protocol,
    pub(super) from: Option<IpAddr>,
    pub(super) message: Vec<u8>,
    pub(super) reply_to: ReplyTo,
    /// Its place among those of its proxy, if it has one.
    pub(super) _share: Option<Share>,
}

/// A question for the task.
pub(super) enum ProxyRequest {
    Request(ControlMessage),
    Alive(oneshot::Sender<()>),
    Drain,
    EndingCalls(oneshot::Sender<usize>),
}

/// The task is gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

/// The sockets' handle on the task.
#[derive(Clone)]
pub(crate) struct Handle(pub(super) mpsc::Sender<ProxyRequest>);

impl Handle {
    /// Passes on a proxy's request.
    pub(super) async fn ask(&self, asked: ControlMessage) -> Result<(), Gone> {
        self.0.send(ProxyRequest::Request(asked)).await.map_err(|_| Gone)
    }

    /// Whether the task answers. The caller sets the time limit.
    pub(crate) async fn is_alive(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.0.send(ProxyRequest::Alive(answer)).await.is_ok() && answered.await.is_ok()
    }

    /// Refuses new calls from now on.
    pub(crate) async fn drain(&self) {
        let _ = self.0.send(ProxyRequest::Drain).await;
    }

    /// The number of calls that are not over and end with the process.
    pub(crate) async fn ending_calls(&self) -> usize {
        let (answer, answered) = oneshot::channel();
        match self.0.send(ProxyRequest::EndingCalls(answer)).await {
            Ok(()) => answered.await.unwrap_or_default(),
            Err(_) => 0,
        }
    }

    /// Passes on a proxy's request, and waits for what is answered, if anything is.
    pub(crate) async fn answer(&self, protocol: Protocol, from: Option<IpAddr>, message: Vec<u8>) -> Option<Arc<[u8]>> {
        let (answer, answered) = oneshot::channel();
        let asked = ControlMessage {
            protocol,
            from,
            message,
            reply_to: ReplyTo::Waiting(answer),
            _share: None,
        };
        self.ask(asked).await.ok()?;
        answered.await.ok()
    }
}
