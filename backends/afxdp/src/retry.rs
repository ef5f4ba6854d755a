//! Retrying to take what another process is about to release.

use std::thread;
use std::time::Duration;

/// Attempts, and the time between two of them.
const ATTEMPTS: u32 = 50;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// Tries until `attempt` no longer fails as taken, for half a second at most. The kernel releases
/// queues and interfaces a little after their process has ended or closed them, and if that process
/// was starting another one, not before it runs.
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
