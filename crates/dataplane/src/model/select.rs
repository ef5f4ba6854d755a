//! Which frames of a layered stream a replica gets.
//!
//! A frame is decided once, by the first of its packets that arrives; the others follow. Only a frame newer than all before it may change
//! what is selected, and it changes no sooner than a decoder can follow.
//!
//! *Dependency descriptor.* The replica gets one decode target: of those within its target layer that the sender produces, the one with the
//! highest layer. It changes to another at a frame whose indication for that one is "switch", if the chain that protects it and
//! everything the frame refers to was sent; to fewer pictures of the same size at once. A frame is sent if it is part of the decode target, its chain is intact, and
//! nothing it refers to was held back. What was lost before us is not held back: it may still come.
//!
//! *VP9 descriptor.* Pictures: down at the next picture, up to layer *i* at a picture of layer *i* with U. Sizes: down at the next picture if the lower layer was
//! sent so far or the picture is a key picture, up by one layer at a layer frame that is not predicted from other pictures. Lower layers that none above refers to
//! are held back.
//!
//! *VP8 descriptor.* Pictures: down at the next frame, up by one layer at a frame of it with Y.
//!
//! Source: AV1 RTP specification, appendix A; eXpressSFU, algorithms 1 and 2, with RFC 9628 section 4.2 for what the bits mean.

use std::collections::BTreeMap;

use wire::Codec;
use wire::codec::Layer;
use wire::codec::dependency::{DecodeTargets, Indication};

use super::frame::{Dependencies, Frame, FrameId, Rules};
use super::stream::MediaPacket;
use crate::Counter;
use crate::limits::FRAMES_MAX;

/// What a replica gets of the stream it follows.
#[derive(Debug)]
pub(super) struct Selection {
    /// The highest layer it gets.
    current: Layer,
    /// Whether only a key frame takes it to its target, or on at all.
    pub awaits_key_frame: bool,
    /// The decode target it gets, of the structure that this frame brought.
    decode_target: Option<(u64, usize)>,
    /// The active decode targets the receiver was last told, where they are not what the sender said.
    told: Option<DecodeTargets>,
    /// VP9: by spatial layer, whether everything of it since a frame that needs no other picture was sent.
    complete: [bool; 8],
    /// Pictures that were held back in this segment: by so much VP8's picture ids close up.
    held_back: u16,
    /// The newest frames, each with what was decided.
    decisions: BTreeMap<FrameId, Decision>,
}

/// What was decided about a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    /// Sent, or why not.
    pub send: Result<(), Counter>,
    /// Whether it is the highest frame of its picture that the replica gets: its last packet gets the marker.
    pub is_top: bool,
    /// Pictures held back before it.
    pub held_back: u16,
    /// The decode targets this receiver can have, and whether it is to be told with this frame.
    pub active: Active,
}

/// The decode targets a receiver can have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Active {
    pub targets: DecodeTargets,
    /// They are fewer than the sender produces.
    pub fewer: bool,
    /// They are others than the receiver knows of.
    pub new: bool,
}

impl Selection {
    /// For a segment that starts with a key frame: nothing has been held back.
    pub fn new(wanted: Layer) -> Self {
        Selection {
            current: Layer {
                spatial: 0,
                temporal: wanted.temporal,
            },
            awaits_key_frame: false,
            decode_target: None,
            told: None,
            complete: [false; 8],
            held_back: 0,
            decisions: BTreeMap::new(),
        }
    }

    /// The highest layer it gets, once it has got one.
    pub fn layer(&self) -> Layer {
        match self.decisions.is_empty() {
            true => Layer::default(),
            false => self.current,
        }
    }

