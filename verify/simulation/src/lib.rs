//! A whole node and all its users, in one thread, under one virtual clock.
//!
//! A [`History`] is a list of people's actions: join, publish, mute, lose their network, return,
//! send garbage. It is drawn from one number, and so is every fault of every link. [`run`] plays it
//! against the real controller and the real agent over the [`Model`](dataplane::Model), and checks
//! each sent packet: whether its receiver may have it, whether its number is right, and whether its
//! keystream was used before. When all is quiet again it checks that everybody receives everybody,
//! and when all have left it checks that no state is left.
//!
//! Reading order: [`history`](History) has the actions, `world` executes them, `session` is one
//! client, `checks` are the invariants.

#![forbid(unsafe_code)]

mod checks;
pub mod downlinks;
mod faults;
mod fences;
mod grants;
mod history;
mod links;
mod machine;
mod node;
mod person;
mod plane;
mod queue;
mod session;
mod shrink;
mod stamp;
mod succession;
mod trace;
mod world;

pub use checks::{Invariant, Violation};
pub use faults::Faults;
pub use history::{Action, History, Step};
pub use shrink::shrink;
pub use world::{Failure, Summary, run};
