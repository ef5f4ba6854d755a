//! The thread of everything about SIP proxies.
//!
//! A command of a proxy goes from its socket to the task, to the media node and back. With a thread
//! of their own the socket and the task wake each other without the kernel. The worker threads of
//! the process's runtime would wake one another for each step.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long connections of proxies may delay the end of the process.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// The running thread. Dropping it ends all tasks on it, and waits for that: calls may have to be
/// kept for the next process.
pub(crate) struct SipThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SipThread {
    /// Starts it. The handle is for tasks and sockets to run there.
    ///
    /// Errors: the operating system's.
    pub(super) fn start() -> io::Result<(Self, Handle)> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("sip".to_owned()).spawn(move || {
            // Either way it is over.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_timeout(FAREWELL_MAX);
        })?;
        let this = SipThread {
            stop: Some(stop),
            thread: Some(thread),
        };
        Ok((this, handle))
    }
}

impl Drop for SipThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of a task is the task's own, and is known from its handle.
            let _ = thread.join();
        }
    }
}
