//! A stream whose protocol is told by its first byte.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

/// A stream of bytes in both directions, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Takes a stream of another protocol than HTTP, with the address of its other end.
pub(crate) type HandOver = Arc<dyn Fn(Box<dyn Stream>, SocketAddr) + Send + Sync>;

/// A stream whose first byte is known, and is read again.
#[derive(Debug)]
pub(crate) struct Peeked<S> {
    first: u8,
    is_read: bool,
    stream: S,
}

impl<S: AsyncRead + Unpin> Peeked<S> {
    /// Waits for the first byte. The caller sets the time limit.
    ///
    /// Errors: the stream's; `UnexpectedEof` when it ends before.
    pub(crate) async fn read(mut stream: S) -> io::Result<Self> {
        let first = stream.read_u8().await?;
        Ok(Peeked {
            first,
            is_read: false,
            stream,
        })
    }

    /// The first byte.
    pub(crate) fn first(&self) -> u8 {
        self.first
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Peeked<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.is_read && to.remaining() > 0 {
            self.is_read = true;
            to.put_slice(&[self.first]);
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Peeked<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn everything_is_read_once() {
        let (mut client, server) = duplex(64);
        client.write_all(b"GET /").await.unwrap();
        let mut server = Peeked::read(server).await.unwrap();
        assert_eq!(server.first(), b'G');
        let mut text = [0; 5];
        server.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"GET /");
        server.write_all(b"back").await.unwrap();
        client.read_exact(&mut text[..4]).await.unwrap();
        assert_eq!(&text[..4], b"back");
    }

    #[tokio::test]
    async fn a_stream_that_ends_at_once_has_no_protocol() {
        let (client, server) = duplex(64);
        drop(client);
        let error = Peeked::read(server).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
