//! A proxy's wishes for a description: the keys and flags of `offer` and `answer`.
//!
//! The same wish has many forms: a key with a text or a list, a flag in the list `flags`, a flag
//! with its key as prefix (`SDES-off`), or part of one string that the proxy did not parse
//! (`rtpp-flags`), with spaces, dashes or underscores. So all forms end in one function,
//! [`Flags::set`].
//!
//! Source: rtpengine's documents, `ng_control_protocol.md`.

mod osrtp;
mod sdes;
mod set;
pub(crate) mod table;
mod text;
mod transport;
mod undone;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::call::Terms;

use undone::Undone;

/// Everything asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The terms of an offer or an answer.
    pub(crate) terms: Terms,
    /// Interfaces: of the speaking party, and of the other. Keys for one of them are in `terms`,
    /// and apply before these.
    direction: Vec<String>,
    /// The length of packets towards the offerer, in milliseconds.
    pub(crate) ptime_reverse: Option<u64>,
    /// The description is a fragment with more ICE candidates.
    pub(crate) fragment: bool,
    /// A `delete` without a match is an error.
    pub(crate) fatal: bool,
    /// A `delete` is answered without statistics.
    pub(crate) fast: bool,
    /// A `delete` minds the other tag.
    pub(crate) to_tag: bool,
    /// How long a deleted call is kept.
    pub(crate) delete_delay: Option<Duration>,
    /// The proxy understands `load limit`.
    pub(crate) supports_load_limit: bool,
    /// The parts of it that are not done.
    pub(crate) undone: Undone,
}
