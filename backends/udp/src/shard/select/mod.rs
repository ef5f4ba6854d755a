//! Selection of the frames of a layered stream that a replica gets.
//!
//! A frame is decided once, by the first of its packets that arrives; the others follow. Only a
//! frame newer than all before it may change the selection, as [`switch`] describes. A late frame
//! is judged by the selection after the frame before it, and changes nothing.
//!
//! Source: AV1 RTP specification, appendix A; RFC 9628 section 4.2; RFC 7741 section 4.2.

mod decision;
mod history;
mod state;
mod switch;

use dataplane::{Counter, Decided};
use wire::codec::Layer;
use wire::codec::dependency::DecodeTargets;
use wire::{Codec, RtpTimestamp};

pub(super) use decision::{Active, Decision, Wanted};

use crate::shard::packet::frame::{Dependencies, Frame, FrameId, Numbering, Rules};
use history::{History, Lookup};
use state::{Aim, SelectionState, bit};

/// The selection of one replica among the frames of the stream it follows.
#[derive(Debug)]
pub(crate) struct Selection {
    now: SelectionState,
    /// Whether only a key frame brings it to its target, or continues it at all.
    awaits_key_frame: bool,
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
    /// The decode target that is aimed at, as long as that follows from the same.
    aim: Option<Aim>,
    /// Frames are identified by VP8's descriptor.
    is_of_vp8: bool,
    /// The newest picture that another device decided about, by its timestamp, and whether it is
    /// sent.
    decided_before: Option<Decided>,
    /// The newest frames. Costs nothing until the stream turns out to have layers.
    history: History,
}

impl Selection {
    pub(crate) fn new() -> Self {
        Selection {
            now: SelectionState::from_key_frame(Wanted::default()),
            awaits_key_frame: false,
            told: None,
            ended: None,
            kept: None,
            picture: None,
            wanted: Wanted::default(),
            aim: None,
            is_of_vp8: false,
            decided_before: None,
            history: History::default(),
        }
    }

    /// Restarts with a key frame: nothing has been held back.
    pub(crate) fn restart(&mut self, wanted: Wanted) {
        self.now = SelectionState::from_key_frame(wanted);
        self.awaits_key_frame = false;
        self.told = None;
        self.ended = None;
        self.kept = None;
        self.picture = None;
        self.decided_before = None;
        self.history.clear();
    }

    /// Restarts where another device stopped: its numbers include the pictures held back, and the
    /// decision about the picture `decided` there stays.
    pub(crate) fn resume(&mut self, wanted: Wanted, layer: Layer, decided: Option<Decided>) {
        self.restart(wanted);
        self.now.layer = layer;
        self.decided_before = decided;
    }

    /// The state for another device that continues: the temporal layer, the number of pictures held
    /// back, and the decision about the newest. `None` where frames refer to others by descriptors,
    /// because decisions about those cannot be handed over.
    pub(crate) fn snapshot(&self) -> Option<(u8, u16, Option<Decided>)> {
        let decided = match self.history.newest_decision() {
            None => self.decided_before,
            Some((Numbering::Picture, decision)) if self.is_of_vp8 => Some((self.picture?.0, decision.send.is_ok())),
            Some(_) => return None,
        };
        Some((self.now.layer.temporal, self.now.held_back, decided))
    }

    /// The number of pictures held back.
    pub(crate) fn held_back(&self) -> u16 {
        self.now.held_back
    }

    /// The highest temporal layer it gets.
    pub(crate) fn temporal(&self) -> u8 {
        self.now.layer.temporal
    }

    /// The highest layer it gets, once it has got one, and whether it waits for a key frame.
    pub(crate) fn report(&self) -> (Layer, bool) {
        let layer = if self.history.is_empty() {
            Layer::default()
        } else {
            self.now.layer
        };
        (layer, self.awaits_key_frame)
    }

    /// Decides about a packet that perhaps `ends_picture`, for a replica that is to get `wanted`,
    /// or only the lowest temporal layer of it when the shard `is_late`.
    pub(crate) fn decide(
        &mut self,
        wanted: Wanted,
        is_late: bool,
        codec: Codec,
        frame: &Frame,
        ends_picture: bool,
    ) -> Decision {
        let decision = self.decide_frame(wanted, is_late, codec, frame);
        if ends_picture {
            self.end_with_kept(frame);
        }
        decision
    }

