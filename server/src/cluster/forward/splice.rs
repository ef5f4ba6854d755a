//! Two connections that have become one: a client's, and that of the controller that serves it.
//!
//! A WebSocket is silent for most of its time, so no buffer is kept between the bytes of two
//! messages.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::metrics::forwarded::OpenForward;

/// The bytes that are passed on at a time.
const PIECE: usize = 8 << 10;

/// How long a client may take to get the answer that upgrades its connection.
const UPGRADE_MAX: Duration = Duration::from_secs(10);

/// Without a byte of the controller for this long it counts as lost. It asks its clients for a sign
/// of life every 10 s.
const SILENCE_MAX: Duration = Duration::from_secs(35);

/// How long a client may take to end its direction after the controller has ended its own.
const CLIENT_GOODBYE: Duration = Duration::from_secs(1);

/// How long the controller may take for its last messages after the client has ended its direction.
const CONTROLLER_GOODBYE: Duration = Duration::from_secs(10);

/// A client's connection and a controller's, which are about to become one.
pub(crate) struct Splice {
    client: OnUpgrade,
    controller: OnUpgrade,
    _open: OpenForward,
}

impl fmt::Debug for Splice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Splice")
    }
}

impl Splice {
    pub(super) fn new(client: OnUpgrade, controller: OnUpgrade, open: OpenForward) -> Self {
        Self {
            client,
            controller,
            _open: open,
        }
    }

    /// Passes bytes on until either end is lost, or both have ended.
    pub(crate) async fn run(self) {
        let both = async { tokio::try_join!(self.client, self.controller) };
        let Ok(Ok((client, controller))) = timeout(UPGRADE_MAX, both).await else {
            return;
        };
        if let Err(error) = join(TokioIo::new(client), TokioIo::new(controller)).await {
            debug!(%error, "a WebSocket between a client and a controller ended");
        }
    }
}

/// Passes bytes on in both directions.
///
/// Errors: one of the two is lost, or the controller is silent.
pub(super) async fn join<C, S>(client: C, controller: S) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut client, mut controller) = (client, controller);
    let (mut up, mut down) = (Direction::default(), Direction::default());
    let mut deadline = Box::pin(sleep(SILENCE_MAX));
    let mut goodbye = None;
    poll_fn(|cx| {
        let before = down.read;
        let sent_up = up.poll(&mut client, &mut controller, cx)?;
        let sent_down = down.poll(&mut controller, &mut client, cx)?;
        if sent_up.is_ready() && sent_down.is_ready() {
            return Poll::Ready(Ok(()));
        }
        // The first end decides how long the other one may take.
        let ended = match (sent_up, sent_down) {
            (_, Poll::Ready(())) => Some(CLIENT_GOODBYE),
            (Poll::Ready(()), _) => Some(CONTROLLER_GOODBYE),
            _ => None,
        };
        let wait = match ended {
            Some(wait) if goodbye != ended => Some(wait),
            None if down.read != before => Some(SILENCE_MAX),
            _ => None,
        };
        goodbye = ended;
        if let Some(wait) = wait {
            deadline.set(sleep(wait));
        }
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    })
    .await
}

/// One direction of a joined connection.
#[derive(Debug, Default)]
struct Direction {
    /// Bytes that were read, of which the other end has not taken these.
    rest: Vec<u8>,
    /// How many bytes were read, modulo 2^64.
    read: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// All that was written is on its way.
    #[default]
    Flushed,
    /// Something that was written may still be with us.
    Written,
    /// The sender has ended, and the receiver is not told yet.
    Ending,
    /// The receiver knows of the end.
    Ended,
}

impl Direction {
    /// Passes bytes on as long as it can. Ready once the end was passed on.
    ///
    /// Errors: one of the two is lost.
    fn poll<R, W>(&mut self, from: &mut R, to: &mut W, cx: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        loop {
            if !self.rest.is_empty() {
                let written = ready!(Pin::new(&mut *to).poll_write(cx, &self.rest))?;
                self.wrote(written)?;
                self.rest.drain(..written);
                if self.rest.is_empty() {
                    self.rest = Vec::new();
                }
                continue;
            }
            match self.state {
                State::Ended => return Poll::Ready(Ok(())),
                State::Ending => {
                    ready!(Pin::new(&mut *to).poll_shutdown(cx))?;
                    self.state = State::Ended;
                    continue;
                }
                State::Flushed | State::Written => {}
            }
            let mut space = [0; PIECE];
            let mut piece = ReadBuf::new(&mut space);
            match Pin::new(&mut *from).poll_read(cx, &mut piece)? {
                Poll::Ready(()) if piece.filled().is_empty() => self.state = State::Ending,
                Poll::Ready(()) => {
                    let bytes = piece.filled();
                    self.read = self.read.wrapping_add(bytes.len() as u64);
                    match Pin::new(&mut *to).poll_write(cx, bytes)? {
                        Poll::Ready(written) => {
                            self.wrote(written)?;
                            self.rest.extend_from_slice(&bytes[written..]);
                        }
                        Poll::Pending => self.rest.extend_from_slice(bytes),
                    }
                }
                Poll::Pending if self.state == State::Written => {
                    ready!(Pin::new(&mut *to).poll_flush(cx))?;
                    self.state = State::Flushed;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn wrote(&mut self, bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.state = State::Written;
        Ok(())
    }
}
