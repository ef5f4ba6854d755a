//! Limits on requests, and the answer at each. They protect the server from its peers; no honest
//! client comes near.

use std::time::Duration;

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
/// not keep others out. For one more, a session that is not connected is ended, or else it is
/// answered with 503, or with 429 if its address has its share.
pub const VIEWERS_MAX: usize = controller::limits::PARTICIPANTS_MAX / 2;
/// Sessions, unless the operator says otherwise. One more is answered with 429.
pub const SESSIONS_MAX: usize = 16_384;
/// How long a session may take to connect before it can be ended for another.
pub const CONNECT_MIN: Duration = Duration::from_secs(5);
/// The time after which a player should ask again for what is not there yet, in seconds.
pub const RETRY_AFTER: u32 = 2;
