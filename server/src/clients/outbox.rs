//! Messages that wait for one client: a queue that is bounded in messages and in bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use livekit::Frame;
use tokio::sync::mpsc;

/// How many messages may wait for one client. One that does not read them for so long is closed; it
/// may resume.
const MESSAGES_MAX: usize = 512;

/// How many bytes may wait for one client. A single message may be longer, as the list of a large
/// room is.
const BYTES_MAX: usize = 4 << 20;

/// An order to a connection's socket.
#[derive(Debug)]
pub(crate) enum ToSocket {
    /// Send this.
    Frame(Frame),
    /// Close with this code and reason.
    Close(u16, &'static str),
}

/// The controller's end.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<ToSocket>,
    bytes: Arc<AtomicUsize>,
}

/// The socket's end.
#[derive(Debug)]
pub(crate) struct Told {
    queue: mpsc::Receiver<ToSocket>,
    bytes: Arc<AtomicUsize>,
    /// How long the message is that was taken last. It counts until the next one is taken, because
    /// it is being written until then.
    taken: usize,
}

/// The client does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Both ends of an empty queue.
pub(crate) fn outbox() -> (Outbox, Told) {
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    let bytes = Arc::new(AtomicUsize::new(0));
    let told = Told {
        queue: receiver,
        bytes: bytes.clone(),
        taken: 0,
    };
    (Outbox { queue: sender, bytes }, told)
}

impl Outbox {
    /// Appends a message to the queue.
    ///
    /// Errors: [`Full`], after which the outbox should be dropped. The outbox of a closed socket
    /// accepts and drops everything.
    pub(crate) fn put(&self, what: ToSocket) -> Result<(), Full> {
        let len = match &what {
            ToSocket::Frame(frame) => frame.len(),
            ToSocket::Close(..) => 0,
        };
        let before = self.bytes.fetch_add(len, Ordering::Relaxed);
        if before > 0 && before + len > BYTES_MAX {
            return Err(Full);
        }
        match self.queue.try_send(what) {
            Err(mpsc::error::TrySendError::Full(_)) => Err(Full),
            _ => Ok(()),
        }
    }
}

impl Told {
    /// The next order; `None` when the other end is gone and everything is taken.
    pub(crate) async fn next(&mut self) -> Option<ToSocket> {
        let next = self.queue.recv().await;
        self.bytes.fetch_sub(self.taken, Ordering::Relaxed);
        self.taken = match &next {
            Some(ToSocket::Frame(frame)) => frame.len(),
            _ => 0,
        };
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(len: usize) -> ToSocket {
        ToSocket::Frame(Frame::Binary(vec![0; len].into()))
    }

    #[tokio::test]
    async fn bytes_are_bounded_and_one_message_of_any_length_passes() {
        let (outbox, mut told) = outbox();
        assert_eq!(outbox.put(message(3 * BYTES_MAX)), Ok(()));
        assert_eq!(outbox.put(message(1)), Err(Full));

        let (outbox, mut read) = super::outbox();
        for _ in 0..100 {
            assert_eq!(outbox.put(message(BYTES_MAX / 2)), Ok(()), "it is read");
            assert!(read.next().await.is_some());
        }
        assert_eq!(
            outbox.put(message(BYTES_MAX / 2)),
            Ok(()),
            "with the one that is being written"
        );
        assert_eq!(outbox.put(message(1)), Err(Full));

        assert!(told.next().await.is_some());
    }

    #[tokio::test]
    async fn messages_are_bounded() {
        let (outbox, _told) = outbox();
        for _ in 0..MESSAGES_MAX {
            assert_eq!(outbox.put(message(1)), Ok(()));
        }
        assert_eq!(outbox.put(ToSocket::Close(1000, "")), Err(Full));
    }

    #[tokio::test]
    async fn an_outbox_without_a_reader_is_not_full() {
        let (outbox, told) = outbox();
        drop(told);
        assert_eq!(outbox.put(message(1)), Ok(()));
    }
}
