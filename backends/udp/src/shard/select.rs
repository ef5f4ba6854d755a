//! Which frames of a layered stream a replica gets.
//!
//! A frame is decided once, by the first of its packets that arrives; the others follow. Only a frame newer than all before it may change what is
//! selected, and no sooner than a decoder can follow. A late frame is judged by what was selected behind the frame before it, and changes nothing.
//!
//! Source: AV1 RTP specification, appendix A; RFC 9628 section 4.2; RFC 7741 section 4.2.

use std::sync::Arc;

use dataplane::Counter;
use wire::codec::Layer;
use wire::codec::dependency::{DecodeTargets, DependencyStructure, Indication};
use wire::{Codec, RtpTimestamp};

use super::decisions::{Decisions, Found};
use super::frame::{Dependencies, Frame, FrameId, Rules, Vp9Rules};
use super::selected::{Selected, Target, bit};

/// What a replica gets of the stream it follows.
#[derive(Debug)]
pub(crate) struct Selection {
    now: Selected,
    /// Whether only a key frame takes it to its target, or on at all.
    awaits_key_frame: bool,
    /// The active decode targets the receiver was last told, where they are not what the sender said.
    told: Option<DecodeTargets>,
    /// The newest picture that ended, for the receiver: nothing higher can follow in it.
    ended: Option<RtpTimestamp>,
    /// The picture of the newest frame, and what was wanted when it began: it is not cut short, nor made larger.
    picture: Option<RtpTimestamp>,
    wanted: Layer,
    /// The decode target that is aimed at, as long as that follows from the same.
    aim: Option<Aim>,
    /// The newest frames. Costs nothing until the stream turns out to have layers.
    past: Decisions,
}

/// A decode target to aim at, and what it follows from.
#[derive(Debug)]
struct Aim {
    structure: Arc<DependencyStructure>,
    produced: DecodeTargets,
    wanted: Layer,
    target: usize,
}

/// What was decided about a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    /// Sent, or why not.
    pub(crate) send: Result<(), Counter>,
    /// It is the highest frame of its picture that the replica gets: its last packet gets the marker.
    pub(crate) is_top: bool,
    /// Pictures held back before it.
    pub(crate) held_back: u16,
    pub(crate) active: Active,
}

/// The decode targets a receiver can have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Active {
    pub(crate) targets: DecodeTargets,
    /// They are fewer than the sender produces.
    pub(crate) fewer: bool,
    /// They are others than the receiver knows of.
    pub(crate) new: bool,
}

impl Selection {
    pub(crate) fn new() -> Self {
        Selection {
            now: Selected::from_key_frame(Layer::default()),
            awaits_key_frame: false,
            told: None,
            ended: None,
            picture: None,
            wanted: Layer::default(),
            aim: None,
            past: Decisions::default(),
        }
    }

    /// Begins again, with a key frame: nothing has been held back.
    pub(crate) fn restart(&mut self, wanted: Layer) {
        self.now = Selected::from_key_frame(wanted);
        self.awaits_key_frame = false;
        self.told = None;
        self.ended = None;
        self.picture = None;
        self.past.clear();
    }

    /// The highest layer it gets, once it has got one, and whether it waits for a key frame.
    pub(crate) fn report(&self) -> (Layer, bool) {
        let layer = if self.past.is_empty() {
            Layer::default()
        } else {
            self.now.layer
        };
        (layer, self.awaits_key_frame)
    }

    /// What becomes of a packet, for a replica that is to get `wanted`, or of that only the lowest frame rate because there `is_late` work.
    pub(crate) fn decide(&mut self, wanted: Layer, is_late: bool, codec: Codec, frame: &Frame) -> Decision {
        if !frame.is_unreadable() {
            // Frames that cannot be compared with those before: it begins anew with what it has.
            self.past.renumber(frame.id.numbering);
        }
        match self.past.find(frame.id) {
            Found::Known(decision) => decision,
            _ if frame.is_unreadable() => self.without_layers(Ok(())),
            Found::TooOld => self.without_layers(Err(Counter::TooLate)),
            Found::Newer => self.decide_newest(wanted, is_late, codec, frame),
            Found::Late {
                at,
                mut behind,
                held_back,
            } => {
                behind.held_back = held_back;
                let decision = self.judged(behind, frame, self.judge(&behind, frame));
                if decision.send.is_err() && frame.layer.temporal <= self.now.layer.temporal {
                    self.now.set_complete(frame.layer.spatial, false);
                }
                self.past.insert_late(at, frame.id, decision, behind);
                decision
            }
        }
    }

    /// What was decided about a packet's frame. A packet without layers, or whose descriptor cannot be read, is sent.
    pub(crate) fn decided(&self, frame: Option<&Frame>) -> Option<Decision> {
        let Some(frame) = frame else {
            return Some(self.without_layers(Ok(())));
        };
        match self.past.find(frame.id) {
            Found::Known(decision) => Some(decision),
            _ => frame.is_unreadable().then(|| self.without_layers(Ok(()))),
        }
    }

