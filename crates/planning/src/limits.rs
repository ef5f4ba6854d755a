//! Bounds on memory that no device sets.

/// Participants of one meeting. A meeting keeps at most the square of this in qualities.
pub const PARTICIPANTS_MAX: u16 = 1_000;

/// Meetings of one allocator. It is more than the streams of 1 Mbit/s that fit into 12.8 Tbit/s.
pub const MEETINGS_MAX: u64 = 1 << 24;
