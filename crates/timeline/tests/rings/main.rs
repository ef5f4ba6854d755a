//! Rings and the recorder, for all observations.

mod observations;
mod recorder;
mod ring;
