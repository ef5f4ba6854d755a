//! A transport, as far as both directions of its media share it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dataplane::LegId;
use rand::Rng;
use rand::rngs::StdRng;
use southbound::{TransportId, TransportQuality};
use wire::Ssrc;
use wire::rtcp::{ReportBlock, RtcpWriter};

use crate::limits::RTCP_PER_SECOND_MAX;
use crate::map::Map;
use crate::media::quality::Quality;
use crate::media::rate_limit::RateLimit;
use crate::transports::MediaParameters;

/// All transports, by id and by leg. Large values are boxed: the leaves of a tree that is filled in
/// order stay half empty.
#[derive(Default)]
pub(in crate::media) struct MediaTransports {
    all: BTreeMap<TransportId, Box<MediaTransport>>,
    by_leg: Map<LegId, TransportId>,
}

/// State that media keeps for one transport, for both directions.
pub(in crate::media) struct MediaTransport {
    leg: Option<LegId>,
    is_keyed: bool,
    ssrc: Ssrc,
    cname: String,
    is_clear: bool,
    is_direct: bool,
    quality: Quality,
    /// Smoothed round-trip time of the congestion control, where there is one.
    estimated_round_trip: Option<Duration>,
    /// Smoothed round-trip time, once receiver reports show it.
    reported_round_trip: Option<Duration>,
    /// The same by requested retransmissions, the only measurement of a publisher that receives
    /// nothing.
    rtx_round_trip: Option<Duration>,
    rtcp: RateLimit,
}

impl MediaTransports {
    /// Adds a transport; a repeated call has no effect.
    pub(in crate::media) fn open(&mut self, rng: &mut StdRng, transport: TransportId) {
        self.all
            .entry(transport)
            .or_insert_with(|| Box::new(MediaTransport::new(rng)));
    }

    /// Removes a transport.
    pub(in crate::media) fn close(&mut self, transport: TransportId) {
        let closed = self.all.remove(&transport);
        closed
            .and_then(|closed| closed.leg)
            .and_then(|leg| self.by_leg.remove(&leg));
    }

    /// Notes the leg of a transport. Returns whether the transport is known.
    pub(in crate::media) fn leg_added(&mut self, transport: TransportId, leg: LegId) -> bool {
        let Some(known) = self.all.get_mut(&transport) else {
            return false;
        };
        known.leg = Some(leg);
        self.by_leg.insert(leg, transport);
        true
    }

    pub(in crate::media) fn get(&self, transport: TransportId) -> Option<&MediaTransport> {
        self.all.get(&transport).map(Box::as_ref)
    }

    pub(in crate::media) fn get_mut(&mut self, transport: TransportId) -> Option<&mut MediaTransport> {
        self.all.get_mut(&transport).map(Box::as_mut)
    }

    /// The transport that has this leg.
    pub(in crate::media) fn with_leg(&self, leg: LegId) -> Option<TransportId> {
        self.by_leg.get(&leg).copied()
    }

    pub(in crate::media) fn by_leg(&self, leg: LegId) -> Option<&MediaTransport> {
        self.get(self.with_leg(leg)?)
    }

    pub(in crate::media) fn leg(&self, transport: TransportId) -> Option<LegId> {
        self.get(transport)?.leg
    }

    pub(in crate::media) fn is_clear(&self, transport: TransportId) -> bool {
        self.get(transport).is_some_and(|known| known.is_clear)
    }

    pub(in crate::media) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.by_leg.is_empty()
    }
}

impl MediaTransport {
    fn new(rng: &mut StdRng) -> Self {
        MediaTransport {
            leg: None,
            is_keyed: false,
            ssrc: Ssrc(rng.random_range(1..=u32::MAX)),
            cname: format!("{:016x}", rng.random::<u64>()),
            is_clear: false,
            is_direct: false,
            quality: Quality::default(),
            estimated_round_trip: None,
            reported_round_trip: None,
            rtx_round_trip: None,
            rtcp: RateLimit::new(RTCP_PER_SECOND_MAX, Duration::from_secs(1)),
        }
    }

    pub(in crate::media) fn leg(&self) -> Option<LegId> {
        self.leg
    }

    /// Whether packets can be sent there yet.
    pub(in crate::media) fn is_keyed(&self) -> bool {
        self.is_keyed
    }

    pub(in crate::media) fn keyed(&mut self) {
        self.is_keyed = true;
    }

    /// Records whether media is unencrypted, and, where the peer is at a known address, the SSRC
    /// that the controller chose.
    pub(in crate::media) fn described(&mut self, parameters: &MediaParameters) {
        self.is_clear = parameters.is_clear;
        self.is_direct = parameters.rtcp_ssrc.is_some();
        self.ssrc = parameters.rtcp_ssrc.unwrap_or(self.ssrc);
    }

    /// Whether the peer is at a known address: nothing but packets tells it that we are here.
    pub(in crate::media) fn is_direct(&self) -> bool {
        self.is_direct
    }

    pub(in crate::media) fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// The SSRC of RTCP that is about no stream in particular.
    pub(in crate::media) fn ssrc(&self) -> Ssrc {
        self.ssrc
    }

    /// The CNAME of all forwarded streams of this peer, so that receivers synchronise its audio and
    /// video (RFC 7022).
    pub(in crate::media) fn cname(&self) -> &str {
        &self.cname
    }

    /// Begins a compound packet: RTCP has a report and a name in front (RFC 3550 section 6.1).
    pub(in crate::media) fn compound<'a>(&self, out: &'a mut Vec<u8>, blocks: &[ReportBlock]) -> RtcpWriter<'a> {
        RtcpWriter::receiver_report(out, self.ssrc, &self.cname, blocks)
    }

    /// Whether RTCP of this cost is read now.
    pub(in crate::media) fn admit_rtcp(&mut self, now: Instant, cost: u32) -> bool {
        self.rtcp.admit(now, cost)
    }

    pub(in crate::media) fn quality(&mut self) -> &mut Quality {
        &mut self.quality
    }

    /// Ends a round of reports. Returns a summary after every few of them, unless no packet was
    /// expected.
    pub(in crate::media) fn end_of_round(&mut self) -> Option<TransportQuality> {
        let round_trip = self.round_trip();
        self.quality.end_of_round(round_trip)
    }

    /// Records the round-trip time of the congestion control.
    pub(in crate::media) fn estimated(&mut self, round_trip: Option<Duration>) {
        self.estimated_round_trip = round_trip;
    }

    /// Notes a round-trip time that a receiver report measured.
    pub(in crate::media) fn measured(&mut self, round_trip: Duration) {
        smooth(&mut self.reported_round_trip, round_trip);
    }

    /// Records the time after which a packet arrived that was asked for once.
    pub(in crate::media) fn measured_by_rtx(&mut self, round_trip: Duration) {
        smooth(&mut self.rtx_round_trip, round_trip);
    }

    /// Smoothed round-trip time, once anything has measured it.
    pub(in crate::media) fn round_trip(&self) -> Option<Duration> {
        self.estimated_round_trip
            .or(self.reported_round_trip)
            .or(self.rtx_round_trip)
    }

    /// The shortest of the round-trip times that are known: each of them may contain time the peer
    /// took to answer.
    pub(in crate::media) fn least_round_trip(&self) -> Option<Duration> {
        let known = [self.estimated_round_trip, self.reported_round_trip, self.rtx_round_trip];
        known.into_iter().flatten().min()
    }
}

fn smooth(smoothed: &mut Option<Duration>, sample: Duration) {
    *smoothed = Some(smoothed.map_or(sample, |before| (before * 7 + sample) / 8));
}
