//! A limit on the frames of HTTP/2 that make work and bring none.
//!
//! `h2` bounds empty frames of data, resets of requests that wait and continuations of headers. It
//! takes any number of window updates, pings, settings, priorities and unknown frames. Here each
//! frame costs one of a stock, and answers add to it.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::unconstrained;

use crate::os::clock;

/// The frames that a client may send at once, and each second.
const AT_ONCE: u32 = 1_000;
const PER_SECOND: u32 = 100;

/// The most frames that answers let a client send.
const STOCK_MAX: u32 = 8 * AT_ONCE;

/// The frames that an answer adds: a request in several frames, and its end. Clients acknowledge
/// what they read in pieces of 4 KiB with two frames each.
const PER_ANSWER: u32 = 8;
const BYTES_PER_FRAME: usize = 1 << 10;

/// The payload of data that costs nothing, since the windows bound it.
const LARGE_DATA: u32 = 1 << 10;

/// The bytes that a client begins with (RFC 9113 section 3.4).
const PREFACE_LEN: u32 = 24;
const HEADER_LEN: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const GOAWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u8 = 11;

/// The boundaries of the frames in one direction.
#[derive(Debug, Default)]
struct Frames {
    header: [u8; HEADER_LEN],
    /// Bytes of the header that are there.
    have: usize,
    /// Bytes that are left of the payload.
    payload: u32,
}

impl Frames {
    /// Takes the next bytes; `each` gets the type and the length of each frame that begins.
    fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(u8, u32)) {
        while !bytes.is_empty() {
            if self.payload > 0 {
                let len = bytes.len().min(self.payload as usize);
                bytes = &bytes[len..];
                self.payload -= len as u32;
                continue;
            }
            let len = bytes.len().min(HEADER_LEN - self.have);
            self.header[self.have..self.have + len].copy_from_slice(&bytes[..len]);
            self.have += len;
            bytes = &bytes[len..];
            if self.have == HEADER_LEN {
                self.have = 0;
                let [a, b, c, kind, ..] = self.header;
                self.payload = u32::from_be_bytes([0, a, b, c]);
                each(kind, self.payload);
            }
        }
    }

    fn is_between(&self) -> bool {
        self.have == 0 && self.payload == 0
    }
}

/// The frames that a client may send.
#[derive(Debug)]
struct Stock {
    left: u32,
    /// The time until which the seconds are counted.
    counted: Instant,
}

impl Stock {
    fn new(now: Instant) -> Self {
        Stock {
            left: AT_ONCE,
            counted: now,
        }
    }

    /// Takes so many; whether there were as many.
    fn take(&mut self, now: Instant, frames: u32) -> bool {
        let elapsed = now.saturating_duration_since(self.counted);
        let earned = (elapsed.as_millis() * u128::from(PER_SECOND) / 1000).min(u128::from(AT_ONCE)) as u32;
        if earned > 0 {
            self.counted = now;
            self.left = self.left.max(AT_ONCE.min(self.left + earned));
        }
        let is_enough = frames <= self.left;
        self.left = self.left.saturating_sub(frames);
        is_enough
    }

    fn add(&mut self, frames: u32) {
        self.left = STOCK_MAX.min(self.left.saturating_add(frames));
    }
}

/// A stream of HTTP/2 whose reads fail with [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) once
/// the client has sent more frames than it may.
pub(super) struct FrameLimit<S> {
    stream: S,
    read: Frames,
    written: Frames,
    stock: Stock,
    /// Bytes written that have not added a frame.
    unpaid: usize,
}

impl<S> FrameLimit<S> {
    /// The limit on a stream that has carried nothing.
    pub(super) fn new(stream: S) -> Self {
        FrameLimit {
            stream,
            read: Frames {
                payload: PREFACE_LEN,
                ..Frames::default()
            },
            written: Frames::default(),
            stock: Stock::new(clock::now()),
            unpaid: 0,
        }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        let stock = &mut self.stock;
        self.written.read(bytes, |kind, _| {
            if kind == HEADERS {
                stock.add(PER_ANSWER);
            }
        });
        self.unpaid += bytes.len();
        stock.add((self.unpaid / BYTES_PER_FRAME) as u32);
        self.unpaid %= BYTES_PER_FRAME;
    }
}

