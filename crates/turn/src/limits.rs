//! Every limit, and what happens at it.

use std::time::Duration;

/// A message with its header, in bytes: a datagram of media with what a Send indication adds. A
/// longer one ends its stream.
pub const MESSAGE_MAX: usize = 2_048;
/// The data of one message, in bytes. More is dropped.
pub const DATA_MAX: usize = 1_500;
/// The lifetime of an allocation that asks for none, or for less.
pub const LIFETIME: Duration = Duration::from_secs(600);
/// The longest lifetime of an allocation. One that asks for more gets this.
pub const LIFETIME_MAX: Duration = Duration::from_secs(3_600);
/// Channels of one allocation. One more is refused with 508.
pub const CHANNELS_MAX: usize = 16;
/// The lifetime of a channel, unless it is bound again (RFC 8656 section 12).
pub const CHANNEL_LIFETIME: Duration = Duration::from_secs(600);
/// How long a nonce is valid. Afterwards a request is answered with 438 and a new one.
pub const NONCE_VALID: Duration = Duration::from_secs(3_600);
