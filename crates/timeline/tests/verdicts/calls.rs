//! Calls of Ben, who gets the camera of Ada.

use operator::observation::{Direction, PathProtocol, SwitchCause, TrackSource, TransportState};
use operator::receivers::{Limit, MediaKind, Target, Usage};
use operator::{Observation, Timeline, TimelineTrack};
use timeline::{Cause, Finding, Ring, Severity, Verdict, verdict};

/// When the calls begin. Shape: milliseconds since the Unix epoch.
pub(crate) const START_MS: u64 = 1_750_000_000_000;

/// A call, second by second.
pub(crate) struct Call {
    pub(crate) ring: Ring,
    pub(crate) has_left: bool,
    second: u64,
}

impl Call {
    /// Ben has joined and media has connected. His downlink carries everything.
    pub(crate) fn new() -> Self {
        let mut call = Call::joining();
        call.connect();
        call.pass(10);
        call
    }

    /// Ben has joined, and nothing else.
    pub(crate) fn joining() -> Self {
        let mut call = Call {
            ring: Ring::default(),
            has_left: false,
            second: 0,
        };
        call.note(Observation::Join);
        call
    }

    pub(crate) fn connect(&mut self) {
        self.path("203.0.113.7:40000", PathProtocol::Udp);
        self.transport(TransportState::Connected);
        self.see(Observation::Subscribe);
        self.switch(None, 2, SwitchCause::Start);
        self.estimate(4_000_000, Limit::Delay, 0);
    }

    /// Time passes, in seconds.
    pub(crate) fn pass(&mut self, seconds: u64) {
        self.second += seconds;
    }

    /// The time of the next observation.
    pub(crate) fn now_ms(&self) -> u64 {
        START_MS + self.second * 1_000
    }

    pub(crate) fn note(&mut self, observation: Observation) {
        self.ring.record(self.now_ms(), None, observation);
    }

    /// Records an observation of Ada's camera.
    pub(crate) fn see(&mut self, observation: Observation) {
        self.ring
            .record(self.now_ms(), Some(&camera("TR_ada", "ada")), observation);
    }

    /// Records an observation of Ben's camera.
    pub(crate) fn own(&mut self, observation: Observation) {
        self.ring
            .record(self.now_ms(), Some(&camera("TR_ben", "ben")), observation);
    }

    pub(crate) fn switch(&mut self, from: Option<u8>, to: u8, cause: SwitchCause) {
        let from = from.map(target);
        self.see(Observation::LayerSwitch {
            from,
            to: target(to),
            cause,
        });
    }

    pub(crate) fn estimate(&mut self, target_bps: u32, limit: Limit, loss_permille: u16) {
        self.note(Observation::Estimate {
            target_bps,
            allocated_bps: target_bps.min(1_700_000),
            wanted_bps: 1_700_000,
            limit,
            usage: Usage::Normal,
            loss_permille,
            round_trip_ms: Some(40),
            queue_ms: 3,
        });
    }

    /// A second with losses.
    pub(crate) fn lose(&mut self, direction: Direction, expected: u32, lost: u32) {
        self.note(Observation::Loss {
            direction,
            expected,
            lost,
        });
        self.pass(1);
    }

    pub(crate) fn transport(&mut self, state: TransportState) {
        let direction = Direction::Downlink;
        self.note(Observation::Transport { direction, state });
    }

    pub(crate) fn path(&mut self, remote: &str, protocol: PathProtocol) {
        let remote = remote.parse().unwrap();
        self.note(Observation::Path { remote, protocol });
    }

    /// The verdict about all of it.
    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict_since(0)
    }

    pub(crate) fn verdict_since(&self, since_ms: u64) -> Verdict {
        let timeline = Timeline {
            room: "lobby".to_owned(),
            participant: "ben".to_owned(),
            has_left: self.has_left,
            overwritten: self.ring.overwritten(),
            entries: self.ring.entries(0).collect(),
        };
        verdict(&timeline, since_ms, self.now_ms())
    }

    /// The faults, and nothing else.
    pub(crate) fn faults(&self) -> Vec<Finding> {
        let mut findings = self.verdict().findings;
        findings.retain(|finding| finding.severity == Severity::Fault);
        findings
    }

    /// The one fault: its cause, its seconds since the beginning, and its text.
    pub(crate) fn fault(&self) -> (Cause, (u64, u64), String) {
        let faults = self.faults();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        only(&faults[0])
    }

    /// The one finding that is no fault.
    pub(crate) fn only_note(&self) -> (Cause, (u64, u64), String) {
        let findings = self.verdict().findings;
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(findings[0].severity, Severity::Info, "{findings:#?}");
        only(&findings[0])
    }
}

fn only(finding: &Finding) -> (Cause, (u64, u64), String) {
    let second = |at: u64| at.saturating_sub(START_MS) / 1_000;
    let span = (second(finding.from_ms), second(finding.to_ms));
    (finding.cause, span, finding.text.clone())
}

pub(crate) fn camera(id: &str, peer: &str) -> TimelineTrack {
    TimelineTrack {
        id: id.to_owned(),
        peer: peer.to_owned(),
        kind: MediaKind::Video,
        source: TrackSource::Camera,
    }
}

pub(crate) fn target(encoding: u8) -> Target {
    Target {
        encoding,
        spatial: Some(0),
        temporal: Some(2),
    }
}
