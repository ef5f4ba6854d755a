//! The line of a test that is skipped.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::{Write, stderr};

/// Writes what is skipped, and the reason. `scripts/test` repeats these lines at its end.
///
/// It writes past the runner, which captures the output of `eprintln!` and shows it for tests that
/// fail.
pub fn skipped(what: &str, reason: impl Display) {
    // Such a line begins after the runner's own. Without a standard error nobody reads it.
    let _ = stderr().write_all(format!("\nSKIPPED, {what}: {reason}\n").as_bytes());
}
