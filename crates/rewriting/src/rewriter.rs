//! Input of a rewriter, and its guarantees.

/// Gives a replica's packets their sequence numbers, so that what is left out leaves no gap and
/// what was lost does.
///
/// Two things can go wrong. A *type-1 error* masks a loss: the numbers a receiver sees leave less
/// room between two packets than there are packets it needs between them (or two packets get one
/// number). The decoder then breaks, and only a key frame mends it. A *type-2 error* leaves a
/// number free that no needed packet will ever take; the receiver asks for it once, for nothing. No
/// rewriter here makes a type-1 error, whatever is lost or reordered; they differ in how many
/// type-2 errors they make and in how late a packet may come.
///
/// The promise holds for streams that keep to these rules: the packets of a frame are numbered one
/// after another; frames are numbered in decode order, each has at least one packet, and none is
/// numbered that is not sent; a replica's frames are those its [`Cadence`] says; and no leap is as
/// long as 2^15 packets or frames (what comes after one that long starts a new rewriter, at a key
/// frame).
///
/// Source: Scallop section 7.
pub trait Rewriter: std::fmt::Debug {
    /// A rewriter whose first packet is `first`, which goes out under `sequence`.
    /// [`rewrite`](Self::rewrite) is still to be called for it.
    fn start(first: &FramePacket, sequence: u16, cadence: Cadence) -> Self
    where
        Self: Sized;

    /// The number `packet` goes out under. `None` when it is not forwarded, or is too late for its
    /// number to be known.
    ///
    /// Call it for every packet of the stream as it arrives, those not forwarded too: a rewriter
    /// that has no use for them ignores them.
    fn rewrite(&mut self, packet: &FramePacket) -> Option<u16>;

    /// The replica gets another share of the frames, from frame `from` on, which is newer than
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
    /// The frame is a key frame: the layers' cadence begins anew with it.
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
    /// The share without so many of the highest layers. With more than two left out it is still
    /// [`Fourth`](Self::Fourth): what is not claimed of a cadence masks no loss.
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
