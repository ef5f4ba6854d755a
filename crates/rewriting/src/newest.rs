//! The newest frame of a replica, and the distance to the next one.

use crate::{Cadence, FramePacket};

/// State of the newest frame, shared by both heuristics.
///
/// All packets of a frame share one offset, fixed by the first of them that arrives. So the only
/// decision is by how much the offset grows from one frame to the next. It grows by no more than
/// the packets that were left out between the two, or a loss would be masked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    /// Of its newest packet. Wraps.
    number: u16,
    pub(crate) frame: u16,
    /// Source's number minus replica's. Wraps.
    pub(crate) offset: u16,
    /// Its last packet was seen, so `number` is that packet's.
    ended: bool,
}

/// A frame's place against the newest.
pub(crate) enum Order {
    Older,
    Same,
    /// It is newer, by this many frames.
    Newer(u16),
}

impl Newest {
    pub(crate) fn start(first: &FramePacket, sequence: u16) -> Self {
        let number = first.number as u16;
        Newest {
            number,
            frame: first.frame,
            offset: number.wrapping_sub(sequence),
            ended: first.end_of_frame,
        }
    }

    pub(crate) fn order(&self, frame: u16) -> Order {
        match frame.wrapping_sub(self.frame) as i16 {
            0 => Order::Same,
            newer @ 1.. => Order::Newer(newer as u16),
            _ => Order::Older,
        }
    }

    /// Takes account of another packet of this frame.
    pub(crate) fn extend(&mut self, packet: &FramePacket) {
        let number = packet.number as u16;
        if number.wrapping_sub(self.number) as i16 > 0 {
            self.number = number;
        }
        self.ended |= packet.end_of_frame;
    }

    /// Makes the frame of `packet` the newest. `distance` is the result of [`order`](Self::order).
    ///
    /// `None`, and no change, if a newer frame has an older number, which no correct sender sends.
    pub(crate) fn succeed<const LEAST: u16>(
        &mut self,
        packet: &FramePacket,
        distance: u16,
        cadence: Cadence,
    ) -> Option<()> {
        let number = packet.number as u16;
        let ahead = number.wrapping_sub(self.number);
        if ahead as i16 <= 0 {
            return None;
        }
        let left_out = self.left_out::<LEAST>(packet, distance, cadence, ahead - 1);
        *self = Newest {
            number,
            frame: packet.frame,
            offset: self.offset.wrapping_add(left_out),
            ended: packet.end_of_frame,
        };
        Some(())
    }

    /// How many of the `skipped` packets between this frame and that of `packet` were surely to be
    /// left out.
    ///
    /// With both edges seen and no frame of the cadence between them, all of them. Otherwise some
    /// may be the end of this frame, the start of that one, or a lost frame; but a frame has at
    /// least `LEAST` packets, and the frames of the last period before `packet` were left out even
    /// if a key frame that never arrived has shifted the cadence meanwhile.
    fn left_out<const LEAST: u16>(&self, packet: &FramePacket, distance: u16, cadence: Cadence, skipped: u16) -> u16 {
        let period = cadence.period();
        if self.ended && packet.start_of_frame && distance <= period {
            return skipped;
        }
        LEAST.saturating_mul((period - 1).min(distance - 1)).min(skipped)
    }
}

/// The cadence by which a frame follows the previous one.
///
/// Frames before a key frame or a change may have followed another cadence, and frames of the new
/// cadence may have been lost there. So across those, every frame in between counts as one that the
/// replica should have got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    cadence: Cadence,
    /// First frame of the cadence, if that is newer than the newest frame and the one before.
    coming: Option<u16>,
}

impl Current {
    pub(crate) fn new(cadence: Cadence) -> Self {
        Current { cadence, coming: None }
    }

    pub(crate) fn change(&mut self, cadence: Cadence, from: u16) {
        *self = Current {
            cadence,
            coming: Some(from),
        };
    }

    /// The cadence between the newest frame and that of `packet`, which is newer.
    pub(crate) fn between(&mut self, newest: &Newest, packet: &FramePacket) -> Cadence {
        self.coming = self
            .coming
            .filter(|from| matches!(newest.order(*from), Order::Newer(_)));
        match (self.coming, packet.key_frame) {
            (None, false) => self.cadence,
            _ => Cadence::Every,
        }
    }
}
