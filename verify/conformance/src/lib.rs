//! Holds every data plane to the model.
//!
//! Three kinds of check share one language of [`Step`]s, what is done to a device:
//!
//! * **vectors** ([`vector`]): text files whose title is a claim, with what must come out written
//!   behind each step;
//! * **differential** ([`differential`]): random histories ([`random`]) that drive the model and a
//!   device side by side;
//! * **invariants** ([`invariants`], [`keystream`]): what must hold whatever the model says.
//!
//! Read [`step`] first, then [`device`] (what a device under test must offer), then [`vector`].

#![forbid(unsafe_code)]

pub mod device;
pub mod differential;
pub mod event;
pub mod invariants;
pub mod keystream;
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
