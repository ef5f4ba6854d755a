//! Layer switches of a replica: as near to the wanted layer as the newest frame allows, and no
//! sooner than a decoder can follow.
//!
//! A new wanted layer applies from the next picture on. In any codec, the size is not raised within
//! a picture whose marker was already sent.
//!
//! *Dependency descriptor.* The goal is the decode target with the highest layer among those that
//! are within the wanted layer and that the sender produces. The replica switches to it at a frame
//! whose indication for it is "switch", if the chain that protects it and everything the frame
//! refers to was sent. It switches to fewer pictures of the same size with the next picture. It
//! switches to the fallback size at any frame of that size, when it is to go down and the goal
//! cannot begin.
//!
//! *VP9 descriptor.* Picture rate: down at the next picture; up after a picture with U, of a layer
//! the replica gets, and at a key picture. Size: down at the next picture if the lower layer was
//! sent so far or the picture is a key picture; up by one layer at a layer frame that is not
//! predicted from other pictures.
//!
//! *VP8 descriptor.* Picture rate: down at the next frame, up by one layer at a frame of it with Y,
//! and to the wanted one at a key frame.
//!
//! Source: AV1 RTP specification, appendix A; eXpressSFU, algorithms 1 and 2, with RFC 9628 section
//! 4.2 for what the bits mean.

use wire::RtpTimestamp;
use wire::codec::Layer;
use wire::codec::dependency::Indication;

use super::{Selection, State, Wanted};
use crate::model::frame::{Dependencies, Frame, FrameId, Rules};

impl Selection {
    /// Comes as near to `wanted` as `frame`, the newest so far, allows.
    pub(super) fn switch(&mut self, wanted: Wanted, frame: &Frame) {
        match &frame.rules {
            Rules::Vp8 { sync, key } => self.switch_vp8(wanted.layer, frame.layer.temporal, *sync, *key),
            Rules::Vp9 { .. } => self.switch_vp9(wanted.layer, frame),
            Rules::Dependency(rules) => self.switch_target(wanted, frame.timestamp, rules),
            Rules::Unreadable => {}
        }
    }

    fn switch_vp8(&mut self, wanted: Layer, temporal: u8, sync: bool, key: bool) {
        let current = &mut self.state.current.temporal;
        *current = wanted.temporal.min(*current);
        if key {
            *current = wanted.temporal;
        }
        if sync && temporal == current.saturating_add(1) && temporal <= wanted.temporal {
            *current = temporal;
        }
    }

    fn switch_vp9(&mut self, wanted: Layer, frame: &Frame) {
        let Rules::Vp9 {
            switching_up,
            inter_picture,
            inter_layer,
            top,
            ..
        } = frame.rules
        else {
            return;
        };
        let FrameId::Picture(picture, _) = frame.id else { return };
        let before = self.decisions.last_key_value().map(|(id, _)| *id);
        let State { current, complete, .. } = &mut self.state;
        if !matches!(before, Some(FrameId::Picture(before, _)) if before == picture) {
            let is_key_picture = !inter_picture && frame.layer.spatial == 0;
            let goal = wanted.spatial.min(top);
            current.temporal = wanted.temporal.min(current.temporal);
            if is_key_picture {
                current.temporal = wanted.temporal;
            }
            if goal < current.spatial && (is_key_picture || complete.contains(&goal)) {
                current.spatial = goal;
            }
            self.awaits_key_frame = goal != current.spatial && !is_key_picture;
        }
        let Layer { spatial, temporal } = frame.layer;
        // Later pictures of higher layers refer to no picture of higher layers from before this
        // one.
        if switching_up && temporal <= current.temporal {
            current.temporal = current.temporal.max(wanted.temporal);
        }
        let below = FrameId::Picture(picture, spatial.saturating_sub(1));
        let below = self.decisions.get(&below).map(|(below, _)| below.send);
        let has_below = !inter_layer || below == Some(Ok(()));
        let may_rise = self.ended != Some(frame.timestamp);
        if spatial == current.spatial + 1 && spatial <= wanted.spatial && !inter_picture && has_below && may_rise {
            current.spatial = spatial;
        }
    }

