//! Coming, going and coming back.

mod batching;
mod blobs;
mod devices;
mod reconnect;
mod rooms;
mod tokens;
