//! The feedback a real client gives: reports, NACK, PLI, bandwidth estimates; and its ears for the
//! server's.

use std::time::{Duration, Instant};

use wire::rtcp::{ArrivalTicks, ReportBlock, RtcpPacket, RtcpWriter, SenderInfo, TransportFeedbackWriter, delay_units};
use wire::{NtpTime, RtpTimestamp, SequenceNumber, Ssrc};

use super::inbound::Inbound;
use super::instream::Reception;
use super::publisher::Publisher;
use crate::transport::Transport;

/// Between two receiver or sender reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Between two transport-wide reports, at least and at most.
const ARRIVALS_INTERVAL: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// Bits of a transport-wide report as libwebrtc counts them; reports may take a twentieth of the
/// received rate.
const ARRIVALS_BITS: f64 = 68.0 * 8.0;
const ARRIVALS_SHARE: f64 = 0.05;
/// The estimate of a client on a fast network. The bench measures forwarding, so it must not be
/// throttled.
const ESTIMATE: u64 = 200_000_000;
/// Bytes of arrival times that fit into a datagram beside the report before them.
const ARRIVALS_LEN_MAX: usize = 1000;
/// More numbers missing in a row than this are a new start.
const ARRIVALS_GAP_MAX: i16 = 2000;

/// The RTCP of one transport.
pub struct Reporter {
    ssrc: Ssrc,
    cname: String,
    report_at: Instant,
    arrivals_at: Instant,
    /// When the last transport-wide report was due, and the bytes received by then.
    reported: (Instant, u64),
    arrivals: Vec<(u16, u64)>,
    next_arrival: Option<u16>,
    epoch_ns: Option<u64>,
    arrivals_writer: TransportFeedbackWriter,
    counts: FeedbackCounts,
}

/// Requests, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounts {
    /// Packets that receivers asked for again.
    pub asked: u64,
    /// Key frames that receivers asked for.
    pub key_frames_asked: u64,
    /// Packets that the server asked publishers for again.
    pub asked_by_server: u64,
    /// Key frames that the server asked publishers for.
    pub key_frames_asked_by_server: u64,
}

impl Reporter {
    /// A reporter for the participant with this number.
    pub fn new(participant: u32, now: Instant) -> Self {
        let ssrc = Ssrc(0x4000_0000 + participant);
        Self {
            ssrc,
            cname: format!("bench-{participant}"),
            // Spread over the interval, so that not all report at once.
            report_at: now + REPORT_INTERVAL * (participant % 16) / 16,
            arrivals_at: now,
            reported: (now, 0),
            arrivals: Vec::new(),
            next_arrival: None,
            epoch_ns: None,
            arrivals_writer: TransportFeedbackWriter::new(ssrc, Ssrc(0)),
            counts: FeedbackCounts::default(),
        }
    }

    /// Requests so far.
    pub fn counts(&self) -> FeedbackCounts {
        self.counts
    }

    /// Sends, unencrypted, the due reports of a receiving transport.
    pub fn report_reception(&mut self, now: Instant, inbound: &mut Inbound, mut send: impl FnMut(&mut Vec<u8>)) {
        let mut out = Vec::new();
        let mut writer = RtcpWriter::reduced_size(&mut out, self.ssrc);
        for (ssrc, wanted) in inbound.wanted(now) {
            self.counts.asked += wanted.missing.len() as u64;
            writer.nack(Ssrc(ssrc), wanted.missing.into_iter().map(SequenceNumber));
            if wanted.key_frame {
                self.counts.key_frames_asked += 1;
                writer.pli(Ssrc(ssrc));
            }
        }
        if now >= self.arrivals_at {
            self.arrivals_at =
                now + arrivals_interval(now.duration_since(self.reported.0), inbound.octets() - self.reported.1);
            self.reported = (now, inbound.octets());
            inbound.take_arrivals(&mut self.arrivals);
            let numbers = in_a_row(&mut self.arrivals, &mut self.next_arrival, &mut self.epoch_ns);
            writer.transport_feedback(&mut self.arrivals_writer, &numbers, ARRIVALS_LEN_MAX);
        }
        if !out.is_empty() {
            send(&mut out);
        }
        if now >= self.report_at && !inbound.streams().is_empty() {
            self.report_at = now + REPORT_INTERVAL;
            let blocks: Vec<ReportBlock> = inbound.receptions(now).map(block).collect();
            let streams: Vec<Ssrc> = blocks.iter().map(|block| block.ssrc).collect();
            out.clear();
            let mut writer = RtcpWriter::receiver_report(&mut out, self.ssrc, &self.cname, &blocks);
            if inbound.reports_estimates() {
                writer.remb(ESTIMATE, &streams);
            }
            send(&mut out);
        }
    }

    /// Sends sender reports on a publishing transport, if they are due.
    pub fn report_sending(&mut self, now: Instant, publisher: &Publisher, transport: &mut Transport) {
        if now < self.report_at {
            return;
        }
        self.report_at = now + REPORT_INTERVAL;
        for (stream, last) in publisher.streams().filter(|(stream, _)| stream.next_number() > 0) {
            let info = SenderInfo {
                ntp: NtpTime::from_unix(Duration::from_nanos(last.wall_ns)),
                rtp: RtpTimestamp(last.timestamp),
                packets: stream.next_number() as u32,
                octets: stream.octets() as u32,
            };
            let mut out = Vec::new();
            RtcpWriter::sender_report(&mut out, Ssrc(stream.ssrc()), &self.cname, &info, &[]);
            transport.send_rtcp(&mut out);
        }
    }

