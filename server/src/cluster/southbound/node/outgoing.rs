//! The messages to one controller, in the form of the protocol.

use std::pin::Pin;
use std::task::{Context, Poll};

use southbound::NodeMessage;
use southbound_wire::v1;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use tonic::{Code, Status};
use tracing::{info, warn};

use super::Speaker;
use crate::media::fenced::Ending;
use crate::metrics::Metrics;
use crate::metrics::cut::Cut;

/// The stream of messages to a controller. Messages are encoded as they are taken.
pub(crate) struct Outgoing {
    speaker: Speaker,
    hello: Option<NodeMessage>,
    events: mpsc::Receiver<NodeMessage>,
    /// Why the thread has ended the connection, if it has.
    ending: oneshot::Receiver<Ending>,
    /// Why the controller's messages are not read any more.
    breach: oneshot::Receiver<Status>,
    metrics: Metrics,
    is_over: bool,
}

impl Outgoing {
    pub(super) fn new(
        speaker: Speaker,
        hello: NodeMessage,
        events: mpsc::Receiver<NodeMessage>,
        ending: oneshot::Receiver<Ending>,
        breach: oneshot::Receiver<Status>,
        metrics: Metrics,
    ) -> Self {
        Self {
            speaker,
            hello: Some(hello),
            events,
            ending,
            breach,
            metrics,
            is_over: false,
        }
    }

    /// The reason of the end, for the controller; it is counted.
    fn end(&mut self) -> Status {
        let (controller, name) = (self.speaker.controller.number(), &*self.speaker.name);
        if let Ok(ending) = self.ending.try_recv() {
            self.metrics.southbound_cut(match ending {
                Ending::Replaced => Cut::Replaced,
                Ending::Slow => Cut::Slow,
                Ending::Full => Cut::Full,
            });
            warn!(controller, name, why = ?ending, "a controller is disconnected");
            return match ending {
                Ending::Replaced => Status::aborted("the controller has a later connection"),
                Ending::Slow => Status::resource_exhausted("the controller did not take its messages"),
                Ending::Full => Status::resource_exhausted("the node has all the controllers it can have"),
            };
        }
        match self.breach.try_recv() {
            Ok(status) => {
                if matches!(status.code(), Code::InvalidArgument | Code::OutOfRange | Code::Internal) {
                    self.metrics.southbound_cut(Cut::Malformed);
                    warn!(
                        controller,
                        name,
                        reason = status.message(),
                        "a controller is disconnected"
                    );
                }
                status
            }
            Err(_) => {
                info!(controller, name, "a controller has left");
                Status::unavailable("the connection ends")
            }
        }
    }
}

impl Stream for Outgoing {
    type Item = Result<v1::NodeMessage, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(hello) = self.hello.take() {
            return Poll::Ready(Some(Ok(hello.into())));
        }
        let Poll::Ready(event) = self.events.poll_recv(cx) else {
            return Poll::Pending;
        };
        Poll::Ready(Some(match event {
            Some(message) => Ok(message.into()),
            None => {
                self.is_over = true;
                Err(self.end())
            }
        }))
    }
}

impl Drop for Outgoing {
    /// A controller that takes nothing never asks for the reason.
    fn drop(&mut self) {
        if !self.is_over {
            self.end();
        }
    }
}
