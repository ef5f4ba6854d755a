//! The half of a connection that is written.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dataplane::Path;
use wire::framing;

use super::connection_slots::{ConnectionSlot, locked};
use super::statistics::TcpEvent;

/// A connection, with the frames that its other end has not taken yet.
#[derive(Debug)]
pub(crate) struct Connection {
    path: Path,
    stream: Arc<TcpStream>,
    queue: Mutex<VecDeque<u8>>,
    is_closed: AtomicBool,
    slot: ConnectionSlot,
}

impl Connection {
    pub(super) fn new(path: Path, stream: Arc<TcpStream>, slot: ConnectionSlot) -> Self {
        Connection {
            path,
            stream,
            queue: Mutex::default(),
            is_closed: AtomicBool::new(false),
            slot,
        }
    }

    pub(super) fn path(&self) -> Path {
        self.path
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// It is a leg's, and keeps its place.
    pub(super) fn claim(&self) {
        self.slot.claim();
    }

    /// Whether it is a leg's, or was.
    pub(super) fn is_claimed(&self) -> bool {
        self.slot.is_claimed()
    }

    /// Why it has ended, if it seems to be for this reason.
    pub(super) fn reason(&self, seeming: TcpEvent) -> TcpEvent {
        self.slot.reason(seeming)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Ends it. Its reader learns of that as of an end by the other side.
    pub(super) fn close(&self) {
        if !self.is_closed.swap(true, Ordering::Relaxed) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends frames, in order, or queues those that the other end does not take at once. Never
    /// waits. Returns how many were dropped.
    pub(super) fn send(&self, frames: &[u8]) -> u64 {
        let mut queue = locked(&self.queue);
        let Ok(sent) = self.send_queued(&mut queue).and_then(|()| match queue.is_empty() {
            true => self.write(frames),
            false => Ok(0),
        }) else {
            self.close();
            return count(frames);
        };
        // The rest of a frame that was begun has to follow, or the stream could not be read.
        let begun = end_of_begun(frames, sent);
        self.keep(&mut queue, &frames[sent..begun]);
        let mut rest = &frames[begun..];
        let room = self.slot.shared.queue_max();
        while let Some(len) = first_len(rest).filter(|len| queue.len() + len <= room) {
            self.keep(&mut queue, &rest[..len]);
            rest = &rest[len..];
        }
        let dropped = count(rest);
        if dropped > 0 {
            self.slot.shared.counts.add(TcpEvent::Slow, dropped);
        }
        dropped
    }

    /// Sends queued frames, now that the other end takes more.
    pub(super) fn flush(&self) {
        let mut queue = locked(&self.queue);
        if self.send_queued(&mut queue).is_err() {
            self.close();
        }
    }

    fn send_queued(&self, queue: &mut VecDeque<u8>) -> io::Result<()> {
        while !queue.is_empty() {
            let sent = self.write(queue.as_slices().0)?;
            if sent == 0 {
                break;
            }
            queue.drain(..sent);
            self.slot.shared.waiting.fetch_sub(sent, Ordering::Relaxed);
            if queue.is_empty() {
                // Its memory is only for while it is needed.
                *queue = VecDeque::new();
            }
        }
        Ok(())
    }

    /// Writes as much as the kernel takes.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match (&*self.stream).write(&bytes[sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(more) => sent += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    fn keep(&self, queue: &mut VecDeque<u8>, bytes: &[u8]) {
        queue.extend(bytes);
        self.slot.shared.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let waits = locked(&self.queue).len();
        self.slot.shared.waiting.fetch_sub(waits, Ordering::Relaxed);
    }
}

/// The length of the first of some whole frames.
fn first_len(frames: &[u8]) -> Option<usize> {
    framing::first(frames, usize::MAX).ok().flatten()
}

/// The end of the last frame of which the first `sent` bytes have a part.
fn end_of_begun(frames: &[u8], sent: usize) -> usize {
    let mut end = 0;
    while end < sent {
        end += first_len(&frames[end..]).expect("frames are whole");
    }
    end
}

/// How many frames these are.
fn count(mut frames: &[u8]) -> u64 {
    let mut count = 0;
    while let Some(len) = first_len(frames) {
        frames = &frames[len..];
        count += 1;
    }
    count
}
