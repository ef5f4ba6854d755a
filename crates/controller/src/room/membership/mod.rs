//! Members of a room: joining, leaving and resuming, and the updates that others get of it.

mod accounts;
mod administer;
pub(in crate::room) mod batching;
pub(in crate::room) mod budgets;
pub(in crate::room) mod join;
mod leave;
mod metadata;
mod protocols;
mod resume;
mod rights;
mod simulate;
mod tick;
mod updates;

use std::collections::VecDeque;
use std::time::Instant;

use self::accounts::Accounts;
use self::batching::Batch;
use self::protocols::Protocols;
use crate::ParticipantInfo;

/// The state of a room that is about its members as a whole.
#[derive(Debug, Default)]
pub(in crate::room) struct Membership {
    /// Updates that wait for the next tick.
    batch: Batch,
    /// Those who left lately, for those who were away when they did.
    departed: VecDeque<(Instant, ParticipantInfo)>,
    /// How much the others may yet hear of each, by identity.
    news: Accounts,
    /// How much each may yet be told of the others by coming in.
    greetings: Accounts,
    /// When everybody is told how many are here; `None` while they know.
    census: Option<Instant>,
    /// The protocols that participants chose for their next connections, by identity.
    protocols: Protocols,
}