    /// What becomes of a packet that no layer decides about.
    pub(crate) fn without_layers(&self, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: false,
            held_back: self.now.held_back,
            active: Active::default(),
        }
    }

    fn decide_newest(&mut self, wanted: Layer, is_late: bool, codec: Codec, frame: &Frame) -> Decision {
        if self.picture.replace(frame.timestamp) != Some(frame.timestamp) {
            let temporal = if is_late { 0 } else { wanted.temporal };
            self.wanted = Layer { temporal, ..wanted };
        }
        self.switch(frame);
        let send = match self.judge(&self.now, frame) {
            Err(Counter::OutsideTarget) if is_late && wanted.covers(frame.layer) => Err(Counter::Overloaded),
            send => send,
        };
        let mut decision = self.judged(self.now, frame, send);
        if decision.send.is_ok() {
            decision.active.new = self.tell(&decision.active, frame);
            if decision.is_top {
                self.ended = Some(frame.timestamp);
            }
        }
        self.now.remember(codec, frame, decision.send);
        self.past.push(frame.id, decision, self.now);
        decision
    }

    fn judged(&self, behind: Selected, frame: &Frame, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: frame.layer.spatial == behind.layer.spatial && !frame.may_be_followed_by_higher(self.wanted),
            held_back: behind.held_back,
            active: behind.active(frame),
        }
    }

    /// Whether the receiver must be told of other active decode targets; then it is.
    fn tell(&mut self, active: &Active, frame: &Frame) -> bool {
        let Rules::Dependency(_) = frame.rules else {
            return false;
        };
        let tells = active.fewer.then_some(active.targets);
        std::mem::replace(&mut self.told, tells) != tells
    }

    /// Comes as near to what is wanted as `frame`, the newest so far, allows.
    fn switch(&mut self, frame: &Frame) {
        let wanted = self.wanted;
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
            .past
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
        // What follows, of higher temporal layers, refers to no picture of those from before this one.
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
                let is_open = |target: &usize| *target == index || fewer_pictures(*target) || switches(*target);
                let other_rate = || {
                    let temporal = layer_of(goal).temporal;
                    rules.structure.target_of(Layer { temporal, ..has })
                };
                let chosen = Some(goal).filter(is_open).or_else(|| other_rate().filter(is_open));
                chosen.or(Some(index))
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
        self.awaits_key_frame = match rules.structure.chains() {
            0 => chosen.is_none() || self.now.layer.spatial < layer_of(goal).spatial,
            _ => chosen.is_none() || !self.is_intact(&self.now, rules, goal),
        };
    }

    /// The decode target to aim at. It is found anew only when it may be another one.
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

    /// Whether a frame is part of what was selected.
    fn judge(&self, behind: &Selected, frame: &Frame) -> Result<(), Counter> {
        let within = match &frame.rules {
            Rules::Vp8(_) => behind.layer.covers(frame.layer),
            Rules::Vp9(rules) => {
                let needed = rules.refers_above || frame.layer.spatial >= behind.layer.spatial;
                behind.layer.covers(frame.layer) && needed
            }
            Rules::Unreadable => true,
            Rules::Dependency(rules) => return self.judge_target(behind, rules),
        };
        if within { Ok(()) } else { Err(Counter::OutsideTarget) }
    }

    fn judge_target(&self, behind: &Selected, rules: &Dependencies) -> Result<(), Counter> {
        let target = behind.target.filter(|target| target.since == rules.since);
        let target = target.ok_or(Counter::Undecodable)?.index;
        if !rules.indications.get(target).is_present() {
            return Err(Counter::OutsideTarget);
        }
        match self.is_intact(behind, rules, target) && self.is_decodable(rules) {
            true => Ok(()),
            false => Err(Counter::Undecodable),
        }
    }

    /// Whether nothing a frame refers to was held back. What was lost before us was not: it may still come.
    fn is_decodable(&self, rules: &Dependencies) -> bool {
        let mut referred = rules.fdiffs.as_slice().iter();
        !referred.any(|diff| self.was_held_back(rules.number, u64::from(*diff)))
    }

    /// Whether the chain that protects a decode target was sent up to here.
    fn is_intact(&self, behind: &Selected, rules: &Dependencies, target: usize) -> bool {
        let Some(chain) = rules.structure.protecting_chain(target) else {
            return true;
        };
        match rules.chain_diffs.as_slice().get(chain) {
            None | Some(0) => true,
            Some(diff) => behind.broken & bit(chain) == 0 && !self.was_held_back(rules.number, u64::from(*diff)),
        }
    }

    fn was_held_back(&self, number: u64, diff: u64) -> bool {
        let place = number.checked_sub(diff);
        place.is_some_and(|place| matches!(self.past.at(place), Some(Err(_))))
    }

    fn was_sent(&self, id: FrameId) -> bool {
        matches!(self.past.at(id.place), Some(Ok(())))
    }
}

impl Frame {
    /// Whether the replica may go up to a higher layer still in this picture: then the picture does not end here.
    fn may_be_followed_by_higher(&self, wanted: Layer) -> bool {
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

/// The decode target with the highest layer within `wanted`, of those the sender produces; the lowest of all when none is.
fn goal(wanted: Layer, rules: &Dependencies) -> usize {
    let all = DecodeTargets::first(rules.structure.decode_targets());
    let produced = all.intersection(rules.active);
    let produced = if produced.is_empty() { all } else { produced };
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
