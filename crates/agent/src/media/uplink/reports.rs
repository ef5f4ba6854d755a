//! Receiver reports to publishers, and the timestamps of streams for the sender reports of their
//! copies.
//!
//! Source: RFC 3550 section 6.4.

use std::time::Instant;

use dataplane::{LegId, StreamKey, StreamStatistics, Update};
use southbound::TransportId;
use wire::rtcp::{ReportBlock, SenderReport, delay_units};
use wire::{NtpTime, RtpTimestamp, Ssrc};

use super::Uplink;
use super::up_track::UpTrack;
use crate::config::Feedback;
use crate::context::Context;
use crate::counters::Counter;
use crate::media::media_transport::MediaTransports;

impl Uplink {
    /// The data plane answered about a stream.
    pub(in crate::media) fn stream_statistics(
        &mut self,
        transports: &MediaTransports,
        key: StreamKey,
        statistics: StreamStatistics,
    ) {
        let publisher = transports.with_leg(key.leg);
        if let Some(publisher) = publisher.and_then(|transport| self.publishers.get_mut(&transport)) {
            publisher.pending.push((key, statistics));
        }
    }

    /// Records one instant in both of a publisher's clocks: receivers need it to synchronise audio
    /// and video, and the data plane to switch between encodings.
    pub(in crate::media) fn sender_report(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        transport: TransportId,
        leg: LegId,
        report: &SenderReport<'_>,
    ) {
        let key = StreamKey {
            leg,
            ssrc: report.sender,
        };
        let Some(stream) = self.streams.get_mut(&key) else {
            cx.count(Counter::RtcpNotTheirs);
            return;
        };
        // A sender without a wall clock says zero (RFC 3550 section 6.4.1).
        if report.info.ntp.0 == 0 {
            return;
        }
        stream.reference = Some((report.info.ntp, report.info.rtp, at));
        let (track, encoding) = (stream.track, stream.encoding);
        if let Some(publisher) = self.publishers.get_mut(&transport) {
            publisher.compared_clocks(report.info.ntp, cx.shared.clock.ntp(at));
        }
        let entry = self.tracks[&track].stream(encoding, Some((report.info.ntp, report.info.rtp)));
        cx.write(Update::SetStream(key, entry));
    }

    /// Takes the report of this round: one block for each stream that has arrived.
    pub(in crate::media) fn receiver_blocks(
        &mut self,
        now: Instant,
        transports: &mut MediaTransports,
        transport: TransportId,
    ) -> Vec<ReportBlock> {
        let (Some(publisher), Some(known)) = (self.publishers.get_mut(&transport), transports.get_mut(transport))
        else {
            return Vec::new();
        };
        let pending = std::mem::take(&mut publisher.pending);
        let mut blocks = Vec::new();
        for (key, statistics) in pending.iter().filter(|(_, statistics)| statistics.packets > 0) {
            let Some(stream) = self.streams.get_mut(key) else {
                continue;
            };
            known.quality().measured_uplink(stream.history.take_tally());
            blocks.push(receiver_block(now, key.ssrc, stream, statistics));
        }
        blocks
    }

    /// Records the rate that a receiver can take of a publisher's streams, if that publisher is
    /// sent REMB, and whether the receiver's own report says so.
    pub(in crate::media) fn receiver_takes(
        &mut self,
        now: Instant,
        transports: &MediaTransports,
        publisher: TransportId,
        receiver: TransportId,
        (rate, is_whole): (u64, bool),
    ) {
        let is_clear = transports.is_clear(publisher);
        if let Some(publisher) = self
            .publishers
            .get_mut(&publisher)
            .filter(|known| is_clear && !known.is_reported)
        {
            publisher.remb_out.said(now, receiver, rate, is_whole);
        }
    }

