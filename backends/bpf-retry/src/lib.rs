//! Repeated attempts for what the kernel refuses only for a moment.

use std::error::Error;
use std::io;
use std::thread;
use std::time::Duration;

use aya::programs::ProgramError;

/// Attempts, and the time between two of them.
const ATTEMPTS: u32 = 200;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// Tries until `attempt` no longer fails as taken, for two seconds at most. The kernel releases
/// queues, links, locks and interfaces a little after their process has ended or closed them, and
/// if that process was starting another one, not before it runs.
///
/// # Errors
///
/// The last attempt's, and each error that is none of `is_taken`.
pub fn unless_taken<T, E>(mut attempt: impl FnMut() -> Result<T, E>, is_taken: impl Fn(&E) -> bool) -> Result<T, E> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if is_taken(&error) => thread::sleep(BETWEEN_ATTEMPTS),
            done => return done,
        }
    }
    attempt()
}

/// Loads or attaches a program, again where the kernel says that it was interrupted: the verifier
/// ends with `EAGAIN` when a signal waits for the thread (as `libbpf` does in `bpf_prog_load`).
///
/// # Errors
///
/// The loader's own.
pub fn unless_interrupted<T>(attempt: impl FnMut() -> Result<T, ProgramError>) -> Result<T, ProgramError> {
    unless_taken(attempt, is_interrupted)
}

fn is_interrupted(error: &ProgramError) -> bool {
    errno(error).is_some_and(|errno| {
        let kind = io::Error::from_raw_os_error(errno).kind();
        matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
    })
}

/// The operating system's error inside of a loader's, so that a missing privilege is seen as one;
/// the loader's, if it has none.
pub fn reason(error: impl Error + Send + Sync + 'static) -> io::Error {
    match errno(&error) {
        Some(errno) => io::Error::from_raw_os_error(errno),
        None => io::Error::other(error),
    }
}

/// The number of the operating system's error inside of a loader's.
#[must_use]
pub fn errno(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut inner = Some(error);
    while let Some(error) = inner {
        let found = match error.downcast_ref::<ProgramError>() {
            // It is no source of its own.
            Some(ProgramError::IOError(error)) => Some(error),
            _ => error.downcast_ref::<io::Error>(),
        };
        if let Some(errno) = found.and_then(io::Error::raw_os_error) {
            return Some(errno);
        }
        inner = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(errno: i32) -> ProgramError {
        ProgramError::IOError(io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn an_interrupted_attempt_is_made_again() {
        let mut errors = vec![4, 11];
        let done = unless_interrupted(|| errors.pop().map_or(Ok(7), |errno| Err(refused(errno))));
        assert_eq!(done.unwrap(), 7);
    }

    #[test]
    fn another_error_ends_the_attempts() {
        let mut attempts = 0;
        let done = unless_interrupted(|| {
            attempts += 1;
            Err::<(), _>(refused(1))
        });
        assert_eq!((done.is_err(), attempts), (true, 1));
    }
}