impl<S: AsyncWrite + Unpin> FrameLimit<S> {
    /// Tells the client why its connection ends, if there is room for it now.
    fn say_goodbye(&mut self, context: &mut Context<'_>) {
        if !self.written.is_between() {
            return;
        }
        let mut goaway = [0; HEADER_LEN + 8];
        (goaway[2], goaway[3]) = (8, GOAWAY);
        // All requests that arrived may have had an effect.
        goaway[HEADER_LEN..HEADER_LEN + 4].copy_from_slice(&i32::MAX.to_be_bytes());
        goaway[HEADER_LEN + 7] = ENHANCE_YOUR_CALM;
        // A flood uses up what the runtime lets a task do in one turn, and there is no other turn.
        let stream = &mut self.stream;
        let mut writing = pin!(unconstrained(poll_fn(|context| {
            ready!(Pin::new(&mut *stream).poll_write(context, &goaway))?;
            Pin::new(&mut *stream).poll_flush(context)
        })));
        // The connection ends in any case.
        let _ = writing.as_mut().poll(context);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for FrameLimit<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, to))?;
        let mut frames = 0;
        self.read.read(&to.filled()[before..], |kind, len| {
            if kind != DATA || len < LARGE_DATA {
                frames += 1;
            }
        });
        if frames > 0 && !self.stock.take(clock::now(), frames) {
            self.say_goodbye(context);
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameLimit<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let len = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.wrote(&bytes[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        let mut left = len;
        for slice in slices {
            let taken = left.min(slice.len());
            self.wrote(&slice[..taken]);
            left -= taken;
        }
        Poll::Ready(Ok(len))
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
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn frame(kind: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![0; HEADER_LEN + len];
        frame[..3].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
        frame[3] = kind;
        frame
    }

    async fn begun() -> (DuplexStream, FrameLimit<DuplexStream>) {
        let (mut client, server) = duplex(64 << 10);
        let mut server = FrameLimit::new(server);
        client.write_all(&[b'P'; PREFACE_LEN as usize]).await.unwrap();
        server.read_exact(&mut [0; PREFACE_LEN as usize]).await.unwrap();
        (client, server)
    }

    /// How many frames pass before the connection ends.
    async fn passing(client: &mut DuplexStream, server: &mut FrameLimit<DuplexStream>, frame: &[u8], most: u32) -> u32 {
        let mut read = vec![0; frame.len()];
        for passed in 0..most {
            client.write_all(frame).await.unwrap();
            if let Err(error) = server.read_exact(&mut read).await {
                assert_eq!(error.kind(), io::ErrorKind::QuotaExceeded);
                return passed;
            }
        }
        most
    }

    #[tokio::test]
    async fn a_flood_of_any_frame_ends_with_a_reason() {
        for kind in [DATA, HEADERS, 2, 3, 4, 6, 8, 9, 99] {
            let (mut client, mut server) = begun().await;
            let passed = passing(&mut client, &mut server, &frame(kind, 4), 2 * AT_ONCE).await;
            assert!((AT_ONCE..2 * AT_ONCE).contains(&passed), "{kind}: {passed}");
            let mut goaway = [0; HEADER_LEN + 8];
            client.read_exact(&mut goaway).await.unwrap();
            assert_eq!((goaway[3], goaway[HEADER_LEN + 7]), (GOAWAY, ENHANCE_YOUR_CALM));
        }
    }

    #[tokio::test]
    async fn answers_and_large_data_are_no_flood() {
        let (mut client, mut server) = begun().await;
        let data = frame(DATA, LARGE_DATA as usize);
        assert_eq!(passing(&mut client, &mut server, &data, 3 * AT_ONCE).await, 3 * AT_ONCE);
        for _ in 0..2 * AT_ONCE {
            let asked = [frame(HEADERS, 20), frame(DATA, 0), frame(8, 4), frame(8, 4)].concat();
            assert_eq!(passing(&mut client, &mut server, &asked, 1).await, 1);
            let answer = frame(HEADERS, 30);
            server.write_all(&answer).await.unwrap();
            client.read_exact(&mut vec![0; answer.len()]).await.unwrap();
        }
    }

    #[test]
    fn boundaries_do_not_depend_on_how_bytes_arrive() {
        let bytes = [frame(0, 3), frame(8, 4), frame(1, 0), frame(6, 8)].concat();
        for len in 1..bytes.len() {
            let (mut frames, mut seen) = (Frames::default(), Vec::new());
            for part in bytes.chunks(len) {
                frames.read(part, |kind, len| seen.push((kind, len)));
            }
            assert_eq!(seen, [(0, 3), (8, 4), (1, 0), (6, 8)]);
            assert!(frames.is_between());
        }
    }

    #[test]
    fn each_second_adds_frames() {
        let start = clock::now();
        let mut stock = Stock::new(start);
        assert!(stock.take(start, AT_ONCE) && !stock.take(start, 1));
        assert!(stock.take(start + Duration::from_secs(1), PER_SECOND));
        assert!(!stock.take(start + Duration::from_secs(1), 1));
        assert!(!stock.take(start + Duration::from_secs(3600), AT_ONCE + 1));
    }
}