    /// Tells a publisher the estimate of its best receiver, if there is one: by a message, or by
    /// having a device forward that receiver's.
    pub(in crate::media) fn send_remb(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        transport: TransportId,
    ) {
        let (Some(publisher), Some(known)) = (self.publishers.get_mut(&transport), transports.get(transport)) else {
            return;
        };
        if !known.is_clear() || publisher.is_reported {
            return;
        }
        let tracks = publisher.tracks.iter().filter_map(|track| self.tracks.get(track));
        let is_simulcast = tracks.clone().any(|track| track.encodings.len() > 1);
        let best = publisher.remb_out.best(cx.now).filter(|_| !is_simulcast);
        let Some(leg) = known.leg() else { return };
        let whole = best.filter(|best| best.is_whole && is_proxied(cx));
        let heard = whole.and_then(|best| transports.get(best.receiver)?.leg());
        if follow_best(cx, leg, &mut publisher.heard, heard) {
            return;
        }
        let Some(best) = best else { return };
        let encodings = tracks.flat_map(|track| &track.encodings);
        let sources: Vec<Ssrc> = encodings.filter_map(|encoding| Some(encoding.stream?.ssrc)).collect();
        let mut compound = Vec::new();
        known.compound(&mut compound, &[]).remb(best.rate, &sources);
        cx.send_rtcp(leg, &compound);
    }

    /// A stream's RTP timestamp at the time `now` of our clock, extrapolated from its newest sender
    /// report.
    pub(in crate::media) fn timestamp_at(
        &self,
        transports: &MediaTransports,
        now: NtpTime,
        key: StreamKey,
    ) -> Option<RtpTimestamp> {
        let stream = self.streams.get(&key)?;
        let publisher = self.publishers.get(&transports.with_leg(key.leg)?)?;
        let format = self.tracks.get(&stream.track)?.publication.formats.first()?;
        let (ntp, rtp, _) = stream.reference?;
        let at_publisher = now.0.wrapping_sub(publisher.clock_offset? as u64);
        let elapsed = i128::from(at_publisher.wrapping_sub(ntp.0) as i64);
        let clock_rate = i128::from(format.codec.clock_rate());
        Some(rtp.wrapping_add(((elapsed * clock_rate) >> 32) as u32))
    }
}

/// Whether a device forwards estimates.
fn is_proxied(cx: &Context<'_>) -> bool {
    cx.shared.config.feedback == Feedback::Proxied && cx.plane.capabilities().forwards_rtcp
}

/// Has a device forward the estimates from this leg to the publisher's, and no longer those from
/// the one before. Returns whether it does.
fn follow_best(cx: &mut Context<'_>, publisher: LegId, before: &mut Option<LegId>, best: Option<LegId>) -> bool {
    if *before != best {
        if let Some(other) = before.take() {
            // If that leg is gone, so is the entry.
            let _ = cx.plane.write(cx.now, Update::SetFeedback(other, None));
        }
        let entry = |leg| Update::SetFeedback(leg, Some(publisher));
        *before = best.filter(|leg| cx.try_write(entry(*leg)).is_ok());
    }
    before.is_some()
}

fn receiver_block(now: Instant, ssrc: Ssrc, stream: &mut UpTrack, statistics: &StreamStatistics) -> ReportBlock {
    let expected = statistics.highest + 1 - statistics.first.min(statistics.highest);
    let cycles = (statistics.highest >> 16) - (statistics.first.min(statistics.highest) >> 16);
    let (last_sender_report, delay) = match stream.reference {
        Some((ntp, _, at)) => (ntp.middle_32(), delay_units(now.saturating_duration_since(at))),
        None => (0, 0),
    };
    ReportBlock {
        ssrc,
        fraction_lost: stream.history.fraction_lost(expected, statistics.packets),
        cumulative_lost: (expected as i64 - statistics.packets as i64).clamp(-0x80_0000, 0x7f_ffff) as i32,
        highest_sequence: ((cycles as u32) << 16) | (statistics.highest as u32 & 0xffff),
        jitter: statistics.jitter,
        last_sender_report,
        delay_since_last_sender_report: delay,
    }
}
