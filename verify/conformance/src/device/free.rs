//! Waiting for an interface that the last device had.

use std::time::{Duration, Instant};

/// How long programs of others may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a device on an interface once no program is on it any more.
///
/// A program that another test starts has, until it runs, a copy of all that this process had open.
/// So the kernel may take the last device's program off a little later than that is dropped, and
/// more than a little where there is much to do.
#[expect(clippy::disallowed_methods, reason = "programs start in real time")]
pub(super) fn once_free<T, E>(is_taken: impl Fn(&E) -> bool, start: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match start() {
            Err(error) if is_taken(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}
