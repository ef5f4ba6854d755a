//! A connection to a client that has to take what it is sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail with [`TimedOut`](io::ErrorKind::TimedOut) once the other end has
/// read nothing for a while. The connection is then reset, so that the kernel drops the unsent
/// data.
pub(crate) struct WriteTimeout {
    stream: TcpStream,
    time_limit: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeout {
    /// A stream that waits for so long.
    pub(crate) fn new(stream: TcpStream, time_limit: Duration) -> Self {
        WriteTimeout {
            stream,
            time_limit,
            stalled: None,
        }
    }

    fn bounded<T>(&mut self, context: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let time_limit = self.time_limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(time_limit)));
        ready!(stalled.as_mut().poll(context));
        // If it is refused the kernel keeps what was written for a little longer.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for WriteTimeout {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.bounded(context, wrote)
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_reads_nothing_is_reset() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut deaf = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = WriteTimeout::new(stream, Duration::from_millis(50));
        let error = loop {
            if let Err(error) = stream.write_all(&[0; 65_536]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        let read = deaf.read_to_end(&mut Vec::new()).await;
        assert_eq!(read.map_err(|error| error.kind()), Err(io::ErrorKind::ConnectionReset));
    }

    #[tokio::test]
    async fn a_slow_reader_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = WriteTimeout::new(stream, Duration::from_secs(60));
        let bytes = vec![7; 8 << 20];
        let read = async {
            let mut taken = vec![0; bytes.len()];
            slow.read_exact(&mut taken).await.map(|_| taken)
        };
        let (wrote, read) = tokio::join!(stream.write_all(&bytes), read);
        assert!(wrote.is_ok() && read.unwrap() == bytes);
    }
}
