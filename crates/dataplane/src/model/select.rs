//! The selection of a layered stream's frames for a replica.
//!
//! The first packet of a frame that arrives decides about the frame; its other packets follow. Only
//! a frame newer than all others may change the selection, by the rules in [`switch`]. A late frame
//! is judged by the selection after the frame that precedes it, and changes nothing.
//!
//! *Dependency descriptor.* The replica gets one decode target. A frame is sent if it is part of
//! it, its chain is intact, and no frame it refers to was held back. A chain of which a frame was
//! held back is broken until it starts again. A frame that was lost on its way here is not held
//! back: it may still arrive.
//!
//! *VP9 descriptor.* A frame is sent if its layer is within the selected one, unless it is of a
//! smaller size and no higher layer refers to it.
//!
//! *VP8 descriptor.* A frame is sent if its layer is within the selected one.
//!
//! *Fallback.* With a dependency descriptor a replica may get a smaller size beside the selected
//! one, so that it can switch down to it at any picture. Its frames are sent as if that size were
//! selected, as long as its chain is intact. A receiver decodes a picture when it has all frames
//! that the highest frame refers to, and accepts nothing of an earlier picture afterwards. The
//! higher frames are therefore made to refer to the fallback frames of their picture; otherwise a
//! lost fallback frame would be too late even if it arrived. A picture of which the highest frame
//! was never sent does not exist for the receiver. The fallback then ends, because later fallback
//! frames would refer to it. The exception is a picture whose sender ended it with the fallback
//! frame: the receiver decodes that, and the fallback continues while nothing higher arrives.
//!
//! Source: AV1 RTP specification, appendix A; RFC 9628 section 4.2; RFC 7741 section 4.2.

mod state;
mod switch;

use std::collections::BTreeMap;

use rewriting::Cadence;
use wire::codec::Layer;
use wire::codec::dependency::DecodeTargets;
use wire::{Codec, RtpTimestamp};

use super::frame::{Dependencies, Frame, FrameId, Rules};
use super::stream::MediaPacket;
use crate::limits::FRAMES_MAX;
use crate::{Counter, Decided};

use state::State;

pub(super) use state::Active;

/// The layers that a replica is to get.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The highest layer.
    pub layer: Layer,
    /// The smaller size to keep beside it.
    pub fallback_spatial: Option<u8>,
}

/// The selection of a replica in the stream it follows.
#[derive(Debug)]
pub(super) struct Selection {
    state: State,
    /// Whether it reaches its target, or continues at all, only with a key frame.
    pub awaits_key_frame: bool,
    /// The active decode targets the receiver was last told, if they differ from the sender's.
    told: Option<DecodeTargets>,
    /// The newest picture that ended, for the receiver: nothing higher can follow in it.
    ended: Option<RtpTimestamp>,
    /// The newest picture of which a frame was sent only to keep its size, and that frame's number.
    kept: Option<(RtpTimestamp, u64)>,
    /// The picture of the newest frame, and what was wanted when it began: it is not cut short, nor
    /// made larger.
    picture: Option<RtpTimestamp>,
    wanted: Wanted,
    /// The newest picture that another device decided about, by its timestamp, and whether it is
    /// sent.
    decided_before: Option<Decided>,
    /// The newest frames, each with its decision and the selection after it.
    decisions: BTreeMap<FrameId, (Decision, State)>,
}

/// The decision about one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    /// Sent, or why not.
    pub send: Result<(), Counter>,
    /// Whether it is the highest frame of its picture that the replica gets: its last packet gets
    /// the marker.
    pub is_top: bool,
    /// Pictures held back before it.
    pub held_back: u16,
    /// So many frames back lies one of the same picture that is sent only to keep its size: this
    /// one is made to refer to it.
    pub kept_before: Option<u16>,
    /// The decode targets this receiver can have, and whether this frame is to state them.
    pub active: Active,
}

impl Selection {
    /// For a segment that starts with a key frame: nothing has been held back.
    pub(crate) fn new(wanted: Wanted) -> Self {
        Selection {
            state: State {
                current: Layer {
                    spatial: 0,
                    temporal: wanted.layer.temporal,
                },
                decode_target: None,
                kept_target: None,
                broken: Default::default(),
                complete: Default::default(),
                held_back: 0,
                is_of_vp8: false,
            },
            awaits_key_frame: false,
            told: None,
            ended: None,
            kept: None,
            picture: None,
            wanted,
            decided_before: None,
            decisions: BTreeMap::new(),
        }
    }

    /// The selection for a segment that another device began: the pictures held back are in its
    /// numbers. The picture that was `decided` there keeps its decision.
    pub(crate) fn resumed(wanted: Wanted, layer: Layer, decided: Option<Decided>) -> Self {
        let mut selection = Selection::new(wanted);
        selection.state.current = layer;
        selection.decided_before = decided;
        selection
    }