    /// What becomes of a packet, for a replica that is to get `wanted`.
    pub fn decide(&mut self, wanted: Layer, packet: &MediaPacket) -> Decision {
        if let Some(known) = self.decided(packet) {
            return known;
        }
        let frame = packet
            .frame
            .as_ref()
            .expect("a packet without layers is always decided");
        let newest = self.decisions.last_key_value().is_none_or(|(id, _)| *id < frame.id);
        if newest {
            self.switch(wanted, frame);
        }
        let full = self.decisions.len() >= FRAMES_MAX;
        if full
            && self
                .decisions
                .first_key_value()
                .is_some_and(|(oldest, _)| frame.id < *oldest)
        {
            return self.plain(Err(Counter::TooLate));
        }
        let send = self.judge(frame);
        let decision = Decision {
            send,
            is_top: frame.layer.spatial == self.current.spatial,
            active: self.active(frame, newest && send.is_ok()),
            ..self.plain(send)
        };
        if newest {
            self.remember(packet.codec, frame, send);
        }
        self.decisions.insert(frame.id, decision);
        if full {
            self.decisions.pop_first();
        }
        decision
    }

    /// What was decided about a packet's frame; also known of packets without layers, or with a descriptor that cannot be read: they are sent.
    pub fn decided(&self, packet: &MediaPacket) -> Option<Decision> {
        let Some(frame) = &packet.frame else {
            return Some(self.plain(Ok(())));
        };
        let unreadable = matches!(frame.rules, Rules::Unreadable).then(|| self.plain(Ok(())));
        self.decisions.get(&frame.id).copied().or(unreadable)
    }

