//! Coming, going and coming back.

mod crowd;
mod devices;
mod reconnect;
mod rooms;
mod tokens;
