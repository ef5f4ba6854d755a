//! Wakes the reader of the log when it has records: packets that end in the kernel wake no socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// It is not waked more often than once in so long: what it does with the log is a matter of tens
/// of milliseconds.
const GRAIN: Duration = Duration::from_millis(5);

/// A thread that waits for the log. It ends with this.
#[derive(Debug)]
pub(super) struct LogWaker {
    /// The thread sees when this is closed.
    _end: UnixStream,
}

impl LogWaker {
    /// Calls `wake` from this call on whenever there is a record in `log`.
    ///
    /// Errors: there can be no more threads or sockets.
    pub(super) fn start(log: OwnedFd, wake: Arc<dyn Fn() + Send + Sync>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        thread::Builder::new()
            .name("rooms-log".to_owned())
            .spawn(move || ring(&log, &theirs, &*wake))?;
        Ok(LogWaker { _end: ours })
    }
}

fn ring(log: &OwnedFd, end: &UnixStream, wake: &(dyn Fn() + Send + Sync)) {
    loop {
        let mut both = [log.as_fd(), end.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let result = poll(&mut both, PollTimeout::NONE);
        let [log, end] = both.map(|fd| fd.any().unwrap_or(true));
        if end || result.is_err_and(|error| error != nix::errno::Errno::EINTR) {
            return;
        }
        if log {
            wake();
            thread::sleep(GRAIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn it_rings_while_there_is_something_and_ends_with_its_owner() {
        let (log, mut writer) = UnixStream::pair().unwrap();
        let (rang, ringing) = mpsc::channel();
        let waker = LogWaker::start(
            log.into(),
            Arc::new(move || {
                let _ = rang.send(());
            }),
        )
        .unwrap();
        assert!(ringing.recv_timeout(GRAIN * 4).is_err());
        writer.write_all(b"packet").unwrap();
        for _ in 0..2 {
            ringing
                .recv_timeout(Duration::from_secs(5))
                .expect("nobody has read it yet");
        }
        drop(waker);
        let gone = || ringing.recv_timeout(Duration::from_secs(5)) == Err(mpsc::RecvTimeoutError::Disconnected);
        assert!((0..100).any(|_| gone()), "the thread ends");
    }
}
