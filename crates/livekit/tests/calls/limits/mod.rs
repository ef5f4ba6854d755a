//! What is too much, and what is no message.

mod bounds;
mod data;
mod misbehaviour;
