//! The end of the process when one of its threads panics.

/// Ends the process when a worker panics, which is a bug. The other workers would keep handing
/// packets to one that is gone, and its calls would hang unnoticed. A process that ends is started
/// again.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
