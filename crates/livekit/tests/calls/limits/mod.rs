//! Limits, and messages that are none.

mod bounds;
mod data;
mod misbehaviour;
