//! Slots: a limited number of things that clients take, in shares.
//!
//! Each slot has holders, such as the address and the API key of its client. While there is room a
//! holder takes as many as it likes. Under pressure it takes no more than [`WEIGHT`] times the
//! number that is still free, so that one holder never takes the last ones (dynamic thresholds: A.
//! K. Choudhury and E. L. Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).
//!
//! A slot is *pending* until its client has done what it came for. At a limit a pending slot is
//! evicted for the next client: the oldest of the holder with the most of them. A client that
//! proceeds is settled within moments, so one that is idle on purpose keeps nobody out. Settled
//! slots are never evicted.
//!
//! [`Storage`] shares bytes by the same rule.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod holder;
mod pool;
mod storage;

pub use holder::address_block;
pub use pool::{Entry, Full, Limits, SlotId, SlotPool, WEIGHT};
pub use storage::{Account, Held, ROOM_SHARED, Storage};
