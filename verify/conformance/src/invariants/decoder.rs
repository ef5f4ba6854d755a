//! The needs of a decoder on a network without loss.

use std::collections::BTreeSet;

use wire::RtpPacket;

use super::truth::Truth;

/// One receiver's decoder, since its replica began to follow a source.
#[derive(Default)]
pub(super) struct Decoder {
    /// The frames of the pictures that ended.
    frames: BTreeSet<u32>,
    newest: Option<Picture>,
}

/// A picture, as far as it was sent.
struct Picture {
    timestamp: u32,
    frames: BTreeSet<u32>,
    /// The spatial layer that its receiver keeps below the target, while nothing else was sent.
    only_kept: Option<u8>,
    has_ended: bool,
}

impl Decoder {
    /// Takes the next packet of a replica that keeps the spatial layer `kept` below its target.
    ///
    /// A picture of which only the kept layer was sent may have no end: its sender then left out
    /// the selected layer, and ended the picture with one that is not sent. The receiver does not
    /// decode it, so no later frame may refer to it.
    ///
    /// Errors: a frame that cannot be decoded, any other picture without an end, or one with two.
    pub(crate) fn receive(&mut self, packet: &RtpPacket<'_>, truth: &Truth, kept: Option<u8>) -> Result<(), String> {
        let frame = truth.frame;
        let timestamp = packet.timestamp().0;
        match self.newest.take_if(|newest| newest.timestamp != timestamp) {
            Some(before) if before.has_ended => self.frames.extend(before.frames),
            Some(before) if before.only_kept.is_none() => {
                return Err(format!(
                    "began frame {frame} of another picture, but the one before did not end"
                ));
            }
            _ => {}
        }
        let picture = self.newest.get_or_insert_with(|| Picture {
            timestamp,
            frames: BTreeSet::new(),
            only_kept: kept,
            has_ended: false,
        });
        let is_decoded = |frame| self.frames.contains(frame) || picture.frames.contains(frame);
        if let Some(missing) = truth.referred.iter().find(|referred| !is_decoded(referred)) {
            return Err(format!(
                "sent frame {frame}, which refers to {missing}, but that one cannot be decoded"
            ));
        }
        if picture.has_ended {
            return Err(format!("sent frame {frame} behind the marker of its own picture"));
        }
        picture.frames.insert(frame);
        picture.only_kept = picture.only_kept.filter(|kept| *kept == truth.spatial);
        picture.has_ended = packet.marker();
        Ok(())
    }
}