    fn plain(&self, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: false,
            held_back: self.held_back,
            active: Active::default(),
        }
    }

    /// Comes as near to `wanted` as `frame`, the newest so far, allows.
    fn switch(&mut self, wanted: Layer, frame: &Frame) {
        match &frame.rules {
            Rules::Vp8 { sync } => self.switch_vp8(wanted, frame.layer.temporal, *sync),
            Rules::Vp9 { .. } => self.switch_vp9(wanted, frame),
            Rules::Dependency(rules) => self.switch_target(wanted, rules),
            Rules::Unreadable => {}
        }
    }

    fn switch_vp8(&mut self, wanted: Layer, temporal: u8, sync: bool) {
        let current = &mut self.current.temporal;
        *current = wanted.temporal.min(*current);
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
        let current = &mut self.current;
        if !matches!(before, Some(FrameId::Picture(before, _)) if before == picture) {
            let is_key_picture = !inter_picture && frame.layer.spatial == 0;
            let goal = wanted.spatial.min(top);
            current.temporal = wanted.temporal.min(current.temporal);
            if goal < current.spatial && (is_key_picture || self.complete[usize::from(goal)]) {
                current.spatial = goal;
            }
            self.awaits_key_frame = goal != current.spatial && !is_key_picture;
        }
        let Layer { spatial, temporal } = frame.layer;
        if switching_up && current.temporal < temporal && temporal <= wanted.temporal {
            current.temporal = temporal;
        }
        let below = FrameId::Picture(picture, spatial.saturating_sub(1));
        let has_below = !inter_layer || self.decisions.get(&below).is_some_and(|below| below.send.is_ok());
        if spatial == current.spatial + 1 && spatial <= wanted.spatial && !inter_picture && has_below {
            current.spatial = spatial;
        }
    }

    fn switch_target(&mut self, wanted: Layer, rules: &Dependencies) {
        let layer_of = |target| {
            rules
                .structure
                .target_layer(target)
                .expect("a target of this structure")
        };
        let goal = goal(wanted, rules);
        let chosen = match self.decode_target.filter(|(since, _)| *since == rules.since) {
            None => Some(goal).filter(|goal| self.is_intact(rules, *goal)),
            Some((_, current)) => {
                let has = layer_of(current);
                let other_rate = Layer {
                    spatial: has.spatial,
                    temporal: layer_of(goal).temporal,
                };
                let fewer_pictures =
                    |target| layer_of(target).spatial == has.spatial && layer_of(target).temporal < has.temporal;
                let switches = |target| {
                    rules.indications.get(target) == Indication::Switch
                        && self.is_intact(rules, target)
                        && self.is_decodable(rules)
                };
                let mut candidates = [Some(goal), rules.structure.target_of(other_rate)]
                    .into_iter()
                    .flatten();
                let found =
                    candidates.find(|target| *target == current || fewer_pictures(*target) || switches(*target));
                found.or(Some(current))
            }
        };
        self.decode_target = chosen.map(|target| (rules.since, target));
        self.current = chosen.map_or(self.current, layer_of);
        self.awaits_key_frame = match rules.previous.is_empty() {
            true => chosen.is_none_or(|chosen| layer_of(chosen).spatial < layer_of(goal).spatial),
            false => chosen.is_none() || !self.is_intact(rules, goal),
        };
    }

    /// Whether a frame is part of what is selected.
    fn judge(&self, frame: &Frame) -> Result<(), Counter> {
        let above = !self.current.covers(frame.layer);
        match &frame.rules {
            Rules::Vp8 { .. } if above => Err(Counter::OutsideTarget),
            Rules::Vp9 { .. } if above => Err(Counter::OutsideTarget),
            Rules::Vp9 {
                refers_above: false, ..
            } if frame.layer.spatial < self.current.spatial => Err(Counter::OutsideTarget),
            Rules::Vp8 { .. } | Rules::Vp9 { .. } | Rules::Unreadable => Ok(()),
            Rules::Dependency(rules) => {
                let target = self.decode_target.filter(|(since, _)| *since == rules.since);
                let (_, target) = target.ok_or(Counter::Undecodable)?;
                match rules.indications.get(target).is_present() {
                    false => Err(Counter::OutsideTarget),
                    true if self.is_intact(rules, target) && self.is_decodable(rules) => Ok(()),
                    true => Err(Counter::Undecodable),
                }
            }
        }
    }

    /// Whether nothing a frame refers to was held back.
    fn is_decodable(&self, rules: &Dependencies) -> bool {
        !rules.referred.iter().any(|number| self.was_held_back(*number))
    }

    /// Whether the chain that protects a decode target was sent up to here.
    fn is_intact(&self, rules: &Dependencies, target: usize) -> bool {
        let chain = rules.structure.protecting_chain(target);
        let previous = chain.and_then(|chain| rules.previous.get(chain).copied().flatten());
        !previous.is_some_and(|number| self.was_held_back(number))
    }

    fn was_held_back(&self, number: u64) -> bool {
        let decision = self.decisions.get(&FrameId::Number(number));
        decision.is_some_and(|decision| decision.send.is_err())
    }

    /// The decode targets the receiver can have from this frame on, and whether it knows.
    fn active(&mut self, frame: &Frame, says: bool) -> Active {
        let Rules::Dependency(rules) = &frame.rules else {
            return Active::default();
        };
        let targets = rules.structure.targets_within(self.current).intersection(rules.active);
        let fewer = targets != rules.active;
        let tells = fewer.then_some(targets);
        let new = says && tells != self.told;
        if new {
            self.told = tells;
        }
        Active { targets, fewer, new }
    }

    /// What the decision about the newest frame means for those behind it.
    fn remember(&mut self, codec: Codec, frame: &Frame, send: Result<(), Counter>) {
        if codec == Codec::Vp8 && send.is_err() {
            self.held_back = self.held_back.wrapping_add(1);
        }
        if let Rules::Vp9 { inter_picture, .. } = frame.rules {
            let complete = &mut self.complete[usize::from(frame.layer.spatial)];
            match send {
                Ok(()) if !inter_picture => *complete = true,
                Err(_) if frame.layer.temporal <= self.current.temporal => *complete = false,
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// The decode target with the highest layer within `wanted`, of those the sender produces; the lowest of all when none is.
fn goal(wanted: Layer, rules: &Dependencies) -> usize {
    let structure = &rules.structure;
    let layer_of = |target: &usize| {
        let layer = structure.target_layer(*target).expect("a target of this structure");
        (layer.spatial, layer.temporal)
    };
    let all = DecodeTargets::first(structure.decode_targets());
    let active = match all.intersection(rules.active) {
        none if none.is_empty() => all,
        some => some,
    };
    let within = structure.targets_within(wanted).intersection(active);
    // Of two alike the first: one that comes later must be better to be taken.
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
