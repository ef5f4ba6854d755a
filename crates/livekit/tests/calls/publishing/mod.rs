//! Tracks that are published.

mod backup;
mod both_ways;
mod data_tracks;
mod demand;
mod matching;
mod permissions;
mod redundancy;
