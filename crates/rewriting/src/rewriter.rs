//! Input of a rewriter, and its guarantees.

/// Gives a replica's packets their sequence numbers, so that packets left out leave no gap and lost
/// packets do.
///
/// Two things can go wrong. A *type-1 error* masks a loss: between two packets, the numbers leave
/// less room than there are packets that the receiver needs (or two packets get one number). The
/// decoder then breaks, and only a key frame repairs it. A *type-2 error* leaves a number free that
/// no needed packet will ever take; the receiver asks for it once, in vain. No rewriter here makes
/// a type-1 error, under any loss or reordering. They differ in the number of type-2 errors, and in
/// how late a packet may arrive.
///
/// The guarantee holds for streams with these properties: the packets of a frame are numbered one
/// after another; frames are numbered in decode order, each has at least one packet, and every
/// numbered frame is sent; a replica's frames are those of its [`Cadence`]; and no leap is as long
/// as 2^15 packets or frames (after such a leap a new rewriter starts, at a key frame).
///
/// Source: Scallop section 7.
pub trait Rewriter: std::fmt::Debug {
    /// A rewriter whose first packet is `first`, which goes out under `sequence`.
    /// [`rewrite`](Self::rewrite) is still to be called for it.
    fn start(first: &FramePacket, sequence: u16, cadence: Cadence) -> Self
    where
        Self: Sized;

    /// The sequence number to send `packet` under. `None` when it is not forwarded, or is too late
    /// for its number to be known.
    ///
    /// Call it for every packet of the stream on arrival, including those not forwarded; a rewriter
    /// that does not need them ignores them.
    fn rewrite(&mut self, packet: &FramePacket) -> Option<u16>;

    /// Changes the share of frames that the replica gets, from frame `from` on, which is newer than
    /// every frame forwarded so far.
    fn change_cadence(&mut self, cadence: Cadence, from: u16);
}

/// A packet's place in the stream, from its headers.
///
/// Source: RFC 3550 section 5.1 (number); AV1 RTP specification, appendix A (the rest, from the
/// dependency descriptor).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePacket {
    /// The source's sequence number, extended.
    pub number: u64,
    /// The frame's number. Wraps.
    pub frame: u16,
    /// This is the first packet of its frame.
    pub start_of_frame: bool,
    /// This is the last packet of its frame.
    pub end_of_frame: bool,
    /// The frame is a key frame, at which the cadence of the layers restarts.
    pub key_frame: bool,
    /// The replica gets this packet. Padding is a packet it does not get.
    pub forwarded: bool,
}

/// Which share of a stream's frames a replica gets, where a stream has one spatial and three
/// temporal layers (L1T3).
///
/// The share is counted from each key frame on: T2 is every second frame, T1 every second of the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cadence {
    /// All layers.
    Every,
    /// T0 and T1.
    Second,
    /// T0 only.
    Fourth,
}

impl Cadence {
    /// The share without `layers` of the highest layers. Without more than two it is still
    /// [`Fourth`](Self::Fourth): a cadence that claims less masks no loss.
    pub const fn without(layers: u8) -> Self {
        match layers {
            0 => Cadence::Every,
            1 => Cadence::Second,
            _ => Cadence::Fourth,
        }
    }

    /// From one frame the replica gets to the next, in frames.
    pub const fn period(self) -> u16 {
        match self {
            Cadence::Every => 1,
            Cadence::Second => 2,
            Cadence::Fourth => 4,
        }
    }
}
