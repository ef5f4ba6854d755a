//! Tracks that are published.

mod backup;
mod both_ways;
mod demand;
mod matching;
mod permissions;
mod redundancy;
