//! Every limit, and the behaviour at it.

/// Layers of one subscription that are looked at: three encodings of four temporal layers, or one
/// of four spatial by four temporal ones. Further ones are as if they did not arrive.
pub const OFFERS_MAX: usize = 16;

/// Estimates remembered. Beyond it the oldest is forgotten.
pub const HISTORY_MAX: usize = 64;
