//! Another estimator for comparison: the GCC of `rtc-interceptor`, a translation of Pion's.
//!
//! It takes reports matched with sent packets, so our history matches them. It has no probes, no
//! start-up and no notion of an application that sends little, and its loss half is the rule of the
//! 2016 draft.

use std::time::{Duration, Instant};

use bandwidth::{Anomalies, Config, Estimate, Estimator, Fate, History, Limit, Probe, Sent, Usage};
use rtc_interceptor::{Acknowledgement, BandwidthEstimator, Gcc, PacketReport};
use wire::rtcp::ArrivalTicks;

/// `rtc_interceptor::Gcc` behind our trait.
pub struct RtcInterceptor {
    gcc: Gcc,
    history: History,
    /// When the first packet left, which the history counts from.
    start: Option<Instant>,
}

impl RtcInterceptor {
    /// With the same bounds as ours.
    pub fn new(config: Config) -> Self {
        Self {
            gcc: Gcc::new(config.start as f64, config.min as f64, config.max as f64),
            history: History::default(),
            start: None,
        }
    }
}

impl Estimator for RtcInterceptor {
    fn sent(&mut self, packets: &[Sent]) {
        for packet in packets {
            self.start.get_or_insert(packet.at);
            self.history.sent(*packet);
        }
    }

    fn feedback(&mut self, now: Instant, report: &mut dyn Iterator<Item = (u16, Option<ArrivalTicks>)>) {
        let mut fates = Vec::new();
        self.history.resolve(report, &mut fates);
        let start = self.start.unwrap_or(now);
        let reports: Vec<_> = fates.iter().map(|fate| packet_report(start, fate)).collect();
        self.gcc.on_reports(now, &reports);
    }

    fn remb(&mut self, _now: Instant, _bits_per_second: u64) {}

    fn wanted(&mut self, _bits_per_second: u64) {}

    fn held_back(&mut self, _is_held_back: bool) {}

    fn timeout(&mut self, now: Instant) {
        self.gcc.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.gcc.poll_timeout()
    }

    fn poll_probe(&mut self) -> Option<Probe> {
        None
    }

    fn estimate(&self) -> Estimate {
        let target = self.gcc.target_bitrate() as u64;
        Estimate {
            target,
            sendable: target,
            limit: Limit::Delay,
            usage: Usage::Normal,
            acknowledged: None,
            loss: self.gcc.stats().packet_loss.unwrap_or(0.0),
            round_trip: None,
            queue: Duration::ZERO,
            burst: None,
            application_limited: false,
        }
    }

    fn anomalies(&self) -> Anomalies {
        self.history.anomalies()
    }
}

fn packet_report(start: Instant, fate: &Fate) -> PacketReport {
    PacketReport {
        ssrc: 1,
        id: fate.number,
        rtp_sequence_number: fate.number as u16,
        is_twcc: true,
        twcc_sequence_number: fate.number as u16,
        size: usize::from(fate.size),
        arrived: fate.arrival.is_some(),
        departure: start + Duration::from_micros(fate.sent as u64),
        arrival: fate.arrival.map(|arrival| Duration::from_micros(arrival as u64)),
        // Transport-wide feedback has no ECN.
        ecn: Acknowledgement::lost(0).ecn,
    }
}
