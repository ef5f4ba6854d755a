//! The processor time of a thread.

use std::io;
use std::os::unix::thread::JoinHandleExt;
use std::thread::JoinHandle;
use std::time::Duration;

/// The CPU-time clock of one thread (pthread_getcpuclockid(3)).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadCpuClock(libc::clockid_t);

impl ThreadCpuClock {
    /// The calling thread's.
    pub(crate) fn own() -> Self {
        ThreadCpuClock(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Errors: the operating system's, when the thread has ended.
    pub(crate) fn of(thread: &JoinHandle<()>) -> io::Result<Self> {
        let mut clock = 0;
        // SAFETY: a thread that may still be joined has an id, and the clock is written to a number
        // of ours.
        match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
            0 => Ok(ThreadCpuClock(clock)),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// The processor time used so far; zero once the thread has ended.
    pub(crate) fn used(self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the time is written to a value of ours.
        match unsafe { libc::clock_gettime(self.0, &raw mut time) } {
            0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_time_is_its_own() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _ = receiver.recv();
        });
        let time = ThreadCpuClock::of(&thread).unwrap();
        assert!(time.used() < Duration::from_millis(100));
        drop(sender);
        thread.join().unwrap();
    }
}
