//! A P4 switch in software, for tests and for trying things out. It interprets our programs.
//!
//! The program is the compiler's output for BMv2 (JSON). It is turned into indices once, when it is
//! loaded, and a construct that is not interpreted is refused then. [`Switch::packet`] is a call
//! without sockets and without a clock. The results are those of BMv2's `simple_switch`, with two
//! exceptions: the fields of an invalid header are zero, and an error that ends BMv2 is a counted
//! fault.
//!
//! Reading order: `program` is the interpreted form, `load` makes it, `switch` is the way of a
//! packet; `parse`, `execute` and `deparse` are its steps.

#![deny(unsafe_code)]

mod bits;
mod deparse;
mod entries;
mod evaluate;
mod execute;
mod json;
mod limits;
mod load;
mod parse;
mod phv;
mod ports;
mod program;
mod programs;
mod replication;
mod runtime;
mod state;
mod statistics;
mod switch;

pub use load::LoadError;
pub use ports::{FRAME_MAX, Port};
pub use program::{MatchKind, Word};
pub use programs::{Embedded, PROGRAMS};
pub use replication::{DROP_PORT, Replica, Replication};
pub use runtime::{Device, Options, Refusal, Server, Transmit};
pub use statistics::{Count, Statistics};
pub use switch::{Output, Switch};
