//! Sender reports to receivers, and receiver reports to publishers.
//!
//! They are sent once a second for each transport, spread over the second: the data plane is asked
//! for its counts, and a moment later the compounds are sent.
//!
//! Source: RFC 3550 section 6.4.

use std::time::Duration;

use dataplane::Inject;
use rand::Rng;
use southbound::{Notice, Observation, TransportId};
use wire::rtcp::{REPORT_BLOCKS_MAX, RtcpWriter};

use crate::context::Context;
use crate::media::Media;
use crate::timers::Timer;

/// Between two rounds of reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long the data plane has to answer at least.
const ANSWER: Duration = Duration::from_millis(20);

/// The largest compound, and the size of one more sender report with its name.
const COMPOUND_MAX: usize = 1_200;
const SENDER_REPORT_LEN: usize = 64;

impl Media {
    /// Reports begin on a transport, at a random offset so that those of many do not coincide.
    pub(in crate::media) fn start_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let offset = cx.shared.rng.random_range(0..INTERVAL.as_millis() as u64);
        cx.timer_by(Timer::Reports(transport), cx.now + Duration::from_millis(offset));
    }

    /// Asks the data plane for its numbers.
    pub(crate) fn ask_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(leg) = self.transports.leg(transport) else {
            return;
        };
        cx.plane.inject(cx.now, Inject::Report { leg });
        cx.routine_timer(Timer::ReportsReady(transport), cx.now + ANSWER);
        cx.routine_timer(Timer::Reports(transport), cx.now + INTERVAL);
    }

    /// Sends the reports of this round.
    pub(crate) fn send_reports(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(leg) = self.transports.leg(transport) else {
            return;
        };
        let blocks = self.uplink.receiver_blocks(cx.now, &mut self.transports, transport);
        let (downlink, env) = self.downlink();
        let senders = downlink.sender_reports(cx, &env, transport);
        self.pass_on_own_estimate(cx.now, transport);
        self.uplink.send_remb(cx, &self.transports, transport);
        let (downlink, mut env) = self.downlink();
        downlink.follow_losses(cx, &mut env, transport);
        let Some(known) = self.transports.get_mut(transport) else {
            return;
        };
        // Sender reports are no sign of life to a peer that does not know their streams yet.
        if known.is_direct() && blocks.is_empty() {
            let mut compound = Vec::new();
            known.compound(&mut compound, &[]);
            cx.send_rtcp(leg, &compound);
        }
        for blocks in blocks.chunks(REPORT_BLOCKS_MAX) {
            let mut compound = Vec::new();
            known.compound(&mut compound, blocks);
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
        self.budgets.report_estimate(cx, transport);
        for (direction, tally) in known.quality().take_losses() {
            cx.notice(Notice::Observation(Observation::Loss {
                transport,
                direction,
                expected: tally.expected,
                lost: tally.lost,
            }));
        }
        if let Some(quality) = known.end_of_round() {
            cx.notice(Notice::Quality { transport, quality });
        }
    }
}
