//! Quality of a relayed call, from the RTCP of its parties.
//!
//! Reports pass from one end to the other unchanged, so a receiver answers the sender's report, not
//! one of ours. Both reports pass here. The time between them, less the receiver's delay, is the
//! round trip between us and the receiver. The sum of both parties' round trips is that of the
//! whole call.
//!
//! Source: RFC 3550 section 6.4.1.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use southbound::relay::Report;
use wire::Ssrc;
use wire::rtcp::{ReportBlock, RtcpPacket};

use crate::limits::SENDER_REPORTS_MAX;

/// Reports of one party.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Its newest sender reports, the newest last.
    sent: VecDeque<Sent>,
    /// From us to the party and back.
    pub(super) round_trip: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    ssrc: Ssrc,
    /// The middle of its time stamp, by which a receiver names it.
    name: u32,
    at: Instant,
}

/// When a sender report went by that a receiver has answered.
pub(super) type Heard = Instant;

impl Watch {
    /// Reads RTCP of the party. Its report blocks about others are appended to `blocks`.
    pub(super) fn receive(&mut self, at: Instant, datagram: &[u8], blocks: &mut Vec<ReportBlock>) {
        // A malformed packet has been forwarded already, and is not read further.
        for packet in RtcpPacket::compound(datagram).map_while(Result::ok) {
            match packet {
                RtcpPacket::SenderReport(report) => {
                    self.remember(Sent {
                        ssrc: report.sender,
                        name: report.info.ntp.middle_32(),
                        at,
                    });
                    blocks.extend(report.blocks.iter());
                }
                RtcpPacket::ReceiverReport(report) => blocks.extend(report.blocks.iter()),
                _ => {}
            }
        }
    }

    /// When the sender reports of this party went by that each of these answers.
    pub(super) fn heard(&self, blocks: &[ReportBlock]) -> Vec<Option<Heard>> {
        let answered = |block: &ReportBlock| {
            let is_it = |sent: &&Sent| sent.ssrc == block.ssrc && sent.name == block.last_sender_report;
            self.sent.iter().rev().find(is_it).map(|sent| sent.at)
        };
        blocks.iter().map(answered).collect()
    }

    /// The report in a block of this party that arrived at `at`. `beyond` is the round trip between
    /// us and the other party.
    pub(super) fn report(
        &mut self,
        at: Instant,
        block: &ReportBlock,
        heard: Option<Heard>,
        clock_rate: u32,
        beyond: Option<Duration>,
    ) -> Report {
        let kept = Duration::from_secs(1) * block.delay_since_last_sender_report / 65_536;
        let round_trip_leg = heard.and_then(|heard| at.saturating_duration_since(heard).checked_sub(kept));
        self.round_trip = round_trip_leg.or(self.round_trip);
        Report {
            loss: f64::from(block.fraction_lost) / 256.0,
            jitter: Duration::from_secs_f64(f64::from(block.jitter) / f64::from(clock_rate.max(1))),
            round_trip_leg,
            round_trip: round_trip_leg.zip(beyond).map(|(ours, theirs)| ours + theirs),
        }
    }

    fn remember(&mut self, sent: Sent) {
        if self.sent.len() == SENDER_REPORTS_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }
}

#[cfg(test)]
mod tests {
    use wire::rtcp::{SenderInfo, delay_units, write_receiver_report, write_sender_report};
    use wire::{NtpTime, RtpTimestamp};

    use super::*;

    fn sender_report(ntp: NtpTime) -> Vec<u8> {
        let info = SenderInfo {
            ntp,
            rtp: RtpTimestamp(0),
            packets: 1,
            octets: 160,
        };
        let mut bytes = Vec::new();
        write_sender_report(&mut bytes, Ssrc(7), &info, &[]);
        bytes
    }

    fn answer(ntp: NtpTime, kept: Duration) -> Vec<u8> {
        let block = ReportBlock {
            ssrc: Ssrc(7),
            fraction_lost: 64,
            cumulative_lost: 3,
            highest_sequence: 100,
            jitter: 80,
            last_sender_report: ntp.middle_32(),
            delay_since_last_sender_report: delay_units(kept),
        };
        let mut bytes = Vec::new();
        write_receiver_report(&mut bytes, Ssrc(8), &[block]);
        bytes
    }

    #[test]
    fn the_round_trip_excludes_the_receivers_delay() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let (mut sender, mut receiver) = (Watch::default(), Watch::default());
        let ntp = NtpTime::from_unix(Duration::from_secs(1_800_000_000));
        let mut blocks = Vec::new();
        sender.receive(start, &sender_report(ntp), &mut blocks);
        assert!(blocks.is_empty());
        let arrived = start + ms(540);
        receiver.receive(arrived, &answer(ntp, ms(500)), &mut blocks);
        let heard = sender.heard(&blocks)[0];
        let report = receiver.report(arrived, &blocks[0], heard, 8_000, Some(ms(30)));
        assert_eq!((report.loss, report.jitter), (0.25, ms(10)));
        let leg = report.round_trip_leg.unwrap();
        assert!(leg.abs_diff(ms(40)) < ms(1), "{leg:?}");
        assert_eq!(report.round_trip, Some(leg + ms(30)));
        assert_eq!(receiver.round_trip, Some(leg));
    }

    #[test]
    fn an_answer_to_nothing_we_saw_says_nothing_of_the_way() {
        let start = Instant::now();
        let mut receiver = Watch::default();
        let mut blocks = Vec::new();
        let ntp = NtpTime::from_unix(Duration::from_secs(1_800_000_000));
        receiver.receive(start, &answer(ntp, Duration::from_secs(1)), &mut blocks);
        assert_eq!(Watch::default().heard(&blocks), [None]);
        let report = receiver.report(start, &blocks[0], None, 8_000, None);
        assert_eq!((report.round_trip_leg, report.round_trip), (None, None));
    }

    #[test]
    fn no_more_is_remembered_than_may_be() {
        let (start, mut watch) = (Instant::now(), Watch::default());
        for second in 0..100 {
            let ntp = NtpTime::from_unix(Duration::from_secs(second));
            watch.receive(start, &sender_report(ntp), &mut Vec::new());
        }
        assert_eq!(watch.sent.len(), SENDER_REPORTS_MAX);
        watch.receive(start, &[0x80, 200], &mut Vec::new());
    }
}
