//! Switching between layers: as near to the wanted layer as the newest frame allows, and no sooner
//! than a decoder can follow.
//!
//! Source: AV1 RTP specification, appendix A; RFC 9628 section 4.2; RFC 7741 section 4.2.

use std::sync::Arc;

use wire::RtpTimestamp;
use wire::codec::Layer;
use wire::codec::dependency::Indication;

use super::Selection;
use super::state::{Aim, Target};
use crate::shard::packet::frame::{Dependencies, Frame, FrameId, Rules, Vp9Rules};

impl Selection {
    /// Switches as near to the wanted layer as `frame`, the newest so far, allows.
    pub(super) fn switch(&mut self, frame: &Frame) {
        let wanted = self.wanted.layer;
        match &frame.rules {
            Rules::Vp8(rules) => self.now.switch_vp8(wanted, frame.layer.temporal, *rules),
            Rules::Vp9(rules) => self.switch_vp9(wanted, frame, *rules),
            Rules::Dependency(rules) => self.switch_target(wanted, frame.timestamp, rules),
            Rules::Unreadable => {}
        }
    }

    fn switch_vp9(&mut self, wanted: Layer, frame: &Frame, rules: Vp9Rules) {
        let picture = |place: u64| place >> 3;
        let is_first = self
            .history
            .newest()
            .is_none_or(|newest| picture(newest) != picture(frame.id.place));
        let now = &mut self.now;
        let Layer { spatial, temporal } = frame.layer;
        if is_first {
            let is_key_picture = !rules.inter_picture && spatial == 0;
            let goal = wanted.spatial.min(rules.top);
            now.layer.temporal = match is_key_picture {
                true => wanted.temporal,
                false => wanted.temporal.min(now.layer.temporal),
            };
            if goal < now.layer.spatial && (is_key_picture || now.is_complete(goal)) {
                now.layer.spatial = goal;
            }
            self.awaits_key_frame = goal != now.layer.spatial && !is_key_picture;
        }
        // Later pictures of higher temporal layers refer to none of those from before this one.
        if rules.switching_up && temporal <= now.layer.temporal {
            now.layer.temporal = wanted.temporal.max(now.layer.temporal);
        }
        let may_rise = self.ended != Some(frame.timestamp);
        let next_up = may_rise && spatial > 0 && spatial - 1 == now.layer.spatial && spatial <= wanted.spatial;
        if next_up && !rules.inter_picture && (!rules.inter_layer || self.was_sent(frame.id.below())) {
            self.now.layer.spatial = spatial;
        }
    }

    fn switch_target(&mut self, wanted: Layer, picture: RtpTimestamp, rules: &Dependencies) {
        let goal = self.aim(wanted, rules);
        let layer_of = |target| layer_of(rules, target);
        let current = self.now.target.filter(|target| target.since == rules.since);
        if current.is_none() {
            self.now.broken = 0;
        }
        let has = self.now.layer;
        let chosen = match current {
            None => Some(goal).filter(|goal| self.is_intact(&self.now, rules, *goal)),
            Some(Target { index, .. }) => {
                let fewer_pictures =
                    |target| layer_of(target).spatial == has.spatial && layer_of(target).temporal < has.temporal;
                let may_rise = self.ended != Some(picture);
                let switches = |target| {
                    (may_rise || layer_of(target).spatial <= has.spatial)
                        && rules.indications.get(target) == Indication::Switch
                        && self.is_intact(&self.now, rules, target)
                        && self.is_decodable(rules)
                };
                let kept = self.now.kept.map(usize::from);
                let snapshot = |target| Some(target) == kept && self.judge_for(&self.now, rules, target).is_ok();
                let is_open = |target: &usize| {
                    *target == index || fewer_pictures(*target) || switches(*target) || snapshot(*target)
                };
                let is_lower = layer_of(goal).spatial < has.spatial;
                let fallback = || kept.filter(|kept| is_lower && layer_of(*kept).spatial < layer_of(goal).spatial);
                let other_rate = || {
                    let temporal = layer_of(goal).temporal;
                    rules.structure.target_of(Layer { temporal, ..has })
                };
                let chosen = Some(goal).filter(is_open);
                let chosen = chosen.or_else(|| fallback().filter(is_open));
                chosen.or_else(|| other_rate().filter(is_open)).or(Some(index))
            }
        };
        let is_new = chosen != current.map(|target| target.index);
        if let Some(chosen) = chosen.filter(|_| is_new) {
            self.now.layer = layer_of(chosen);
        }
        self.now.target = chosen.map(|index| Target {
            since: rules.since,
            index,
        });
        self.now.kept = chosen.and_then(|_| kept_target(self.wanted.fallback_spatial, self.now.layer, rules));
        self.awaits_key_frame = match rules.structure.chains() {
            0 => chosen.is_none() || self.now.layer.spatial < layer_of(goal).spatial,
            _ => chosen.is_none() || !self.is_intact(&self.now, rules, goal),
        };
    }

    /// The decode target that is the goal. It is searched for only when it may have changed.
    fn aim(&mut self, wanted: Layer, rules: &Dependencies) -> usize {
        let known = self.aim.as_ref().filter(|aim| {
            aim.wanted == wanted && aim.produced == rules.active && Arc::ptr_eq(&aim.structure, &rules.structure)
        });
        if let Some(aim) = known {
            return aim.target;
        }
        let target = goal(wanted, rules);
        self.aim = Some(Aim {
            structure: rules.structure.clone(),
            produced: rules.active,
            wanted,
            target,
        });
        target
    }
}

impl Frame {
    /// Whether the replica may go up to a higher layer still in this picture: then the picture does
    /// not end here.
    pub(super) fn may_be_followed_by_higher(&self, wanted: Layer) -> bool {
        match &self.rules {
            Rules::Vp9(rules) => !rules.inter_picture && rules.refers_above && self.layer.spatial < wanted.spatial,
            Rules::Vp8(_) | Rules::Dependency(_) | Rules::Unreadable => false,
        }
    }
}

impl FrameId {
    /// The frame of the layer below, of a picture's frame that is not the lowest.
    fn below(self) -> Self {
        FrameId {
            place: self.place - 1,
            ..self
        }
    }
}

/// The decode target of the fallback size beside a larger one, with the same picture rate. Only a
/// chain tells whether all its relevant frames were sent.
fn kept_target(fallback_spatial: Option<u8>, current: Layer, rules: &Dependencies) -> Option<u8> {
    let spatial = fallback_spatial.filter(|spatial| *spatial < current.spatial)?;
    rules.structure.protecting_chain(0)?;
    let target = rules.structure.target_of(Layer { spatial, ..current })?;
    let is_produced = rules.active.is_empty() || rules.active.contains(target);
    is_produced.then_some(target as u8)
}

/// The decode target with the highest layer within `wanted`, of those the sender produces; the
/// lowest of all when none is.
fn goal(wanted: Layer, rules: &Dependencies) -> usize {
    let produced = rules.produced();
    let rank = |target: usize| {
        let Layer { spatial, temporal } = layer_of(rules, target);
        (spatial, temporal)
    };
    let within = rules.structure.targets_within(wanted).intersection(produced);
    // Of two alike the first.
    let highest = within
        .iter()
        .max_by_key(|target| (rank(*target), std::cmp::Reverse(*target)));
    let lowest = || produced.iter().min_by_key(|target| rank(*target));
    highest.or_else(lowest).expect("a structure has a decode target")
}

fn layer_of(rules: &Dependencies, target: usize) -> Layer {
    rules.structure.target_layer(target).unwrap_or_default()
}
