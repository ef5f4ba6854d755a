//! Limits and times, and what happens at each.

use std::time::Duration;

/// Rooms that one controller owns or claims. One more is unavailable.
pub const ROOMS_MAX: usize = 10_000;

/// Controllers and media nodes that are known, each. Further ones are ignored, with an event.
pub const MEMBERS_MAX: usize = 1_000;

/// Bytes of the parts of a room that is being adopted. Further parts are dropped, with an event,
/// and their participants join anew.
pub const PARTS_BYTES_MAX: usize = 64 << 20;

/// Attempts to claim a room before it is unavailable.
pub const ATTEMPTS_MAX: u32 = 5;

/// The pause before an attempt after a lost race. Its multiple by the number of the attempt is
/// taken, and a share of it that the controller's id determines.
pub const PAUSE: Duration = Duration::from_millis(40);

/// How long nodes may take to say what they have of a room. Those that take longer are left out.
pub const ADOPTION_MAX: Duration = Duration::from_secs(2);

/// Rooms whose records are written again at the same time, after the store has forgotten them.
pub const WRITES_MAX: usize = 64;

/// Owned rooms whose records are looked at with each confirmation of the lease, in turn: the store
/// may have forgotten them without a word.
pub const AUDITED: usize = 32;

/// How long the store is left alone after it could not be reached.
pub const STORE_RETRY: Duration = Duration::from_secs(1);
