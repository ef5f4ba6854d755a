//! The needs of a decoder on a network without loss.

use std::collections::BTreeSet;

use wire::RtpPacket;

use super::truth::Truth;

/// One receiver's decoder, since its replica began to follow a source.
#[derive(Default)]
pub(super) struct Decoder {
    frames: BTreeSet<u32>,
    /// The newest packet: its timestamp and marker.
    newest: Option<(u32, bool)>,
}

impl Decoder {
    /// Takes the next packet.
    ///
    /// Errors: a frame that cannot be decoded, a picture without an end, or with two.
    pub(crate) fn receive(&mut self, packet: &RtpPacket<'_>, truth: &Truth) -> Result<(), String> {
        let frame = truth.frame;
        if let Some(missing) = truth.referred.iter().find(|referred| !self.frames.contains(referred)) {
            return Err(format!(
                "sent frame {frame}, which refers to {missing}, but not that one"
            ));
        }
        self.frames.insert(frame);
        let (timestamp, marker) = (packet.timestamp().0, packet.marker());
        match self.newest.replace((timestamp, marker)) {
            Some((before, false)) if before != timestamp => Err(format!(
                "began frame {frame} of another picture, but the one before did not end"
            )),
            Some((before, true)) if before == timestamp => {
                Err(format!("sent frame {frame} behind the marker of its own picture"))
            }
            _ => Ok(()),
        }
    }
}