    /// Handles decrypted RTCP: sender reports about received streams, requests about sent ones.
    pub fn handle(
        &mut self,
        now: Instant,
        compound: &[u8],
        inbound: &mut Inbound,
        publisher: &mut Publisher,
        transport: &mut Transport,
    ) {
        for packet in RtcpPacket::compound(compound).flatten() {
            match packet {
                RtcpPacket::SenderReport(report) => {
                    if let Some(stream) = inbound.stream_mut(report.sender.0) {
                        stream.last_report = Some((report.info.ntp.middle_32(), now));
                    }
                }
                RtcpPacket::Nack(nack) => {
                    self.counts.asked_by_server += nack.sequences().count() as u64;
                    publisher.send_again(nack.media.0, nack.sequences().map(|sequence| sequence.0), transport);
                }
                RtcpPacket::Pli(pli) => {
                    self.counts.key_frames_asked_by_server += 1;
                    publisher.request_key_frame(pli.media.0);
                }
                RtcpPacket::Fir(fir) => fir.entries().for_each(|entry| {
                    self.counts.key_frames_asked_by_server += 1;
                    publisher.request_key_frame(entry.media.0);
                }),
                _ => {}
            }
        }
    }
}

/// Time to the next transport-wide report of a client that received `octets` in `time`.
fn arrivals_interval(time: Duration, octets: u64) -> Duration {
    let [least, most] = ARRIVALS_INTERVAL;
    let share = octets as f64 * 8.0 / time.as_secs_f64().max(1e-3) * ARRIVALS_SHARE;
    Duration::from_secs_f64((ARRIVALS_BITS / share.max(1.0)).min(1.0)).clamp(least, most)
}

fn block(reception: Reception) -> ReportBlock {
    let (last, delay) = reception
        .last_report
        .map_or((0, 0), |(ntp, ago)| (ntp, delay_units(ago)));
    ReportBlock {
        ssrc: Ssrc(reception.ssrc),
        fraction_lost: reception.fraction_lost,
        cumulative_lost: reception.cumulative_lost,
        highest_sequence: reception.highest,
        jitter: reception.jitter,
        last_sender_report: last,
        delay_since_last_sender_report: delay,
    }
}

/// Arrivals as transport-wide feedback needs them: in the order of their numbers, with the missing
/// ones.
fn in_a_row(
    arrivals: &mut [(u16, u64)],
    next: &mut Option<u16>,
    epoch_ns: &mut Option<u64>,
) -> Vec<(u16, Option<ArrivalTicks>)> {
    let Some(&(first, first_ns)) = arrivals.first() else {
        return Vec::new();
    };
    // The epoch lies before every arrival, the reordered included.
    let epoch = *epoch_ns.get_or_insert(first_ns.saturating_sub(1_000_000_000));
    arrivals.sort_unstable_by_key(|(number, _)| number.wrapping_sub(first) as i16);
    let mut numbers = Vec::with_capacity(arrivals.len());
    for &mut (number, arrived_ns) in arrivals {
        let expected = next.unwrap_or(number);
        let ahead = number.wrapping_sub(expected) as i16;
        if ahead < 0 {
            continue; // Reported as missing already; libwebrtc does not correct itself either.
        }
        if ahead < ARRIVALS_GAP_MAX {
            numbers.extend((0..ahead as u16).map(|offset| (expected.wrapping_add(offset), None)));
        }
        let since_epoch = Duration::from_nanos(arrived_ns.saturating_sub(epoch));
        numbers.push((number, Some(ArrivalTicks::from_epoch(since_epoch))));
        *next = Some(number.wrapping_add(1));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_rates_report_arrivals_more_often() {
        let milliseconds = |bits: u64| arrivals_interval(Duration::from_secs(1), bits / 8).as_millis();
        assert_eq!([0, 10_000, 108_800, 5_000_000].map(milliseconds), [250, 250, 100, 50]);
    }

    #[test]
    fn arrivals_are_ordered_and_gaps_are_named() {
        let (mut next, mut epoch) = (None, None);
        let second = 1_000_000_000;
        let mut arrivals = [(65_535, second), (2, second + 2_000_000), (0, second + 1_000_000)];
        let row = in_a_row(&mut arrivals, &mut next, &mut epoch);
        let numbers: Vec<(u16, bool)> = row
            .iter()
            .map(|(number, arrival)| (*number, arrival.is_some()))
            .collect();
        assert_eq!(numbers, [(65_535, true), (0, true), (1, false), (2, true)]);
        assert_eq!(row[1].1.expect("arrived").distance_from(row[0].1.expect("arrived")), 4);
        let row = in_a_row(&mut [(1, second), (3, second)], &mut next, &mut epoch);
        assert_eq!(row.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [3]);
    }
}