    /// The state for another device that continues: the temporal layer, the number of pictures held
    /// back, and the decision about the newest. `None` where frames refer to others by descriptors,
    /// because decisions about those cannot be handed over.
    pub(crate) fn stands(&self) -> Option<(u8, u16, Option<Decided>)> {
        let decided = match self.decisions.last_key_value() {
            None => self.decided_before,
            Some((FrameId::Picture(..), (decision, state))) if state.is_of_vp8 => {
                Some((self.picture?.0, decision.send.is_ok()))
            }
            Some(_) => return None,
        };
        Some((self.state.current.temporal, self.state.held_back, decided))
    }

    /// The number of pictures held back.
    pub(crate) fn held_back(&self) -> u16 {
        self.state.held_back
    }

    /// The highest layer it gets, once it gets one.
    pub(crate) fn layer(&self) -> Layer {
        match self.decisions.is_empty() {
            true => Layer::default(),
            false => self.state.current,
        }
    }

    /// The share of the frames it gets, by a received frame: it is known where there is one size.
    pub(crate) fn cadence(&self, frame: &Frame) -> Cadence {
        let Rules::Dependency(rules) = &frame.rules else {
            return Cadence::Every;
        };
        let produced = rules.produced().iter();
        let layers = produced.map(|target| {
            rules
                .structure
                .target_layer(target)
                .expect("a target of this structure")
        });
        let highest = layers.reduce(|one, other| Layer {
            spatial: one.spatial.max(other.spatial),
            temporal: one.temporal.max(other.temporal),
        });
        match highest {
            Some(Layer { spatial: 0, temporal }) => {
                Cadence::without(temporal.saturating_sub(self.state.current.temporal))
            }
            _ => Cadence::Every,
        }
    }

    /// Decides about a packet, for a replica that is to get `wanted`.
    pub(crate) fn decide(&mut self, wanted: Wanted, packet: &MediaPacket) -> Decision {
        self.forget_incomparable(packet);
        if let Some(frame) = &packet.frame {
            self.record_decided_before(frame);
        }
        let known = self.decided(packet);
        let decision = known.unwrap_or_else(|| self.decide_frame(wanted, packet));
        if packet.marker {
            self.end_with_kept(packet);
        }
        decision
    }

    fn decide_frame(&mut self, wanted: Wanted, packet: &MediaPacket) -> Decision {
        let frame = packet
            .frame
            .as_ref()
            .expect("a packet without layers is always decided");
        let Some(mut behind) = self.state_before(frame.id) else {
            return self.decide_newest(wanted, packet.codec, frame);
        };
        let is_oldest = self.decisions.range(..frame.id).next().is_none();
        if self.decisions.len() >= FRAMES_MAX && is_oldest {
            return self.plain(Err(Counter::TooLate));
        }
        let decision = self.judged(&behind, frame);
        if decision.send.is_err() && frame.layer.temporal <= self.state.current.temporal {
            self.state.complete.remove(&frame.layer.spatial);
        }
        behind.held_back = decision.held_back;
        self.record(frame.id, decision, behind);
        decision
    }

    /// Ends a picture at its last packet. If that is of the fallback frame of the newest picture,
    /// the encoder left out the higher frames, and the fallback frame is the whole picture.
    fn end_with_kept(&mut self, packet: &MediaPacket) {
        let id = packet.frame.as_ref().map(|frame| frame.id);
        if let Some((timestamp, number)) = self.kept
            && id == Some(FrameId::Number(number))
        {
            self.ended = Some(timestamp);
        }
    }

    /// Frames that are named in another way than earlier ones cannot be compared with them: the
    /// selection begins anew with its current layers.
    fn forget_incomparable(&mut self, packet: &MediaPacket) {
        let readable = packet.frame.as_ref().filter(|frame| !frame.is_unreadable());
        if let (Some(frame), Some((newest, _))) = (readable, self.decisions.last_key_value())
            && !frame.id.is_comparable(newest)
        {
            self.decisions.clear();
        }
    }

    /// The decision about a packet's frame. Packets without layers, or with a descriptor that
    /// cannot be read, are sent.
    pub(crate) fn decided(&self, packet: &MediaPacket) -> Option<Decision> {
        let Some(frame) = &packet.frame else {
            return Some(self.plain(Ok(())));
        };
        let unreadable = frame.is_unreadable().then(|| self.plain(Ok(())));
        let known = self.decisions.get(&frame.id);
        known.map(|(decision, _)| *decision).or(unreadable)
    }

