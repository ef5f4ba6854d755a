//! The sizes of a ring. A ring takes [`RING_LEN`] bytes, whatever happens to its participant.

/// The bytes of a ring, without those of the key that it is found by.
pub const RING_LEN: usize = RECORDS * RECORD_LEN + NAMES * NAME_LEN;

/// The observations that a ring holds. A newer one overwrites the oldest, which is counted.
pub const RECORDS: usize = 1_598;

/// The tracks that a ring can name. Another one takes the place of the one that was used least
/// recently, whose observations have no track from then on.
pub const NAMES: usize = 112;

/// The bytes of a record. Its shape is in `record`.
pub(crate) const RECORD_LEN: usize = 32;

/// The bytes of a name. Its shape is in `names`.
pub(crate) const NAME_LEN: usize = 128;
