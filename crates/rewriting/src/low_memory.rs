//! The newest frame only.

use crate::newest::{Current, Newest, Order};
use crate::{Cadence, FramePacket, Rewriter};

/// S-LM: knows the newest frame and nothing before it.
///
/// It is for devices that never see the packets left out for a replica, and have a few registers a
/// stream. A packet of any older frame is dropped, so a retransmission is of use only while its
/// frame is the newest.
///
/// Shape: 14 bytes a stream; as registers 16 bits each for number, frame, offset and a pending
/// change, a flag for that and one for the end. Source: Scallop section 7, "Seq. Rewriting-Low
/// Memory".
#[derive(Clone, Debug)]
pub struct LowMemory {
    newest: Newest,
    cadence: Current,
}

impl Rewriter for LowMemory {
    fn start(first: &FramePacket, sequence: u16, cadence: Cadence) -> Self {
        LowMemory {
            newest: Newest::start(first, sequence),
            cadence: Current::new(cadence),
        }
    }

    fn rewrite(&mut self, packet: &FramePacket) -> Option<u16> {
        if !packet.forwarded {
            return None;
        }
        match self.newest.order(packet.frame) {
            Order::Same => self.newest.extend(packet),
            Order::Newer(distance) => {
                let cadence = self.cadence.between(&self.newest, packet);
                self.newest.succeed::<1>(packet, distance, cadence)?;
            }
            Order::Older => return None,
        }
        Some((packet.number as u16).wrapping_sub(self.newest.offset))
    }

    fn change_cadence(&mut self, cadence: Cadence, from: u16) {
        self.cadence.change(cadence, from);
    }
}
