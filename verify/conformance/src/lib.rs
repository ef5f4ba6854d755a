//! Compares every data plane with the model.
//!
//! Three kinds of check share one language of [`Step`]s, the inputs of a device:
//!
//! * **vectors** ([`vector`]): text files whose title is a claim, with the expected output after
//!   each step;
//! * **differential** ([`differential`]): random histories ([`random`]) that drive the model and a
//!   device side by side, [`copies`] for a switch with its base;
//! * **invariants** ([`invariants`], [`keystream`]): properties independent of the model.
//!
//! [`coverage`] counts what histories draw for each plane.
//!
//! Read [`step`] first, then [`device`] (the interface of a device under test), then [`vector`].

#![forbid(unsafe_code)]

pub mod copies;
pub mod coverage;
pub mod device;
pub mod differential;
pub mod event;
pub mod invariants;
pub mod keystream;
pub mod leg_table;
pub mod peers;
pub mod random;
pub mod rtp;
pub mod shrink;
pub mod step;
pub mod subject;
pub mod text;
pub mod vector;

pub use device::{Datagram, Device};
pub use peers::Peers;
pub use step::{Injection, Send, Step};
pub use subject::{Observation, Subject};
