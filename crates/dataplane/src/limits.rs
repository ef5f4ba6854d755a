//! The sizes that the model and every back end keep to. A limit is part of the contract: the
//! behaviour at it must not depend on the device.

use std::time::Duration;

/// How far behind the newest packet of a stream one may still arrive, in sequence numbers. Later
/// ones are dropped as [`TooLate`](crate::Counter::TooLate).
pub const REORDER_MAX: u64 = rewriting::REORDER_MAX;

/// How many packets a replica keeps for a leg whose keys are pending. At one more it forgets them
/// all, which is counted as [`EarlyForgotten`](crate::Counter::EarlyForgotten).
pub const EARLY_PACKETS_MAX: usize = 512;

/// How long after its arrival a key frame is still sent to a leg that got its keys in the meantime.
/// A later one is forgotten with everything after it, which is counted like that.
pub const EARLY_MAX: Duration = Duration::from_millis(500);

/// How many datagrams of a leg, or of a relay, that has no keys yet are handed to the agent; those
/// beyond are dropped as [`NoKeys`](crate::Counter::NoKeys).
pub const PROTECTED_PUNTS_MAX: usize = 32;

/// How many packets of one video stream are kept for retransmission: about two seconds at 2 Mbit/s.
pub const CACHE_VIDEO: u64 = 512;

/// How many packets of one audio stream are kept for retransmission.
pub const CACHE_AUDIO: u64 = 64;

/// How many different unknown streams of one leg are punted; those beyond are dropped and counted.
pub const UNKNOWN_STREAMS_MAX: usize = 64;

/// How many address pairs one leg may have. A peer that moves has two for a while; more is an
/// attack.
pub const PATHS_MAX: usize = 8;

/// How many streams one leg may have.
pub const STREAMS_PER_LEG_MAX: usize = 256;

/// How many streams a leg may have that shares its path: a trunk, which carries a whole room.
pub const STREAMS_PER_SHARED_LEG_MAX: usize = 4_096;

/// How many SSRCs one leg may use for its replicas over its life; each stays reserved, because its
/// keystream does.
pub const SSRCS_PER_LEG_MAX: usize = 16_384;

/// The largest datagram that is taken in, in bytes of UDP payload, and the largest replica before
/// it is protected: SRTP adds up to 16 bytes.
pub const DATAGRAM_MAX: usize = 1_500;

/// The furthest apart two packets may be for their sender reports to be believed when a source
/// switch aligns timestamps, in seconds.
pub const ALIGNMENT_MAX_SECONDS: i64 = 5;

/// The number of frames of a source for which a replica remembers whether it sent them. A packet of
/// an older frame is too late to be sent or sent again.
///
/// Likewise how many frames can be sent again of a replica that numbers by
/// [frames](crate::Rewriting).
pub const FRAMES_MAX: usize = 128;

/// How many SSRCs one key of a relay may open or seal: each stays reserved, because its keystream
/// does.
pub const SSRCS_PER_KEY_MAX: usize = 256;

/// Of how many keys that its hops have had a relay remembers what they have sealed: the last ones
/// named. An older one must not come back, and need not, since a party that moves gets a new key.
pub const KEYS_PER_RELAY_MAX: usize = 64;

/// How many packets of padding one probe may have.
pub const PROBE_PACKETS_MAX: u32 = 256;
