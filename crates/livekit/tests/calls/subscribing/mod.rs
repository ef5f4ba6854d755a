//! Tracks that are received.

mod feedback;
mod pauses;
mod speakers;
mod voices;
mod watching;
mod wishes;
