//! The capacity of each receiver's downlink and its division.

mod division;
mod downlink_budget;
mod estimate_reports;
mod remb_in;
mod screen_start;

use std::collections::BTreeMap;
use std::time::Instant;

use allocation::{Key, LastN, VideoSlot};
use dataplane::{Departure, Inject, LegId, Update};
use southbound::{Notice, Observation, TransportId};

use crate::context::Context;
use crate::counters::Counter;
use crate::media::observer::Observer;
use crate::timers::Timer;
pub(in crate::media) use downlink_budget::{Budget, Path, Share};
use estimate_reports::EstimateReports;

/// The budgets of all receivers.
#[derive(Default)]
pub(in crate::media) struct Budgets(BTreeMap<TransportId, Box<Receiver>>);

#[derive(Default)]
struct Receiver {
    /// Whether our packets carry transport-wide sequence numbers, which a receiver reports on.
    is_numbered: bool,
    /// Whether it sends its own estimate (REMB).
    has_remb: bool,
    /// The rate that is divided at most. Shape: bits per second.
    limit: Option<u64>,
    /// The budget of its downlink, if that can be measured.
    budget: Option<Budget>,
    /// Which videos it is shown, where that is limited.
    shown: Option<LastN>,
    /// Reports its probes.
    probes: Observer,
    /// Reports its estimate to timelines.
    estimates: EstimateReports,
}

/// Conclusions from the newest estimate of a downlink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::media) struct Belief {
    /// More is allocated than may be sent.
    pub(in crate::media) is_exceeded: bool,
    /// A queue is gone that packets waited in.
    pub(in crate::media) has_drained: bool,
}

impl Budgets {
    /// Adds a transport; a repeated call has no effect.
    pub(in crate::media) fn open(&mut self, transport: TransportId) {
        self.0.entry(transport).or_default();
    }

    /// Removes a transport.
    pub(in crate::media) fn close(&mut self, transport: TransportId) {
        self.0.remove(&transport);
    }

    /// Records whether packets to a transport carry transport-wide sequence numbers.
    pub(in crate::media) fn described(&mut self, transport: TransportId, is_numbered: bool) {
        if let Some(known) = self.0.get_mut(&transport) {
            known.is_numbered = is_numbered;
        }
    }

    /// The budget of a receiver, where one is kept.
    pub(in crate::media) fn get(&self, transport: TransportId) -> Option<&Budget> {
        self.0.get(&transport)?.budget.as_ref()
    }

    pub(in crate::media) fn get_mut(&mut self, transport: TransportId) -> Option<&mut Budget> {
        self.0.get_mut(&transport)?.budget.as_mut()
    }

    /// Whether packets wait for long in a receiver's path.
    pub(in crate::media) fn is_congested(&self, transport: TransportId) -> bool {
        self.get(transport).is_some_and(Budget::is_congested)
    }

    /// Whether a receiver without a budget could have one.
    pub(in crate::media) fn may_begin(&self, cx: &Context<'_>, transport: TransportId) -> bool {
        let known = self.0.get(&transport);
        let is_possible = |known: &Receiver| known.budget.is_none() && (known.is_numbered || known.has_remb);
        cx.shared.config.adaptation && known.is_some_and(|known| is_possible(known))
    }

    /// Begins to keep a budget.
    pub(in crate::media) fn begin(&mut self, cx: &Context<'_>, transport: TransportId) {
        if let Some(known) = self.0.get_mut(&transport) {
            known.budget = Some(Budget::new(cx.shared.config.policy, known.limit));
        }
    }

    /// Sets the rate that is divided at most.
    pub(in crate::media) fn set_limit(&mut self, transport: TransportId, limit: Option<u64>) {
        if let Some(known) = self.0.get_mut(&transport) {
            known.limit = limit;
            if let Some(budget) = &mut known.budget {
                budget.set_limit(limit);
            }
        }
    }

    /// A receiver sent its own estimate.
    pub(in crate::media) fn has_remb(&mut self, transport: TransportId) {
        if let Some(known) = self.0.get_mut(&transport) {
            known.has_remb = true;
        }
    }

    /// A receiver's downlink is to be divided again at `at` or before.
    pub(in crate::media) fn allocate_by(&self, cx: &mut Context<'_>, transport: TransportId, at: Instant) {
        if self.get(transport).is_some() {
            cx.timer_by(Timer::Allocate(transport), at);
        }
    }

    /// Records sent packets. Returns whether that changes the estimate. With a receiver that
    /// reports, only its reports do.
    pub(in crate::media) fn departed(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        leg: LegId,
        departures: &[Departure],
    ) -> bool {
        let Some(budget) = self.get_mut(transport) else {
            return false;
        };
        budget.departed(departures);
        if budget.reports() {
            self.follow_probes(cx, transport, leg);
            return false;
        }
        true
    }

    /// A timer of the estimator has expired. Returns whether that changes the estimate.
    pub(in crate::media) fn timeout(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        leg: Option<LegId>,
    ) -> bool {
        let Some(budget) = self.get_mut(transport) else {
            return false;
        };
        let is_due = budget.timeout(cx.now);
        if let (false, Some(leg)) = (is_due, leg) {
            self.follow_probes(cx, transport, leg);
        }
        is_due
    }

    /// Writes the pace and sends the probes of the newest estimate.
    pub(in crate::media) fn follow(&mut self, cx: &mut Context<'_>, transport: TransportId, leg: LegId) -> Belief {
        self.follow_probes(cx, transport, leg);
        let Some(budget) = self.get_mut(transport) else {
            return Belief::default();
        };
        let estimate = budget.estimate();
        if let Some(pace) = budget.new_pace(cx.now, &estimate) {
            cx.write(Update::SetPace(leg, pace));
        }
        Belief {
            is_exceeded: budget.is_exceeded(&estimate),
            has_drained: budget.has_drained(cx.now, &estimate),
        }
    }

    /// Reports the estimate of a downlink, if it has changed.
    pub(in crate::media) fn report_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(known) = self.0.get_mut(&transport) else {
            return;
        };
        let Some(budget) = &known.budget else { return };
        if let Some(estimate) = known.estimates.due(cx.now, budget) {
            cx.notice(Notice::Observation(Observation::Estimate { transport, estimate }));
        }
    }

    /// Chooses the videos a receiver is shown, sorted by key.
    pub(in crate::media) fn choose_shown(
        &mut self,
        transport: TransportId,
        most: usize,
        slots: &[VideoSlot],
    ) -> Vec<Key> {
        let Some(known) = self.0.get_mut(&transport) else {
            return Vec::new();
        };
        let shown = known.shown.get_or_insert_with(|| LastN::new(most));
        shown.choose(slots).to_vec()
    }

    /// Sends the probes that the estimator asks for, and sees to it that it is asked again in time.
    fn follow_probes(&mut self, cx: &mut Context<'_>, transport: TransportId, leg: LegId) {
        let Some(known) = self.0.get_mut(&transport) else {
            return;
        };
        let Some(budget) = &mut known.budget else { return };
        while let Some(probe) = budget.poll_probe() {
            let what = Inject::Probe {
                leg,
                probe: probe.id.0,
                rate: probe.rate,
                bytes: probe.bytes,
                packets: probe.packets,
            };
            cx.plane.inject(cx.now, what);
            cx.count(Counter::ProbeSent);
            let observation = Observation::Probe {
                transport,
                rate: probe.rate,
                bytes: probe.bytes,
            };
            known.probes.report(cx, observation);
        }
        if let Some(at) = budget.new_timer() {
            cx.timer(Timer::Estimate(transport), at);
        }
    }
}
