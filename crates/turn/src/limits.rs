//! Every limit, and what happens at it.

use std::time::Duration;

/// A message with its header, in bytes: a datagram of media with what a Send indication adds. A
/// longer one ends its stream.
pub const MESSAGE_MAX: usize = 2_048;
/// The data of one message, in bytes. More is dropped.
pub const DATA_MAX: usize = 1_500;
/// The lifetime of an allocation, whatever it asks for: the shortest that RFC 8656 section 7.2
/// permits by default, so that one that nobody has any more ends soon.
pub const LIFETIME: Duration = Duration::from_secs(600);
/// Channels of one allocation. One more is refused with 508.
pub const CHANNELS_MAX: usize = 16;
/// The lifetime of a channel, unless it is bound again (RFC 8656 section 12).
pub const CHANNEL_LIFETIME: Duration = Duration::from_secs(600);
/// The time in which a client gets the same nonce.
pub const NONCE_SLOT: Duration = Duration::from_secs(64);
/// How many of those times a nonce is valid, that in which it was made included: nearly an hour.
/// Afterwards a request is answered with 438 and a new one.
pub const NONCE_SLOTS: u64 = 56;
/// How many unknown attributes an answer names. Further ones are left out.
pub const UNKNOWN_MAX: usize = 16;
/// Answers in each second to senders at one address that have proved nothing, over UDP. Further
/// requests have none.
pub const ANSWERS_PER_SECOND: u32 = 100;
/// How many of those may be sent at once: those of a few hundred browsers behind one address that
/// join together.
pub const ANSWERS_AT_ONCE: u32 = 1_000;
/// How long the port after an even one is kept for the client with its token (RFC 8656 section
/// 7.2).
pub const RESERVED_FOR: Duration = Duration::from_secs(30);
