//! Numbering by the frames a replica gets, for devices that see only those.

use rewriting::{Cadence, FramePacket, LowMemory, LowRetransmission, Rewriter};

use crate::limits::FRAMES_MAX;
use crate::model::frame::{Frame, Rules};
use crate::model::select::Selection;
use crate::model::stream::MediaPacket;
use crate::{Counter, Rewriting};

/// A segment's numbering, and the numbers of the newest frames.
///
/// A packet that names no frame continues the newest one's numbers, if it is newer than all;
/// otherwise its place is unknown.
#[derive(Debug)]
pub(super) struct ByFrames {
    rewriter: Box<dyn Rewriter + Send>,
    cadence: Cadence,
    /// The newest frame of which something was sent; the first of all until then.
    newest: u16,
    /// The source's number of the newest packet that was sent,
    last: u64,
    /// and the replica's number after it.
    next: u64,
    sent: Vec<SentFrame>,
}

/// A frame of which something was sent.
#[derive(Debug)]
struct SentFrame {
    name: u16,
    /// Source's number less replica's.
    offset: u64,
    /// Of the source's numbers, both included.
    first: u64,
    last: u64,
}

impl ByFrames {
    /// Numbering that begins with a packet, which gets the number `next`. `None` where numbering is
    /// exact, or this packet names no frame.
    pub(crate) fn start(rewriting: Rewriting, first: &MediaPacket, next: u64) -> Option<Self> {
        let question = question(first)?;
        let sequence = next as u16;
        let rewriter: Box<dyn Rewriter + Send> = match rewriting {
            Rewriting::Exact => return None,
            Rewriting::LowMemory => Box::new(LowMemory::start(&question, sequence, Cadence::Every)),
            Rewriting::LowRetransmission => Box::new(LowRetransmission::start(&question, sequence, Cadence::Every)),
        };
        Some(ByFrames {
            rewriter,
            cadence: Cadence::Every,
            newest: question.frame,
            last: first.number - 1,
            next,
            sent: Vec::new(),
        })
    }

    /// The number a packet is sent with, if it is to be sent; `selection` has the decision about
    /// its frame.
    pub(crate) fn number(
        &mut self,
        packet: &MediaPacket,
        selection: &Selection,
        send: Result<(), Counter>,
    ) -> Result<u64, Counter> {
        let named = question(packet);
        if let Some((question, frame)) = named.as_ref().zip(packet.frame.as_ref())
            && (self.is_newest(question.frame) || self.sent.is_empty())
        {
            self.change_cadence(selection.cadence(frame), question.frame);
        }
        send?;
        let is_behind = packet.number > self.last;
        let unnamed = || is_behind.then(|| self.more_of_the_newest(packet.number));
        let question = named.or_else(unnamed).ok_or(Counter::TooLate)?;
        let sequence = self.rewriter.rewrite(&question).ok_or(Counter::TooLate)?;
        Ok(self.remember(&question, sequence))
    }

    /// The number with which the next segment continues.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The source's number for one of the replica's.
    pub(crate) fn source(&self, number: u64) -> Option<u64> {
        self.sent.iter().find_map(|frame| {
            let source = number.wrapping_add(frame.offset);
            (frame.first..=frame.last).contains(&source).then_some(source)
        })
    }

    fn is_newest(&self, frame: u16) -> bool {
        frame.wrapping_sub(self.newest) as i16 > 0
    }

    fn change_cadence(&mut self, cadence: Cadence, from: u16) {
        if self.cadence != cadence {
            self.cadence = cadence;
            self.rewriter.change_cadence(cadence, from);
        }
    }

    /// A packet that names no frame.
    fn more_of_the_newest(&self, number: u64) -> FramePacket {
        FramePacket {
            number,
            frame: self.newest,
            start_of_frame: false,
            end_of_frame: false,
            key_frame: false,
            forwarded: true,
        }
    }

    /// Records a sent packet, and returns its extended number.
    fn remember(&mut self, packet: &FramePacket, sequence: u16) -> u64 {
        let highest = self.next - 1;
        let number = highest.wrapping_add_signed(i64::from(sequence.wrapping_sub(highest as u16) as i16));
        self.next = self.next.max(number + 1);
        self.last = self.last.max(packet.number);
        if self.is_newest(packet.frame) {
            self.newest = packet.frame;
        }
        match self.sent.iter_mut().find(|frame| frame.name == packet.frame) {
            Some(frame) => {
                frame.first = frame.first.min(packet.number);
                frame.last = frame.last.max(packet.number);
            }
            None => self.sent.push(SentFrame {
                name: packet.frame,
                offset: packet.number.wrapping_sub(number),
                first: packet.number,
                last: packet.number,
            }),
        }
        let newest = self.newest;
        self.sent
            .retain(|frame| usize::from(newest.wrapping_sub(frame.name)) < FRAMES_MAX);
        number
    }
}

/// A sent packet's frame, as the rewriter needs it; `None` where it names none.
fn question(packet: &MediaPacket) -> Option<FramePacket> {
    let is_key = |frame: &Frame| matches!(&frame.rules, Rules::Dependency(rules) if rules.referred.is_empty());
    let frame = packet.frame.as_ref()?;
    Some(FramePacket {
        number: packet.number,
        frame: packet.frame_number()?,
        start_of_frame: frame.starts,
        end_of_frame: frame.ends,
        key_frame: is_key(frame),
        forwarded: true,
    })
}
