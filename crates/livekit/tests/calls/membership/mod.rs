//! Coming, going and coming back.

mod batching;
mod blobs;
mod devices;
mod events;
mod reconnect;
mod rooms;
mod tokens;
