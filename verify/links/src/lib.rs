//! Simulated links.
