//! One room on several media nodes: what a node and a trunk add to a packet's cost and to its time.
//!
//! A [`Variant`] is a tree of nodes with receivers at them. [`scene`] plays it on real sockets over
//! the loopback and returns an [`Outcome`]. The program `weir-cascade` plays all variants by turns,
//! and [`report`] compares them.
//!
//! A `node` is the real agent over the userspace data plane, with threads of its own. `orders` are
//! the commands that a controller would give them. A `camera` publishes three encodings, and
//! `receivers` watch. Both are at direct transports, so nothing here does ICE or DTLS. A `cable`
//! stands between two nodes where packets are counted or lost.
//!
//! Reading order: `variant`, `orders`, `scene`; then `outcome`.

#![forbid(unsafe_code)]

pub mod report;
pub mod scene;

mod cable;
mod camera;
mod epoll;
mod node;
mod orders;
mod outcome;
mod receivers;
mod srtp;
mod variant;
mod viewer;

pub use outcome::Outcome;
pub use variant::{Link, Seats, Tree, VARIANTS, Variant};
