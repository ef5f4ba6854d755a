//! Numbering of packets by the frames a replica gets: S-LM and S-LR, as registers.
//!
//! Source: Scallop section 7; `crates/rewriting` documents the guarantees.

use dataplane::limits::FRAMES_MAX;
use dataplane::{Counter, Rewriting};

use crate::shard::packet::PacketInfo;
use crate::shard::packet::frame::{Frame, Rules};

/// How many frames before the newest S-LR remembers.
const PAST: usize = 3;

/// A segment's numbers. The sent packets of the newest frames are remembered beside them, for
/// retransmissions.
#[derive(Debug)]
pub(crate) struct FrameNumbering {
    newest: Newest,
    /// From the newest to the oldest, where they are known.
    past: Option<[Past; PAST]>,
    /// From one frame it gets to the next, in frames,
    period: u16,
    /// from this one on, if that is still to come.
    coming: Option<u16>,
    /// The source's number of the newest packet that was sent,
    last: u64,
    /// and the replica's number after it.
    next: u64,
    /// By the frame's number.
    sent: [Option<SentFrame>; FRAMES_MAX],
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    frame: u16,
    number: u16,
    /// Source's number less replica's.
    offset: u16,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Past {
    frame: u16,
    offset: u16,
}

#[derive(Clone, Copy, Debug)]
struct SentFrame {
    frame_number: u16,
    /// Source's number less replica's.
    offset: u64,
    /// Of the source's numbers, both included.
    first: u64,
    last: u64,
}

impl FrameNumbering {
    /// Numbering that starts with a packet, which gets the number `next`. `None` where all packets
    /// count, or this one has no frame number.
    pub(crate) fn start(rewriting: Rewriting, first: &PacketInfo, next: u64) -> Option<Box<Self>> {
        let has_past = match rewriting {
            Rewriting::Exact => return None,
            Rewriting::LowMemory => false,
            Rewriting::LowRetransmission => true,
        };
        let frame = first.frame.as_ref()?;
        let frame_number = frame.number()?;
        let number = first.number as u16;
        let offset = number.wrapping_sub(next as u16);
        Some(Box::new(FrameNumbering {
            newest: Newest {
                frame: frame_number,
                number,
                offset,
                ended: frame.ends,
            },
            past: has_past.then_some(
                [Past {
                    frame: frame_number,
                    offset,
                }; PAST],
            ),
            period: 1,
            coming: None,
            last: first.number - 1,
            next,
            sent: [None; FRAMES_MAX],
        }))
    }

    /// The number a packet is sent with, if it is to be sent, for a replica that gets this many
    /// temporal layers.
    pub(crate) fn number(
        &mut self,
        info: &PacketInfo,
        temporal: u8,
        send: Result<(), Counter>,
    ) -> Result<u64, Counter> {
        let Some((frame, frame_number)) = info.frame.as_ref().and_then(|frame| Some((frame, frame.number()?))) else {
            return send.and_then(|()| self.unnamed(info.number));
        };
        let is_new = frame_number.wrapping_sub(self.newest.frame) as i16 > 0;
        let period = period(frame, temporal);
        if period != self.period && (is_new || self.sent.iter().all(Option::is_none)) {
            self.period = period;
            self.coming = Some(frame_number);
        }
        send?;
        let offset = self
            .offset(info.number as u16, frame, frame_number)
            .ok_or(Counter::TooLate)?;
        Ok(self.remember(info.number, frame_number, offset))
    }

    /// The next number.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The source's number of one of the replica's.
    pub(crate) fn source(&self, number: u64) -> Option<u64> {
        let known = self
            .sent
            .iter()
            .flatten()
            .filter(|frame| self.is_known(frame.frame_number));
        known
            .map(|frame| (number.wrapping_add(frame.offset), frame))
            .find(|(source, frame)| (frame.first..=frame.last).contains(source))
            .map(|(source, _)| source)
    }

    /// A packet without a frame number continues the newest frame, if it is newer than all.
    fn unnamed(&mut self, number: u64) -> Result<u64, Counter> {
        if number <= self.last {
            return Err(Counter::TooLate);
        }
        self.newest.extend(number as u16, false);
        Ok(self.remember(number, self.newest.frame, self.newest.offset))
    }