    /// If the newest picture ends with its fallback frame, the encoder left out the higher frames.
    /// The fallback frame is then the whole picture, and a receiver decodes it.
    fn end_with_kept(&mut self, frame: &Frame) {
        if let (Some((timestamp, number)), Rules::Dependency(rules)) = (self.kept, &frame.rules)
            && rules.number == number
        {
            self.ended = Some(timestamp);
        }
    }

    fn decide_frame(&mut self, wanted: Wanted, is_late: bool, codec: Codec, frame: &Frame) -> Decision {
        if !frame.is_unreadable() {
            // These frames cannot be compared with earlier ones, so the history starts again.
            self.history.renumber(frame.id.numbering);
        }
        match self.history.find(frame.id) {
            Lookup::Known(decision) => decision,
            _ if frame.is_unreadable() => self.without_layers(Ok(())),
            Lookup::TooOld => self.without_layers(Err(Counter::TooLate)),
            Lookup::Newer if self.decided_before.is_some() => {
                self.record_decided_before(frame);
                self.decide_frame(wanted, is_late, codec, frame)
            }
            Lookup::Newer => self.decide_newest(wanted, is_late, codec, frame),
            Lookup::Late {
                at,
                mut state,
                held_back,
            } => {
                state.held_back = held_back;
                let decision = self.judged(state, frame, self.judge(&state, frame));
                if decision.send.is_err() && frame.layer.temporal <= self.now.layer.temporal {
                    self.now.set_complete(frame.layer.spatial, false);
                }
                self.history.insert_late(at, frame.id, decision, state);
                decision
            }
        }
    }

    /// The decision about a packet's frame. A packet without layers, or with an unreadable
    /// descriptor, is sent.
    pub(crate) fn decided(&self, frame: Option<&Frame>) -> Option<Decision> {
        let Some(frame) = frame else {
            return Some(self.without_layers(Ok(())));
        };
        match self.history.find(frame.id) {
            Lookup::Known(decision) => Some(decision),
            _ => frame.is_unreadable().then(|| self.without_layers(Ok(()))),
        }
    }

