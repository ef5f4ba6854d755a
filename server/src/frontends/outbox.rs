//! Messages that wait for one client: a queue that is bounded in messages and in bytes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use livekit::Frame;
use tokio::sync::{mpsc, oneshot};

/// How many messages may wait for one client. One that does not read them for so long is closed; it
/// may resume.
const MESSAGES_MAX: usize = 512;

/// How many bytes may wait for one client. A single message may be longer, and lists of
/// participants do not count: there is one each time it joins or resumes, and its elements are in
/// memory once for all who wait for them.
const BYTES_MAX: usize = 4 << 20;

/// An order to a connection's socket.
#[derive(Debug)]
pub(crate) enum ToSocket {
    /// Send this.
    Frame(Frame),
    /// Close with this code and reason.
    Close(u16, &'static str),
}

impl ToSocket {
    /// Bytes that count for [`BYTES_MAX`].
    fn counted(&self) -> usize {
        match self {
            ToSocket::Frame(Frame::Parts(_)) | ToSocket::Close(..) => 0,
            ToSocket::Frame(frame) => frame.len(),
        }
    }

    fn len(&self) -> usize {
        match self {
            ToSocket::Frame(frame) => frame.len(),
            ToSocket::Close(..) => 0,
        }
    }
}

/// Why a connection is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The controller has closed it, after the messages that wait.
    Closed,
    /// Too much waits. Nothing of it is sent.
    Slow,
}

/// The controller's end.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<ToSocket>,
    shared: Arc<Shared>,
    ending: Mutex<Option<oneshot::Sender<Ending>>>,
}

/// The socket's end.
#[derive(Debug)]
pub(crate) struct SocketQueue {
    queue: mpsc::Receiver<ToSocket>,
    shared: Arc<Shared>,
    /// The message that was taken last. It counts until the next one is taken, because it is being
    /// written until then.
    taken: (usize, usize),
}

/// How the connection of an outbox ends: resolves to the reason, or to an error once the outbox is
/// dropped without one.
pub(crate) type Ends = oneshot::Receiver<Ending>;

#[derive(Debug, Default)]
struct Shared {
    /// Bytes that count for [`BYTES_MAX`].
    counted: AtomicUsize,
    /// Bytes of all messages.
    bytes: AtomicUsize,
    is_given_up: AtomicBool,
    /// When the client took a message last, or when the first of those that wait was appended;
    /// `None` when none waits.
    since: Mutex<Option<Instant>>,
}