    /// The source's numbers of a frame less the replica's.
    fn offset(&mut self, number: u16, frame: &Frame, frame_number: u16) -> Option<u16> {
        let distance = frame_number.wrapping_sub(self.newest.frame);
        match distance as i16 {
            0 => self.newest.extend(number, frame.ends),
            1.. => {
                let (before, period) = (self.newest, self.period_up_to(frame));
                self.newest = before.followed_by(number, frame, frame_number, period)?;
                self.remember_past(before, distance, period);
            }
            _ => {
                let past = self.past?;
                return past
                    .iter()
                    .find(|past| past.frame == frame_number)
                    .map(|past| past.offset);
            }
        }
        Some(self.newest.offset)
    }

    /// Before a key frame, and across a change, every frame counts as one that it should have got.
    fn period_up_to(&mut self, frame: &Frame) -> u16 {
        let newest = self.newest.frame;
        self.coming = self.coming.filter(|from| from.wrapping_sub(newest) as i16 > 0);
        match self.coming.is_some() || is_key(frame) {
            true => 1,
            false => self.period,
        }
    }

    /// Frames of which no packet has arrived have a place as well.
    fn remember_past(&mut self, before: Newest, distance: u16, period: u16) {
        let Some(past) = &mut self.past else { return };
        let missing = usize::from((distance - 1) / period).min(PAST);
        let mut kept = [Past {
            frame: before.frame,
            offset: before.offset,
        }; PAST + 1];
        kept[1..].copy_from_slice(past);
        for (slot, to) in past.iter_mut().enumerate() {
            *to = match slot.checked_sub(missing) {
                Some(older) => kept[older],
                None => Past {
                    frame: self.newest.frame.wrapping_sub((slot as u16 + 1) * period),
                    offset: before.offset,
                },
            };
        }
    }

    /// Remembers a sent packet, and returns its extended number.
    fn remember(&mut self, source: u64, frame_number: u16, offset: u16) -> u64 {
        let highest = self.next - 1;
        let behind = (source as u16).wrapping_sub(offset).wrapping_sub(highest as u16);
        let number = highest.wrapping_add_signed(i64::from(behind as i16));
        self.next = self.next.max(number + 1);
        self.last = self.last.max(source);
        if self.is_known(frame_number) {
            let slot = &mut self.sent[usize::from(frame_number) % FRAMES_MAX];
            let known = slot.filter(|frame| frame.frame_number == frame_number);
            *slot = Some(SentFrame {
                frame_number,
                offset: source.wrapping_sub(number),
                first: known.map_or(source, |frame| frame.first.min(source)),
                last: known.map_or(source, |frame| frame.last.max(source)),
            });
        }
        number
    }

    fn is_known(&self, frame_number: u16) -> bool {
        usize::from(self.newest.frame.wrapping_sub(frame_number)) < FRAMES_MAX
    }
}

impl Newest {
    fn extend(&mut self, number: u16, ends: bool) {
        if number.wrapping_sub(self.number) as i16 > 0 {
            self.number = number;
        }
        self.ended |= ends;
    }

    /// The next frame, whose numbers close up by the packets that were certainly left out in
    /// between: all of them where both edges were seen and nothing is missing, otherwise one packet
    /// for each frame that the replica is not to get. `None` for a newer frame with an older
    /// number.
    fn followed_by(self, number: u16, frame: &Frame, frame_number: u16, period: u16) -> Option<Newest> {
        let ahead = number.wrapping_sub(self.number);
        if ahead as i16 <= 0 {
            return None;
        }
        let (skipped, distance) = (ahead - 1, frame_number.wrapping_sub(self.frame));
        let left_out = match self.ended && frame.starts && distance <= period {
            true => skipped,
            false => skipped.min(period - 1).min(distance - 1),
        };
        Some(Newest {
            frame: frame_number,
            number,
            offset: self.offset.wrapping_add(left_out),
            ended: frame.ends,
        })
    }
}

/// The distance between the frames that a replica of so many temporal layers gets. It is one where
/// there are several spatial layers.
fn period(frame: &Frame, temporal: u8) -> u16 {
    let Rules::Dependency(rules) = &frame.rules else {
        return 1;
    };
    let mut highest = 0;
    for target in rules.produced().iter() {
        match rules.structure.target_layer(target) {
            Some(layer) if layer.spatial == 0 => highest = layer.temporal.max(highest),
            _ => return 1,
        }
    }
    1 << highest.saturating_sub(temporal).min(2)
}

fn is_key(frame: &Frame) -> bool {
    matches!(&frame.rules, Rules::Dependency(rules) if rules.fdiffs.as_slice().is_empty())
}
