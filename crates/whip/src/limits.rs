//! Limits on requests, and the answer at each. They protect the server from its peers; no honest
//! client comes near.

/// An offer, in bytes. A longer one is answered with 413.
pub const OFFER_MAX: usize = 64 << 10;
/// A fragment of a description, in bytes. A longer one is answered with 413.
pub const FRAGMENT_MAX: usize = 16 << 10;
/// Media sections of one offer. An offer with more is answered with 422.
pub const SECTIONS_MAX: usize = 32;
/// Tracks that a player names. A request with more is answered with 400.
pub const TRACKS_MAX: usize = 32;
/// Names of rooms, identities and tracks in a query, in bytes. A request with a longer one is
/// answered with 400.
pub const NAME_MAX: usize = controller::limits::IDENTITY_MAX;
/// Viewers of one room without a token: half of the participants that a room takes, so that they do
/// not keep others out. One more is answered with 503.
pub const VIEWERS_MAX: usize = controller::limits::PARTICIPANTS_MAX / 2;
/// The time after which a player should ask again for what is not there yet, in seconds.
pub const RETRY_AFTER: u32 = 2;