impl Shared {
    fn set_since(&self, change: impl FnOnce(&mut Option<Instant>)) {
        change(&mut self.since.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The client does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Both ends of an empty queue, and its end.
pub(crate) fn outbox() -> (Outbox, SocketQueue, Ends) {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let (ending, ends) = oneshot::channel();
    let shared = Arc::new(Shared::default());
    let told = SocketQueue {
        queue: receiver,
        shared: shared.clone(),
        taken: (0, 0),
    };
    let outbox = Outbox {
        queue: sender,
        shared,
        ending: Mutex::new(Some(ending)),
    };
    (outbox, told, ends)
}

impl Outbox {
    /// Appends a message to the queue.
    ///
    /// Errors: [`Full`], after which the outbox should be dropped. The outbox of a closed socket
    /// accepts and drops everything.
    pub(crate) fn put(&self, now: Instant, what: ToSocket) -> Result<(), Full> {
        let (counted, len) = (what.counted(), what.len());
        let is_close = matches!(what, ToSocket::Close(..));
        let before = self.shared.counted.fetch_add(counted, Ordering::Relaxed);
        self.shared.bytes.fetch_add(len, Ordering::Relaxed);
        let fits = before == 0 || before + counted <= BYTES_MAX;
        let is_full = !fits || matches!(self.queue.try_send(what), Err(mpsc::error::TrySendError::Full(_)));
        if is_full {
            self.shared.is_given_up.store(true, Ordering::Relaxed);
            self.end(Ending::Slow);
            return Err(Full);
        }
        self.shared.set_since(|since| _ = since.get_or_insert(now));
        if is_close {
            self.end(Ending::Closed);
        }
        Ok(())
    }

    /// Since when the client has taken nothing, if something waits for it, and how many bytes that
    /// is.
    pub(crate) fn waiting(&self) -> Option<(Instant, usize)> {
        let since = *self.shared.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.map(|since| (since, self.shared.bytes.load(Ordering::Relaxed)))
    }

    fn end(&self, why: Ending) {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An error means that the socket is gone.
        let _ = ending.map(|ending| ending.send(why));
    }
}

impl SocketQueue {
    /// The next order; `None` when the other end is gone and everything is taken, or given up.
    pub(crate) async fn next(&mut self, now: impl Fn() -> Instant) -> Option<ToSocket> {
        self.shared.bytes.fetch_sub(self.taken.1, Ordering::Relaxed);
        self.shared.counted.fetch_sub(self.taken.0, Ordering::Relaxed);
        self.taken = (0, 0);
        if self.queue.is_empty() {
            self.shared.set_since(|since| *since = None);
        }
        let next = self.queue.recv().await;
        self.shared.set_since(|since| *since = Some(now()));
        self.taken = next.as_ref().map_or((0, 0), |next| (next.counted(), next.len()));
        next.filter(|_| !self.shared.is_given_up.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::clock;

    fn message(len: usize) -> ToSocket {
        ToSocket::Frame(Frame::Binary(vec![0; len].into()))
    }

    fn put(outbox: &Outbox, what: ToSocket) -> Result<(), Full> {
        outbox.put(clock::now(), what)
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_one_message_of_any_length_passes() {
        let (full, _told, mut ends) = outbox();
        assert_eq!(put(&full, message(3 * BYTES_MAX)), Ok(()));
        assert_eq!(put(&full, message(1)), Err(Full));
        assert_eq!(ends.try_recv(), Ok(Ending::Slow));

        let (outbox, mut read, _ends) = super::outbox();
        for _ in 0..100 {
            assert_eq!(put(&outbox, message(BYTES_MAX / 2)), Ok(()), "it is read");
            assert!(read.next(clock::now).await.is_some());
        }
        assert_eq!(
            put(&outbox, message(BYTES_MAX / 2)),
            Ok(()),
            "with the one that is being written"
        );
        assert_eq!(put(&outbox, message(1)), Err(Full));
        assert!(read.next(clock::now).await.is_none(), "nothing is sent any more");
    }

    #[tokio::test]
    async fn messages_are_bounded() {
        let (outbox, _told, _ends) = outbox();
        for _ in 0..MESSAGES_MAX {
            assert_eq!(put(&outbox, message(1)), Ok(()));
        }
        assert_eq!(put(&outbox, ToSocket::Close(1000, "")), Err(Full));
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_known_by_the_time() {
        let (outbox, mut told, mut ends) = outbox();
        assert_eq!(outbox.waiting(), None);
        let start = clock::now();
        assert_eq!(outbox.put(start, message(5)), Ok(()));
        assert_eq!(outbox.put(clock::now(), message(6)), Ok(()));
        assert_eq!(outbox.waiting(), Some((start, 11)));
        assert!(told.next(clock::now).await.is_some());
        let (since, bytes) = outbox.waiting().expect("the first is being written");
        assert!(since > start && bytes == 11);
        assert_eq!(put(&outbox, ToSocket::Close(1000, "")), Ok(()));
        assert_eq!(ends.try_recv(), Ok(Ending::Closed));
    }

    #[tokio::test]
    async fn an_outbox_without_a_reader_is_not_full() {
        let (outbox, told, _ends) = outbox();
        drop(told);
        assert_eq!(put(&outbox, message(1)), Ok(()));
    }
}
