//! What others leave.

use std::thread;
use std::time::Duration;

/// How often to try to have what is somebody else's, and how long to wait in between.
const ATTEMPTS: u32 = 50;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// Tries until it is not taken any more, for half a second at most: the kernel gives queues and interfaces back a little after whoever had them has ended or let go, and
/// where that one was just starting another process, not before that has begun.
pub(crate) fn unless_taken<T, E>(
    mut attempt: impl FnMut() -> Result<T, E>,
    is_taken: impl Fn(&E) -> bool,
) -> Result<T, E> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(error) if is_taken(&error) => thread::sleep(BETWEEN_ATTEMPTS),
            done => return done,
        }
    }
    attempt()
}
