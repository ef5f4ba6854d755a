//! One room on two nodes: real agents over userspace data planes, with a trunk between them. A
//! camera sends three encodings to the near node, and two people watch at the far one.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]

mod adapting;
mod cable;
mod camera;
mod hostile;
mod moving;
mod node;
mod orders;
mod repairing;
mod several;
mod viewer;
mod world;
