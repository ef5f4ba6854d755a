//! A whole node and everybody who uses it, in one thread, under one clock that only moves when it
//! is told to.
//!
//! A [`History`] is a list of things people do: join, publish, mute, lose their network, come back,
//! send rubbish. It is drawn from one number, and so is every fault of every link. [`run`] plays it
//! against the real controller and the real agent over the [`Model`](dataplane::Model), and looks
//! at each packet that leaves: whether its receiver may have it, whether its number is the right
//! one, whether its keystream was used before. When all is quiet again it asks whether everybody
//! hears everybody, and when all have left it asks whether anything is left of them.
//!
//! Reading order: [`history`](History) is what happens, `world` makes it happen, `session` is one
//! client, `checks` is what must hold.

#![forbid(unsafe_code)]

mod checks;
pub mod downlinks;
mod faults;
mod history;
mod node;
mod person;
mod plane;
mod queue;
mod session;
mod shrink;
mod stamp;
mod trace;
mod world;

pub use checks::{Invariant, Violation};
pub use faults::Faults;
pub use history::{Deed, History, Step};
pub use shrink::shrink;
pub use world::{Failure, Summary, run};