    fn plain(&self, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: false,
            held_back: self.state.held_back,
            kept_before: None,
            active: Active::default(),
        }
    }

    /// The selection after the frame that precedes this one; `None` when this one is newer than
    /// all. A frame older than all is treated as the oldest one's predecessor.
    fn state_before(&self, id: FrameId) -> Option<State> {
        self.decisions.range(id..).next()?;
        if let Some((_, (_, state))) = self.decisions.range(..id).next_back() {
            return Some(state.clone());
        }
        let (_, (oldest, state)) = self.decisions.first_key_value()?;
        Some(State {
            held_back: oldest.held_back,
            ..state.clone()
        })
    }

    fn decide_newest(&mut self, wanted: Wanted, codec: Codec, frame: &Frame) -> Decision {
        self.state.is_of_vp8 = codec == Codec::Vp8;
        if self.picture != Some(frame.timestamp) {
            self.picture = Some(frame.timestamp);
            self.wanted = wanted;
            if self.kept.take().is_some_and(|(kept, _)| self.ended != Some(kept)) {
                self.state.lose_kept(frame);
            }
        }
        self.switch(self.wanted, frame);
        let mut decision = self.judged(&self.state, frame);
        if matches!(frame.rules, Rules::Dependency(_)) && decision.send.is_ok() {
            let tells = decision.active.fewer.then_some(decision.active.targets);
            decision.active.new = tells != self.told;
            self.told = tells;
        }
        if decision.send.is_ok() && decision.is_top {
            self.ended = Some(frame.timestamp);
        }
        if let (Ok(()), FrameId::Number(number)) = (decision.send, frame.id) {
            match (self.state.is_only_kept(frame), self.kept) {
                (true, _) => self.kept = Some((frame.timestamp, number)),
                (false, Some((_, kept))) => decision.kept_before = u16::try_from(number - kept).ok(),
                (false, None) => {}
            }
        }
        self.state.remember(codec, frame, decision.send);
        self.record(frame.id, decision, self.state.clone());
        decision
    }

    /// Records another device's decision about the newest picture, once this frame tells its place.
    fn record_decided_before(&mut self, frame: &Frame) {
        let (Rules::Vp8 { .. }, FrameId::Picture(place, spatial)) = (&frame.rules, frame.id) else {
            return;
        };
        let Some((timestamp, is_sent)) = self.decided_before.take() else {
            return;
        };
        let ahead = timestamp.wrapping_sub(frame.timestamp.0) as i32;
        self.state.is_of_vp8 = true;
        self.picture = Some(RtpTimestamp(timestamp));
        let decision = Decision {
            send: if is_sent { Ok(()) } else { Err(Counter::OutsideTarget) },
            ..self.judged(&self.state, frame)
        };
        let id = FrameId::Picture(place.wrapping_add_signed(ahead.into()), spatial);
        self.record(id, decision, self.state.clone());
    }

    fn judged(&self, state: &State, frame: &Frame) -> Decision {
        let is_highest = frame.layer.spatial == state.current.spatial;
        Decision {
            send: self.judge(state, frame),
            is_top: is_highest && !switch::may_go_up_in_this_picture(self.wanted.layer, frame),
            held_back: state.held_back,
            kept_before: None,
            active: state.active(frame),
        }
    }

    fn record(&mut self, id: FrameId, decision: Decision, state: State) {
        self.decisions.insert(id, (decision, state));
        if self.decisions.len() > FRAMES_MAX {
            self.decisions.pop_first();
        }
    }

    /// Whether a frame is part of what was selected.
    fn judge(&self, state: &State, frame: &Frame) -> Result<(), Counter> {
        let above = !state.current.covers(frame.layer);
        match &frame.rules {
            Rules::Vp8 { .. } if above => Err(Counter::OutsideTarget),
            Rules::Vp9 { .. } if above => Err(Counter::OutsideTarget),
            Rules::Vp9 {
                refers_above: false, ..
            } if frame.layer.spatial < state.current.spatial => Err(Counter::OutsideTarget),
            Rules::Vp8 { .. } | Rules::Vp9 { .. } | Rules::Unreadable => Ok(()),
            Rules::Dependency(rules) => {
                let target = state.decode_target.filter(|(since, _)| *since == rules.since);
                let (_, target) = target.ok_or(Counter::Undecodable)?;
                let selected = self.judge_for(state, rules, target);
                let kept = state.kept_target.map(|kept| self.judge_for(state, rules, kept));
                kept.filter(Result::is_ok).unwrap_or(selected)
            }
        }
    }

    /// Whether a frame is part of a decode target, and can be decoded.
    fn judge_for(&self, state: &State, rules: &Dependencies, target: usize) -> Result<(), Counter> {
        match rules.indications.get(target).is_present() {
            false => Err(Counter::OutsideTarget),
            true if self.is_intact(state, rules, target) && self.is_decodable(rules) => Ok(()),
            true => Err(Counter::Undecodable),
        }
    }

    /// Whether nothing a frame refers to was held back.
    fn is_decodable(&self, rules: &Dependencies) -> bool {
        !rules.referred.iter().any(|number| self.was_held_back(*number))
    }

    /// Whether the chain that protects a decode target was sent up to here.
    fn is_intact(&self, state: &State, rules: &Dependencies, target: usize) -> bool {
        let Some(chain) = rules.structure.protecting_chain(target) else {
            return true;
        };
        match rules.previous.get(chain).copied().flatten() {
            None => true,
            Some(previous) => !state.broken.contains(&chain) && !self.was_held_back(previous),
        }
    }

    fn was_held_back(&self, number: u64) -> bool {
        let decision = self.decisions.get(&FrameId::Number(number));
        decision.is_some_and(|(decision, _)| decision.send.is_err())
    }
}
