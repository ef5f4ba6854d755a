//! Sender reports on what receivers get, and receiver reports on what publishers send.
//!
//! Once a second for each transport, those of many spread over it: the data plane is asked for its numbers, and a moment later the compounds go out.
//!
//! Source: RFC 3550 section 6.4 and appendix A.3.

use std::time::{Duration, Instant};

use dataplane::{Inject, LegId, ReplicaId, ReplicaStatistics, StreamKey, StreamStatistics};
use rand::Rng;
use southbound::TransportId;
use wire::rtcp::{REPORT_BLOCKS_MAX, ReportBlock, RtcpWriter, SenderInfo, delay_units};
use wire::{NtpTime, RtpTimestamp, Ssrc, Unwrapper};

use crate::context::Context;
use crate::media::Media;
use crate::media::media_transport::MediaTransport;
use crate::media::rtcp::quality::Tally;
use crate::media::uplink::up_track::UpTrack;
use crate::timers::Timer;

/// Between two rounds of reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long the data plane has to answer at least.
const ANSWER: Duration = Duration::from_millis(20);

/// The largest compound, and what one more sender report with its name takes.
const COMPOUND_MAX: usize = 1_200;
const SENDER_REPORT_LEN: usize = 64;

/// What the data plane has answered in this round.
#[derive(Debug, Default)]
pub(in crate::media) struct Pending {
    streams: Vec<(StreamKey, StreamStatistics)>,
    replicas: Vec<(ReplicaId, ReplicaStatistics)>,
}

/// What a stream's last report said, and what has come since.
#[derive(Debug, Default)]
pub(in crate::media) struct ReceiverHistory {
    expected: u64,
    received: u64,
    arrivals: Unwrapper,
    first: Option<u64>,
    reported: u64,
    originals: u64,
}

impl ReceiverHistory {
    /// A packet came.
    pub(in crate::media) fn arrived(&mut self, sequence: u16, recovered: bool) {
        let number = self.arrivals.extend(sequence);
        if self.first.is_none() {
            self.first = Some(number);
            self.reported = number - 1;
        }
        self.originals += u64::from(!recovered);
    }

    /// What was expected and did not come, before repair, since the last call.
    fn take_tally(&mut self) -> Tally {
        let Some(highest) = self.arrivals.highest() else {
            return Tally::default();
        };
        let expected = highest - self.reported;
        let lost = expected.saturating_sub(self.originals);
        (self.reported, self.originals) = (highest, 0);
        Tally { expected, lost }
    }

    /// Loss since the last report, in 1/256.
    fn fraction_lost(&mut self, expected: u64, received: u64) -> u8 {
        let (new_expected, new_received) = (
            expected - self.expected.min(expected),
            received - self.received.min(received),
        );
        (self.expected, self.received) = (expected, received);
        let lost = new_expected.saturating_sub(new_received);
        if lost == 0 {
            0
        } else {
            (lost * 256 / new_expected).min(255) as u8
        }
    }
}

