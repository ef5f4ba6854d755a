//! Bounds on memory and work that no device sets, and constants of media.

/// Participants of one meeting. A meeting keeps at most the square of this in qualities.
pub const PARTICIPANTS_MAX: u16 = 1_000;

/// Meetings of one allocator. It is more than the streams of 1 Mbit/s that fit into 12.8 Tbit/s.
pub const MEETINGS_MAX: u64 = 1 << 24;

/// Meetings of one kind in a mix.
pub const COUNT_MAX: u64 = 1_000_000_000;

/// Kinds of meetings in a mix.
pub const KINDS_MAX: usize = 10_000;

/// Bytes of a file of a mix or of a device.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// Bits a second of a sender's video.
pub const VIDEO_BITS_MAX: u64 = 100_000_000;

/// Bits a second of a sender's audio.
pub const AUDIO_BITS: u64 = 32_000;

/// Packets a second of a sender's audio: one every 20 ms (RFC 7587 section 4.2).
pub const AUDIO_PACKETS: u64 = 50;

/// Bytes of a video packet. libwebrtc cuts 2 Mbit/s into 228 packets a second, by the rate of
/// replicas in `docs/measured/performance/capacity.csv`.
pub const VIDEO_PACKET_BYTES: u64 = 1_100;

/// Frames a second of a sender's video. With fewer a frame has more packets; 24 are the fewest of
/// the committed searches (`docs/measured/performance/hd.csv`).
pub const FRAMES: u64 = 24;

/// Connections that are given to one core before the next one gets any (`eval/lab.md`).
pub const RECEIVERS_OF_A_CORE: u64 = 64;

/// Cores of a server in a device file.
pub const CORES_MAX: u64 = 100_000;

/// Nanoseconds of a second.
pub(crate) const NANOSECONDS: u64 = 1_000_000_000;