    fn switch_target(&mut self, wanted: Wanted, picture: RtpTimestamp, rules: &Dependencies) {
        let layer_of = |target| rules.structure.target_layer(target).unwrap_or_default();
        let goal = goal(wanted.layer, rules);
        let has = self.state.current;
        let same_structure = |(since, _): &(u64, usize)| *since == rules.since;
        let before = self
            .state
            .decode_target
            .filter(same_structure)
            .map(|(_, target)| target);
        if before.is_none() {
            self.state.broken.clear();
        }
        let chosen = match before {
            None => Some(goal).filter(|goal| self.is_intact(&self.state, rules, *goal)),
            Some(before) => {
                let other_rate = Layer {
                    spatial: has.spatial,
                    temporal: layer_of(goal).temporal,
                };
                let fewer_pictures =
                    |target| layer_of(target).spatial == has.spatial && layer_of(target).temporal < has.temporal;
                let may_rise = self.ended != Some(picture);
                let switches = |target| {
                    (may_rise || layer_of(target).spatial <= has.spatial)
                        && rules.indications.get(target) == Indication::Switch
                        && self.is_intact(&self.state, rules, target)
                        && self.is_decodable(rules)
                };
                let kept = self.state.kept_target;
                let snapshot = |target| Some(target) == kept && self.judge_for(&self.state, rules, target).is_ok();
                let fallback = kept.filter(|kept| layer_of(*kept).spatial < layer_of(goal).spatial);
                let is_lower = layer_of(goal).spatial < has.spatial;
                let mut candidates = [
                    Some(goal),
                    fallback.filter(|_| is_lower),
                    rules.structure.target_of(other_rate),
                ]
                .into_iter()
                .flatten();
                let is_open =
                    |target| target == before || fewer_pictures(target) || switches(target) || snapshot(target);
                candidates.find(|target| is_open(*target)).or(Some(before))
            }
        };
        self.state.decode_target = chosen.map(|target| (rules.since, target));
        if chosen != before {
            self.state.current = chosen.map_or(has, layer_of);
        }
        self.state.kept_target = chosen.and_then(|_| kept_target(wanted.fallback_spatial, self.state.current, rules));
        self.awaits_key_frame = match rules.previous.is_empty() {
            true => chosen.is_none() || self.state.current.spatial < layer_of(goal).spatial,
            false => chosen.is_none() || !self.is_intact(&self.state, rules, goal),
        };
    }
}

/// Whether a higher layer may begin above this frame: then the picture does not end with it.
pub(super) fn may_go_up_in_this_picture(wanted: Layer, frame: &Frame) -> bool {
    match frame.rules {
        Rules::Vp9 {
            inter_picture: false,
            refers_above: true,
            ..
        } => frame.layer.spatial < wanted.spatial,
        _ => false,
    }
}

/// The decode target of the fallback size beside a larger one, with the same picture rate. Only a
/// chain tells whether all its relevant frames were sent.
fn kept_target(fallback_spatial: Option<u8>, current: Layer, rules: &Dependencies) -> Option<usize> {
    let spatial = fallback_spatial.filter(|spatial| *spatial < current.spatial)?;
    let target = rules.structure.target_of(Layer { spatial, ..current })?;
    let is_produced = rules.active.is_empty() || rules.active.contains(target);
    (is_produced && rules.structure.protecting_chain(target).is_some()).then_some(target)
}

/// The decode target with the highest layer within `wanted`, of those the sender produces; the
/// lowest of all when none is.
fn goal(wanted: Layer, rules: &Dependencies) -> usize {
    let structure = &rules.structure;
    let layer_of = |target: &usize| {
        let layer = structure.target_layer(*target).expect("a target of this structure");
        (layer.spatial, layer.temporal)
    };
    let active = rules.produced();
    let within = structure.targets_within(wanted).intersection(active);
    // Of two equal ones the first is taken: a later one must be better.
    let best = within
        .iter()
        .reduce(|best, next| if layer_of(&next) > layer_of(&best) { next } else { best });
    let lowest = || {
        active
            .iter()
            .reduce(|low, next| if layer_of(&next) < layer_of(&low) { next } else { low })
    };
    best.or_else(lowest).expect("a structure has a decode target")
}