impl Media {
    /// Reports begin on a transport, at a moment of its own so that those of many do not coincide.
    pub(in crate::media) fn start_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let offset = cx.shared.rng.random_range(0..INTERVAL.as_millis() as u64);
        cx.timer_by(Timer::Reports(transport), cx.now + Duration::from_millis(offset));
    }

    /// Asks the data plane for its numbers.
    pub(crate) fn ask_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(leg) = self.peers.get(&transport).and_then(|peer| peer.leg) else {
            return;
        };
        cx.plane.inject(cx.now, Inject::Report { leg });
        cx.routine_timer(Timer::ReportsReady(transport), cx.now + ANSWER);
        cx.routine_timer(Timer::Reports(transport), cx.now + INTERVAL);
    }

    /// The data plane answered about a stream.
    pub(crate) fn stream_statistics(&mut self, key: StreamKey, statistics: StreamStatistics) {
        if let Some(peer) = self.peer_of(key.leg) {
            peer.pending.streams.push((key, statistics));
        }
    }

    /// The data plane answered about a replica.
    pub(crate) fn replica_statistics(&mut self, replica: ReplicaId, statistics: ReplicaStatistics) {
        let down_track = self.by_replica.get(&replica).and_then(|id| self.down_tracks.get(id));
        let Some(transport) = down_track.map(|down_track| down_track.subscription.transport) else {
            return;
        };
        if let Some(peer) = self.peers.get_mut(&transport) {
            peer.pending.replicas.push((replica, statistics));
        }
    }

    /// Sends the reports of this round.
    pub(crate) fn send_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let Some(leg) = peer.leg else { return };
        let pending = std::mem::take(&mut peer.pending);
        let blocks = self.receiver_blocks(cx.now, transport, &pending.streams);
        let senders = self.sender_reports(cx, &pending.replicas);
        self.count_sent(transport, &pending.replicas);
        self.measure_sent(cx.now, transport, &pending.replicas);
        self.pass_on_own_estimate(cx.now, transport);
        self.send_remb(cx, transport);
        self.follow_losses(cx, transport);
        let peer = &self.peers[&transport];
        for blocks in blocks.chunks(REPORT_BLOCKS_MAX) {
            let mut compound = Vec::new();
            RtcpWriter::receiver_report(&mut compound, peer.ssrc, &peer.cname, blocks);
            cx.send_rtcp(leg, &compound);
        }
        for senders in senders.chunks(COMPOUND_MAX / SENDER_REPORT_LEN) {
            let [(first, name, info), rest @ ..] = senders else {
                continue;
            };
            let mut compound = Vec::new();
            let mut writer = RtcpWriter::sender_report(&mut compound, *first, name, info, &[]);
            for (ssrc, name, info) in rest {
                writer.also_sender_report(*ssrc, name, info);
            }
            cx.send_rtcp(leg, &compound);
        }
        self.report_quality(cx, transport);
    }

    /// One block for each stream that has arrived.
    fn receiver_blocks(
        &mut self,
        now: Instant,
        transport: TransportId,
        streams: &[(StreamKey, StreamStatistics)],
    ) -> Vec<ReportBlock> {
        let mut blocks = Vec::new();
        for (key, statistics) in streams.iter().filter(|(_, statistics)| statistics.packets > 0) {
            let Some(up_track) = self.up_tracks.get_mut(key) else {
                continue;
            };
            if let Some(peer) = self.peers.get_mut(&transport) {
                peer.quality.measured_uplink(up_track.history.take_tally());
            }
            blocks.push(receiver_block(now, key.ssrc, up_track, statistics));
        }
        blocks
    }

    /// A report on each replica that is being sent: where its timestamps stand now, by our clock.
    fn sender_reports(
        &self,
        cx: &Context<'_>,
        replicas: &[(ReplicaId, ReplicaStatistics)],
    ) -> Vec<(Ssrc, String, SenderInfo)> {
        let now = cx.shared.clock.ntp(cx.now);
        let report = |(replica, statistics): &(ReplicaId, ReplicaStatistics)| {
            let down_track = self.down_tracks.get(self.by_replica.get(replica)?)?;
            let source = statistics.source.filter(|_| statistics.packets > 0)?;
            let up_track = self.up_tracks.get(&source)?;
            let publisher = self.peers.get(self.by_leg.get(&source.leg)?)?;
            let clock_rate = self
                .tracks
                .get(&up_track.track)?
                .publication
                .formats
                .first()?
                .codec
                .clock_rate();
            let timestamp = timestamp_at(now, publisher, up_track, clock_rate)?;
            let info = SenderInfo {
                ntp: now,
                rtp: timestamp.wrapping_add(statistics.timestamp_offset),
                packets: statistics.packets as u32,
                octets: statistics.octets as u32,
            };
            Some((down_track.subscription.ssrc, publisher.cname.clone(), info))
        };
        replicas.iter().filter_map(report).collect()
    }

    fn peer_of(&mut self, leg: LegId) -> Option<&mut MediaTransport> {
        self.peers.get_mut(self.by_leg.get(&leg)?).map(Box::as_mut)
    }
}

fn receiver_block(now: Instant, ssrc: Ssrc, up_track: &mut UpTrack, statistics: &StreamStatistics) -> ReportBlock {
    let expected = statistics.highest + 1 - statistics.first.min(statistics.highest);
    let cycles = (statistics.highest >> 16) - (statistics.first.min(statistics.highest) >> 16);
    let (last_sender_report, delay) = match up_track.reference {
        Some((ntp, _, at)) => (ntp.middle_32(), delay_units(now.saturating_duration_since(at))),
        None => (0, 0),
    };
    ReportBlock {
        ssrc,
        fraction_lost: up_track.history.fraction_lost(expected, statistics.packets),
        cumulative_lost: (expected as i64 - statistics.packets as i64).clamp(-0x80_0000, 0x7f_ffff) as i32,
        highest_sequence: ((cycles as u32) << 16) | (statistics.highest as u32 & 0xffff),
        jitter: statistics.jitter,
        last_sender_report,
        delay_since_last_sender_report: delay,
    }
}

/// Where a source's timestamps stand when our clock says `now`: its newest sender report, carried on.
fn timestamp_at(now: NtpTime, publisher: &MediaTransport, up_track: &UpTrack, clock_rate: u32) -> Option<RtpTimestamp> {
    let (ntp, rtp, _) = up_track.reference?;
    let at_publisher = now.0.wrapping_sub(publisher.clock_offset? as u64);
    let elapsed = i128::from(at_publisher.wrapping_sub(ntp.0) as i64);
    Some(rtp.wrapping_add(((elapsed * i128::from(clock_rate)) >> 32) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fraction_lost_is_of_the_last_interval_only() {
        let mut history = ReceiverHistory::default();
        assert_eq!(history.fraction_lost(100, 75), 64);
        assert_eq!(history.fraction_lost(200, 175), 0);
        assert_eq!(history.fraction_lost(210, 175), 255);
        assert_eq!(history.fraction_lost(210, 180), 0, "repaired later");
    }

    #[test]
    fn loss_before_repair_does_not_see_retransmissions() {
        let mut history = ReceiverHistory::default();
        for sequence in [10, 11, 13, 14] {
            history.arrived(sequence, false);
        }
        history.arrived(12, true);
        let tally = history.take_tally();
        assert_eq!((tally.expected, tally.lost), (5, 1));
        assert_eq!(history.take_tally().expected, 0);
    }
}
