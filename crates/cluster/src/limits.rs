//! Limits and times, and what happens at each.

use std::time::Duration;

/// Rooms that one controller owns or claims. One more is unavailable.
pub const ROOMS_MAX: usize = 10_000;

/// Rooms of one media node that are known with the epochs of those that are over. Beyond it the
/// latter are forgotten.
pub const NODE_ROOMS_MAX: usize = 2 * ROOMS_MAX;

/// Rooms of owners that are gone that are adopted at the same time.
pub const ORPHANS_AT_ONCE: usize = 64;

/// How long a controller may be without a record before others adopt its rooms unasked: a store
/// that has forgotten it is told of it again.
pub const ORPHANS_AFTER: Duration = Duration::from_secs(3);

/// How long a controller whose address has refused counts as gone, unless it refuses again.
pub const SUSPICION: Duration = Duration::from_secs(10);

/// How long a controller without a record is still asked for the rooms that nodes say are its.
pub const DEPARTED_MAX: Duration = Duration::from_secs(10);

/// How often rooms of owners that are gone are looked for, beside the moments when one goes.
pub const ORPHANS_INTERVAL: Duration = Duration::from_secs(10);

/// Controllers and media nodes that are known, each. Further ones are ignored, with an event.
pub const MEMBERS_MAX: usize = 1_000;

/// Bytes of the parts of a room that is being adopted. Further parts are dropped, with an event,
/// and their participants join anew.
pub const PARTS_BYTES_MAX: usize = 64 << 20;

/// Bytes of a sealed part. A longer content is not sealed and a longer blob not opened. Nodes keep
/// parts of this length.
pub const PART_LEN_MAX: usize = 1 << 20;

/// Keys that parts are opened with. A file with more is refused.
pub const SEAL_KEYS_MAX: usize = 16;

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
