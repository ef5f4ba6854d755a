//! A transport as media sees it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use allocation::LastN;
use dataplane::LegId;
use rand::Rng;
use rand::rngs::StdRng;
use southbound::{SubscriptionId, TrackId};
use wire::{NtpTime, Ssrc};

use crate::limits::RTCP_PER_SECOND_MAX;
use crate::map::Map;
use crate::media::budget::Budget;
use crate::media::downlink::deferred_rtx::DeferredRtx;
use crate::media::downlink::playout::Playout;
use crate::media::downlink::rtx::{Copies, together};
use crate::media::rate_limit::RateLimit;
use crate::media::rtcp::quality::Quality;
use crate::media::rtcp::reports::Pending;
use crate::media::uplink::binding::UnmappedStream;
use crate::media::uplink::feedback::Feedback;
use crate::media::uplink::remb_out::RembOut;

/// What flows over one transport, in both directions.
pub(in crate::media) struct MediaTransport {
    pub(in crate::media) leg: Option<LegId>,
    /// Whether packets can be sent there yet.
    pub(in crate::media) keyed: bool,
    /// Who we are in RTCP that is about nobody's stream in particular.
    pub(in crate::media) ssrc: Ssrc,
    /// The name under which all of this peer's streams go to others, so that receivers play its sound and picture together (RFC 7022).
    pub(in crate::media) cname: String,
    pub(in crate::media) tracks: BTreeSet<TrackId>,
    pub(in crate::media) subscriptions: BTreeSet<SubscriptionId>,
    /// The subscription each SSRC we send here belongs to.
    pub(in crate::media) by_ssrc: Map<Ssrc, SubscriptionId>,
    /// Streams that arrive and that no publication explains yet; oldest first.
    pub(in crate::media) unmapped: VecDeque<UnmappedStream>,
    pub(in crate::media) feedback: Feedback,
    pub(in crate::media) pending: Pending,
    pub(in crate::media) quality: Quality,
    /// What it loses, and how long it is to hold pictures back for that.
    pub(in crate::media) playout: Playout,
    /// What is to be sent to it once more.
    pub(in crate::media) copies: Copies,
    /// What it is to have sent again once the path has room.
    pub(in crate::media) deferred_rtx: DeferredRtx,
    /// What it had sent again while its path was full.
    pub(in crate::media) rtx_limit: RateLimit,
    /// Smoothed round-trip time, once receiver reports have told.
    reported_round_trip: Option<Duration>,
    /// The same by what it sent again because we asked, which is all a publisher tells that receives nothing.
    rtx_round_trip: Option<Duration>,
    /// Whether what we send carries transport-wide numbers, which a receiver reports on.
    pub(in crate::media) numbered: bool,
    /// Whether what it sends does, which we report on.
    pub(in crate::media) reported: bool,
    /// What its receivers estimate, where it is told.
    pub(in crate::media) remb_out: RembOut,
    /// Whether nothing is encrypted.
    pub(in crate::media) clear: bool,
    /// Whether it estimates by itself and says so.
    pub(in crate::media) estimates: bool,
    /// How much RTCP is read of it.
    pub(in crate::media) rtcp: RateLimit,
    /// What its downlink carries, where that can be known.
    pub(in crate::media) budget: Option<Budget>,
    /// Which videos it is shown, where that is limited.
    pub(in crate::media) shown: Option<LastN>,
    /// What is added to the peer's wall clock to get ours, by its fastest sender reports. One for all its streams, so that they stay in step.
    pub(in crate::media) clock_offset: Option<i64>,
}

impl MediaTransport {
    pub(in crate::media) fn new(rng: &mut StdRng) -> Self {
        MediaTransport {
            leg: None,
            keyed: false,
            ssrc: Ssrc(rng.random_range(1..=u32::MAX)),
            cname: format!("{:016x}", rng.random::<u64>()),
            tracks: BTreeSet::new(),
            subscriptions: BTreeSet::new(),
            by_ssrc: Map::default(),
            unmapped: VecDeque::new(),
            feedback: Feedback::default(),
            pending: Pending::default(),
            quality: Quality::default(),
            playout: Playout::default(),
            copies: Copies::default(),
            deferred_rtx: DeferredRtx::default(),
            rtx_limit: together(),
            reported_round_trip: None,
            rtx_round_trip: None,
            numbered: false,
            reported: false,
            remb_out: RembOut::default(),
            clear: false,
            rtcp: RateLimit::new(RTCP_PER_SECOND_MAX, Duration::from_secs(1)),
            estimates: false,
            budget: None,
            shown: None,
            clock_offset: None,
        }
    }

    /// A receiver report measured the way to the peer and back.
    pub(in crate::media) fn measured(&mut self, round_trip: Duration) {
        smooth(&mut self.reported_round_trip, round_trip);
    }

    /// A packet that was asked for once came so long after that.
    pub(in crate::media) fn measured_by_rtx(&mut self, round_trip: Duration) {
        smooth(&mut self.rtx_round_trip, round_trip);
    }

    /// Smoothed round-trip time, once anything has told.
    pub(in crate::media) fn round_trip(&self) -> Option<Duration> {
        let estimated = self.budget.as_ref().and_then(|budget| budget.estimate().round_trip);
        estimated.or(self.reported_round_trip).or(self.rtx_round_trip)
    }

    /// The shortest of the round-trip times that are known: each of them may contain time the peer took to answer.
    pub(in crate::media) fn least_round_trip(&self) -> Option<Duration> {
        let estimated = self.budget.as_ref().and_then(|budget| budget.estimate().round_trip);
        let known = [estimated, self.reported_round_trip, self.rtx_round_trip];
        known.into_iter().flatten().min()
    }

    /// A sender report written at `sent` by the peer's clock arrived at `arrived` by ours. The fastest one is nearest to the truth;
    /// slower ones pull only a little, enough to follow two clocks that drift apart.
    pub(in crate::media) fn compared_clocks(&mut self, sent: NtpTime, arrived: NtpTime) {
        let sample = arrived.0.wrapping_sub(sent.0) as i64;
        self.clock_offset = Some(match self.clock_offset {
            Some(offset) if sample > offset => offset.saturating_add(sample.saturating_sub(offset) / 64),
            _ => sample,
        });
    }
}

fn smooth(smoothed: &mut Option<Duration>, sample: Duration) {
    *smoothed = Some(smoothed.map_or(sample, |before| (before * 7 + sample) / 8));
}
