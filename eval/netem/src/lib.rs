//! A cable with faults: Ethernet frames that arrive at one interface leave at the other, later,
//! fewer, or in another order.
//!
//! It is for kernels without `netem`, and for runs that must repeat: the fate of the n-th frame of
//! a direction follows from the seed. [`Link`] is one direction, without socket or clock.
//! [`Schedule`] has the changes with their times, [`Port`] is an interface.

#![forbid(unsafe_code)]

mod conditions;
mod link;
mod loss;
mod port;
mod random;
mod schedule;

pub use conditions::Conditions;
pub use link::{Counts, Link};
pub use loss::{Loss, Losses};
pub use port::{Port, PortError};
pub use random::Random;
pub use schedule::{Change, Directions, Schedule, Setting, SyntaxError};
