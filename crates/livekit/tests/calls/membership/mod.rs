//! Coming, going and coming back.

mod batching;
mod devices;
mod reconnect;
mod rooms;
mod tokens;
