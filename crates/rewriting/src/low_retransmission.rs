//! The newest frame and three before it.

use crate::newest::{Current, Newest, Order};
use crate::{Cadence, FramePacket, Rewriter};

/// How many frames before the newest [`LowRetransmission`] can still place packets of.
pub const HISTORY_FRAMES: usize = 3;

/// S-LR: knows the offsets of three more frames of the replica, so late packets and retransmissions
/// of those find their numbers.
///
/// A frame that has not arrived when a newer one does takes a place in the history too: the numbers
/// left for it continue the offset of the frame before. At 15 frames a second the history reaches
/// back 200 ms.
///
/// Shape: 26 bytes a stream; those of [`LowMemory`](crate::LowMemory) and three pairs of 16-bit
/// registers. Source: Scallop section 7, "Seq. Rewriting-Low Retx.".
///
/// `LEAST` is the number of packets that every frame is known to have. A frame that was left out
/// frees so many numbers, even if its edges were lost. More than a frame has would mask a loss.
#[derive(Clone, Debug)]
pub struct LowRetransmissionOf<const LEAST: u16> {
    newest: Newest,
    cadence: Current,
    /// From the newest to the oldest. At the start all entries are the first frame, which is the
    /// right result of a lookup.
    history: [Past; HISTORY_FRAMES],
}

#[derive(Clone, Copy, Debug)]
struct Past {
    frame: u16,
    offset: u16,
}

/// S-LR for any stream: a frame has one packet or more.
pub type LowRetransmission = LowRetransmissionOf<1>;

impl<const LEAST: u16> Rewriter for LowRetransmissionOf<LEAST> {
    fn start(first: &FramePacket, sequence: u16, cadence: Cadence) -> Self {
        let newest = Newest::start(first, sequence);
        let past = Past {
            frame: newest.frame,
            offset: newest.offset,
        };
        Self {
            newest,
            cadence: Current::new(cadence),
            history: [past; HISTORY_FRAMES],
        }
    }

    fn rewrite(&mut self, packet: &FramePacket) -> Option<u16> {
        if !packet.forwarded {
            return None;
        }
        let offset = match self.newest.order(packet.frame) {
            Order::Same => {
                self.newest.extend(packet);
                self.newest.offset
            }
            Order::Newer(distance) => {
                self.advance(packet, distance)?;
                self.newest.offset
            }
            Order::Older => self.history.iter().find(|past| past.frame == packet.frame)?.offset,
        };
        Some((packet.number as u16).wrapping_sub(offset))
    }

    fn change_cadence(&mut self, cadence: Cadence, from: u16) {
        self.cadence.change(cadence, from);
    }
}

impl<const LEAST: u16> LowRetransmissionOf<LEAST> {
    fn advance(&mut self, packet: &FramePacket, distance: u16) -> Option<()> {
        let before = self.newest;
        let cadence = self.cadence.between(&self.newest, packet);
        self.newest.succeed::<LEAST>(packet, distance, cadence)?;
        let period = cadence.period();
        // Frames of the cadence between the two, none of which has arrived.
        let missing = usize::from((distance - 1) / period);
        let history = self.history;
        self.history = std::array::from_fn(|slot| match slot.checked_sub(missing) {
            None => Past {
                frame: packet.frame.wrapping_sub((slot as u16 + 1) * period),
                offset: before.offset,
            },
            Some(0) => Past {
                frame: before.frame,
                offset: before.offset,
            },
            Some(older) => history[older - 1],
        });
        Some(())
    }
}