    /// The decision about a packet without layers.
    #[inline]
    pub(crate) fn without_layers(&self, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: false,
            held_back: self.now.held_back,
            kept_before: None,
            active: Active::default(),
        }
    }

    fn decide_newest(&mut self, wanted: Wanted, is_late: bool, codec: Codec, frame: &Frame) -> Decision {
        self.is_of_vp8 = codec == Codec::Vp8;
        if self.picture.replace(frame.timestamp) != Some(frame.timestamp) {
            self.wanted = wanted;
            if is_late {
                self.wanted.layer.temporal = 0;
            }
            if self.kept.take().is_some_and(|(kept, _)| self.ended != Some(kept)) {
                self.now.lose_kept(frame);
            }
        }
        self.switch(frame);
        let send = match self.judge(&self.now, frame) {
            Err(Counter::OutsideTarget) if is_late && wanted.layer.covers(frame.layer) => Err(Counter::Overloaded),
            send => send,
        };
        let mut decision = self.judged(self.now, frame, send);
        if decision.send.is_ok() {
            decision.active.new = self.tell(&decision.active, frame);
            if decision.is_top {
                self.ended = Some(frame.timestamp);
            }
            decision.kept_before = self.refer_to_kept(frame);
        }
        self.now.remember(codec, frame, decision.send);
        self.history.push(frame.id, decision, self.now);
        decision
    }

    /// Records another device's decision about the newest picture, once this frame tells its place.
    fn record_decided_before(&mut self, frame: &Frame) {
        let Some((timestamp, is_sent)) = self.decided_before.take() else {
            return;
        };
        if !matches!(frame.rules, Rules::Vp8(_)) {
            return;
        }
        let ahead = timestamp.wrapping_sub(frame.timestamp.0) as i32;
        let id = FrameId {
            place: frame.id.place.wrapping_add_signed(i64::from(ahead) << 3),
            ..frame.id
        };
        self.is_of_vp8 = true;
        self.picture = Some(RtpTimestamp(timestamp));
        let send = if is_sent { Ok(()) } else { Err(Counter::OutsideTarget) };
        let decision = self.judged(self.now, frame, send);
        self.history.push(id, decision, self.now);
    }

    fn judged(&self, state: SelectionState, frame: &Frame, send: Result<(), Counter>) -> Decision {
        Decision {
            send,
            is_top: frame.layer.spatial == state.layer.spatial && !frame.may_be_followed_by_higher(self.wanted.layer),
            held_back: state.held_back,
            kept_before: None,
            active: state.active(frame),
        }
    }

    /// The distance of the fallback frame in the same picture. A receiver decodes a picture when it
    /// has all frames that the highest frame refers to, and accepts nothing of an earlier picture
    /// afterwards: a lost fallback frame would be too late even if it arrived.
    fn refer_to_kept(&mut self, frame: &Frame) -> Option<u16> {
        let Rules::Dependency(rules) = &frame.rules else {
            return None;
        };
        if self.now.is_only_kept(rules) {
            self.kept = Some((frame.timestamp, rules.number));
            return None;
        }
        let (_, kept) = self.kept?;
        u16::try_from(rules.number - kept).ok()
    }

    /// Whether the receiver must be told of other active decode targets; they then count as told.
    fn tell(&mut self, active: &Active, frame: &Frame) -> bool {
        let Rules::Dependency(_) = frame.rules else {
            return false;
        };
        let tells = active.fewer.then_some(active.targets);
        std::mem::replace(&mut self.told, tells) != tells
    }

    /// Whether a frame is part of what was selected.
    fn judge(&self, state: &SelectionState, frame: &Frame) -> Result<(), Counter> {
        let within = match &frame.rules {
            Rules::Vp8(_) => state.layer.covers(frame.layer),
            Rules::Vp9(rules) => {
                let needed = rules.refers_above || frame.layer.spatial >= state.layer.spatial;
                state.layer.covers(frame.layer) && needed
            }
            Rules::Unreadable => true,
            Rules::Dependency(rules) => return self.judge_target(state, rules),
        };
        if within { Ok(()) } else { Err(Counter::OutsideTarget) }
    }

    fn judge_target(&self, state: &SelectionState, rules: &Dependencies) -> Result<(), Counter> {
        let target = state.target.filter(|target| target.since == rules.since);
        let selected = self.judge_for(state, rules, target.ok_or(Counter::Undecodable)?.index);
        match state.kept {
            Some(kept) if selected.is_err() => self.judge_for(state, rules, usize::from(kept)).or(selected),
            _ => selected,
        }
    }

    /// Whether a frame is part of a decode target, and can be decoded.
    fn judge_for(&self, state: &SelectionState, rules: &Dependencies, target: usize) -> Result<(), Counter> {
        if !rules.indications.get(target).is_present() {
            return Err(Counter::OutsideTarget);
        }
        match self.is_intact(state, rules, target) && self.is_decodable(rules) {
            true => Ok(()),
            false => Err(Counter::Undecodable),
        }
    }

    /// Whether nothing a frame refers to was held back. A frame that was lost before it arrived
    /// here was not: it may still arrive.
    fn is_decodable(&self, rules: &Dependencies) -> bool {
        let mut referred = rules.fdiffs.as_slice().iter();
        !referred.any(|diff| self.was_held_back(rules.number, u64::from(*diff)))
    }

    /// Whether the chain that protects a decode target was sent up to here.
    fn is_intact(&self, state: &SelectionState, rules: &Dependencies, target: usize) -> bool {
        let Some(chain) = rules.structure.protecting_chain(target) else {
            return true;
        };
        match rules.chain_diffs.as_slice().get(chain) {
            None | Some(0) => true,
            Some(diff) => state.broken & bit(chain) == 0 && !self.was_held_back(rules.number, u64::from(*diff)),
        }
    }

    fn was_held_back(&self, number: u64, diff: u64) -> bool {
        let place = number.checked_sub(diff);
        place.is_some_and(|place| matches!(self.history.at(place), Some(Err(_))))
    }

    fn was_sent(&self, id: FrameId) -> bool {
        matches!(self.history.at(id.place), Some(Ok(())))
    }
}
