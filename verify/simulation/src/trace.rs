//! The last events, to find the cause of a failure.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Lines kept.
const LINES_MAX: usize = 120;

/// The last events. It costs nothing while it is not used.
pub(crate) struct Trace {
    lines: Option<VecDeque<String>>,
}

impl Trace {
    pub(crate) fn new(wanted: bool) -> Self {
        Self {
            lines: wanted.then(VecDeque::new),
        }
    }

    pub(crate) fn line(&mut self, at: Duration, line: impl FnOnce() -> String) {
        let Some(lines) = &mut self.lines else { return };
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(format!("{:>9.3} s  {}", at.as_secs_f64(), line()));
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().flatten().try_for_each(|line| writeln!(f, "{line}"))
    }
}
