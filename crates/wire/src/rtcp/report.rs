//! Sender and receiver reports.

use std::time::Duration;

use super::{RECEIVER_REPORT, SENDER_REPORT, read_ssrc, write_packet};
use crate::bytes::Reader;
use crate::ntp::{duration_to_short, short_to_duration};
use crate::{NtpTime, RtpTimestamp, Ssrc};

/// The most report blocks one report holds: the count has five bits.
pub const REPORT_BLOCKS_MAX: usize = 31;

const BLOCK_LEN: usize = 24;

/// A source's counts, the wall-clock time of its timestamps, and its own receiver reports.
///
/// Source: RFC 3550 section 6.4.1.
#[derive(Clone, Copy, Debug)]
pub struct SenderReport<'a> {
    /// The source reported on.
    pub sender: Ssrc,
    /// Its clock and counters.
    pub info: SenderInfo,
    /// Its reports on other sources.
    pub blocks: ReportBlocks<'a>,
}

/// Reports of a receiver.
///
/// Source: RFC 3550 section 6.4.2.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverReport<'a> {
    /// The reporting receiver.
    pub sender: Ssrc,
    /// One block for each source.
    pub blocks: ReportBlocks<'a>,
}

/// A sender's clock and counters.
///
/// The two times are the same instant; two reports map RTP timestamps to wall-clock time, which
/// synchronises audio with video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// Wall-clock time of the report.
    pub ntp: NtpTime,
    /// The same instant on the source's RTP clock.
    pub rtp: RtpTimestamp,
    /// Packets sent since the stream began.
    pub packets: u32,
    /// Payload bytes sent since the stream began, headers and padding not counted.
    pub octets: u32,
}

/// How well one source is received.
///
/// Source: RFC 3550 section 6.4.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source reported on.
    pub ssrc: Ssrc,
    /// Loss since the previous report. Shape: in 1/256.
    pub fraction_lost: u8,
    /// Loss since the beginning, negative when duplicates prevail. Shape: packets, 24 bits; larger
    /// values saturate.
    pub cumulative_lost: i32,
    /// Highest sequence number received, with the count of wraps in the upper 16 bits.
    pub highest_sequence: u32,
    /// Interarrival jitter. Shape: RTP clock units.
    pub jitter: u32,
    /// [`NtpTime::middle_32`] of the last sender report from the source; 0 when there was none.
    pub last_sender_report: u32,
    /// Time from receiving that report to sending this one. Shape: 1/65,536 seconds, see
    /// [`delay_units`].
    pub delay_since_last_sender_report: u32,
}

/// A time span as report blocks carry it. Shape: 1/65,536 seconds; 18 hours and more saturate.
pub fn delay_units(span: Duration) -> u32 {
    duration_to_short(span)
}

impl ReportBlock {
    /// Round-trip time to the receiver when this block arrives at `now` of the same clock that
    /// wrote the sender report.
    ///
    /// Errors: `None` when the receiver has had no sender report yet. A clock that seems to have
    /// run backwards gives zero.
    pub fn round_trip(&self, now: NtpTime) -> Option<Duration> {
        if self.last_sender_report == 0 {
            return None;
        }
        let sent_and_held = self
            .last_sender_report
            .wrapping_add(self.delay_since_last_sender_report);
        let units = now.middle_32().wrapping_sub(sent_and_held);
        Some(if units as i32 >= 0 {
            short_to_duration(units)
        } else {
            Duration::ZERO
        })
    }

    fn read(bytes: &[u8; BLOCK_LEN]) -> Self {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            ssrc: Ssrc(word(0)),
            fraction_lost: bytes[4],
            // Shifted up and down again, so that bit 23 becomes the sign.
            cumulative_lost: (word(4) << 8) as i32 >> 8,
            highest_sequence: word(8),
            jitter: word(12),
            last_sender_report: word(16),
            delay_since_last_sender_report: word(20),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let lost = self.cumulative_lost.clamp(-0x80_0000, 0x7f_ffff);
        out.extend(self.ssrc.0.to_be_bytes());
        out.push(self.fraction_lost);
        out.extend(&lost.to_be_bytes()[1..]);
        out.extend(self.highest_sequence.to_be_bytes());
        out.extend(self.jitter.to_be_bytes());
        out.extend(self.last_sender_report.to_be_bytes());
        out.extend(self.delay_since_last_sender_report.to_be_bytes());
    }
}

/// The report blocks of one report.
#[derive(Clone, Copy, Debug)]
pub struct ReportBlocks<'a>(&'a [[u8; BLOCK_LEN]]);

impl<'a> ReportBlocks<'a> {
    /// How many there are, 0 to 31.
    pub fn count(self) -> usize {
        self.0.len()
    }

    /// One block after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = ReportBlock> + 'a {
        self.0.iter().map(ReportBlock::read)
    }

    /// Takes the blocks; profile-specific extensions may follow them and are not read.
    fn read(count: u8, reader: &mut Reader<'a>) -> Option<Self> {
        let bytes = reader.take(BLOCK_LEN * usize::from(count))?;
        Some(Self(bytes.as_chunks().0))
    }
}

impl<'a> SenderReport<'a> {
    pub(super) fn parse(blocks: u8, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            sender: read_ssrc(&mut reader)?,
            info: SenderInfo {
                ntp: NtpTime(reader.u64()?),
                rtp: RtpTimestamp(reader.u32()?),
                packets: reader.u32()?,
                octets: reader.u32()?,
            },
            blocks: ReportBlocks::read(blocks, &mut reader)?,
        })
    }
}

impl<'a> ReceiverReport<'a> {
    pub(super) fn parse(blocks: u8, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        Some(Self {
            sender: read_ssrc(&mut reader)?,
            blocks: ReportBlocks::read(blocks, &mut reader)?,
        })
    }
}

/// Appends a sender report; blocks that do not fit go into receiver reports after it.
pub fn write_sender_report(out: &mut Vec<u8>, sender: Ssrc, info: &SenderInfo, blocks: &[ReportBlock]) {
    let (first, rest) = blocks.split_at(blocks.len().min(REPORT_BLOCKS_MAX));
    write_packet(out, SENDER_REPORT, first.len() as u8, |out| {
        out.extend(sender.0.to_be_bytes());
        out.extend(info.ntp.0.to_be_bytes());
        out.extend(info.rtp.0.to_be_bytes());
        out.extend(info.packets.to_be_bytes());
        out.extend(info.octets.to_be_bytes());
        first.iter().for_each(|block| block.write(out));
    });
    if !rest.is_empty() {
        write_receiver_report(out, sender, rest);
    }
}

/// Appends a receiver report: several for more than [`REPORT_BLOCKS_MAX`] blocks, and an empty one
/// for none.
pub fn write_receiver_report(out: &mut Vec<u8>, sender: Ssrc, blocks: &[ReportBlock]) {
    let mut rest = blocks;
    loop {
        let (first, next) = rest.split_at(rest.len().min(REPORT_BLOCKS_MAX));
        write_packet(out, RECEIVER_REPORT, first.len() as u8, |out| {
            out.extend(sender.0.to_be_bytes());
            first.iter().for_each(|block| block.write(out));
        });
        rest = next;
        if rest.is_empty() {
            return;
        }
    }
}
