//! The state with which one device continues a replica of another.
//!
//! From an offload to its base: the offload stops sending a replica and gives its state
//! ([`ReplicaOffload::snapshot`](crate::ReplicaOffload::snapshot)), which is given to the base
//! ([`Inject::Resume`](crate::Inject::Resume)). From a base to its offload: the base is asked to
//! release a replica ([`Inject::Release`](crate::Inject::Release)). It stops sending the replica
//! and gives its state ([`Event::Released`](crate::Event::Released)), which is given to the offload
//! ([`ReplicaOffload::take_over`](crate::ReplicaOffload::take_over)), or back to the base.
//!
//! Only one of the two sends at any time, and the second begins after the last number of the first.
//! So no number is used twice and none decreases. A packet that arrives while neither sends is lost
//! to the receiver. It is a gap like any other loss, and the receiver may ask for it where lost
//! packets are sent again.

use wire::codec::Layer;

use crate::StreamKey;

/// A picture, by its timestamp at the source, and whether it is sent.
pub type Decided = (u32, bool);

/// The state of a replica that another device has sent so far, as its receiver saw it.
///
/// With a source the replica continues without a key frame, with the source's next packet after
/// `newest`, whatever frame it starts. The condition is that it has begun nothing else and is to
/// follow this source. Earlier packets are counted as `before_switch`. This holds for packets whose
/// frames are not named by descriptors: only the other device knows its decisions about such
/// frames.
///
/// With a source and `awaits_key_frame` it continues with the source's next key frame. Its numbers
/// do as though it had got nothing of the packets before: they close up over those that arrive, and
/// those that never do leave their gap.
///
/// Without a source, or when it is to follow another one meanwhile, it begins with a key frame and
/// continues from `next` and `last` as from a segment of its own. Not with encryption: numbers may
/// be above those a stream may start with. If it was released at a key frame, `newest` and the
/// offsets are of the stream that its entry names, which is the one that it has followed. They are
/// 0 if it has sent nothing.
///
/// Shape: sequence numbers, timestamps and VP8's counters as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaSnapshot {
    /// The stream it follows, if it can continue with it.
    pub source: Option<StreamKey>,
    /// Whether it continues with a key frame only, because the other device knows alone what it
    /// decided about frames.
    pub awaits_key_frame: bool,
    /// The source's number of the newest packet that was accounted for, sent or not.
    pub newest: u16,
    /// The replica's number for the packet after it.
    pub next: u16,
    /// Added to timestamps.
    pub timestamp_offset: u32,
    /// Added to VP8's picture ids, from the next picture on.
    pub picture_offset: u16,
    /// Added to VP8's TL0PICIDX.
    pub tl0_offset: u8,
    /// The highest layer.
    pub layer: Layer,
    /// The timestamp, picture id and TL0PICIDX of the newest sent packet, as sent: another source
    /// continues from them.
    pub last: (u32, u16, u8),
    /// The newest number of a dependency descriptor that was sent, as sent.
    pub frame: Option<u16>,
    /// Added to the numbers of dependency descriptors.
    pub frame_offset: u16,
    /// For pictures in layers, the newest with a decision: its timestamp at the source, and whether
    /// it is sent. The rest of the picture follows this decision. If it is not sent,
    /// `picture_offset` includes it already.
    pub decided: Option<Decided>,
}

impl ReplicaSnapshot {
    /// The distance of a packet of the source after the newest; `None` for an earlier one.
    pub fn ahead(&self, sequence: u16) -> Option<u64> {
        let ahead = sequence.wrapping_sub(self.newest);
        (1..1 << 15).contains(&ahead).then(|| u64::from(ahead))
    }
}
