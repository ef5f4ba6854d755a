//! Tracks that are published.

mod backup;
mod both_ways;
mod data_tracks;
mod demand;
mod denials;
mod g711;
mod h265;
mod layers;
mod matching;
mod permissions;
mod redundancy;
