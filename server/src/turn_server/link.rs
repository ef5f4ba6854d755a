//! The way to one client.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use turn::framing;

use crate::clients::peeked::Stream;

/// How long a client may take nothing of what it is sent.
const PATIENCE: Duration = Duration::from_secs(15);

/// The way to one client.
pub(super) enum Link {
    /// By datagrams of one address.
    Datagrams {
        /// Its messages.
        incoming: mpsc::Receiver<Vec<u8>>,
        socket: Arc<UdpSocket>,
        client: SocketAddr,
    },
    /// By a stream.
    Stream {
        stream: Box<dyn Stream>,
        /// The beginning of the next message.
        buffer: Vec<u8>,
    },
}

impl Link {
    /// The way over a stream.
    pub(super) fn stream(stream: Box<dyn Stream>) -> Self {
        Link::Stream {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Whether a message may come from another address than it says.
    pub(super) fn is_forgeable(&self) -> bool {
        matches!(self, Link::Datagrams { .. })
    }

    /// The next message; `None` when there is no more. Dropped before it is done, it has taken
    /// nothing.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Link::Datagrams { incoming, .. } => incoming.recv().await,
            Link::Stream { stream, buffer } => loop {
                if let Some(len) = framing::first(buffer).ok()?.filter(|len| *len <= buffer.len()) {
                    return Some(buffer.drain(..len).collect());
                }
                if stream.read_buf(buffer).await.ok()? == 0 {
                    return None;
                }
            },
        }
    }

    /// Sends a message.
    ///
    /// Errors: the stream has failed, or its other end takes nothing.
    pub(super) async fn send(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        match self {
            Link::Datagrams { socket, client, .. } => {
                // An error drops it, as on any path.
                let _ = socket.send_to(&message, *client).await;
                Ok(())
            }
            Link::Stream { stream, .. } => {
                framing::pad(&mut message);
                let sent = tokio::time::timeout(PATIENCE, async {
                    stream.write_all(&message).await?;
                    stream.flush().await
                });
                sent.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}
