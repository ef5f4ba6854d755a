//! The names of the parts that the nodes of a room keep of its dispatches and jobs.

use std::collections::BTreeSet;

/// The name of the part of a room, with which the names of all other parts begin.
pub(super) const PART: &str = "agents";

/// The parts that have changed, by room and name.
pub(super) type Unsaved = BTreeSet<(String, String)>;

/// Whether a part is one of dispatches and jobs.
pub fn is_part(part: &str) -> bool {
    part.split(' ').next() == Some(PART)
}

/// The name of the part of a dispatch.
pub(super) fn dispatch_part(dispatch: &str) -> String {
    format!("{PART} {dispatch}")
}

/// The name of the part of a job. It comes after that of its dispatch.
pub(super) fn job_part(dispatch: &str, job: &str) -> String {
    format!("{PART} {dispatch} {job}")
}
