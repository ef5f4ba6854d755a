//! The layers selected of a stream, as of some frame.

use std::sync::Arc;

use dataplane::Counter;
use wire::Codec;
use wire::codec::Layer;
use wire::codec::dependency::{DecodeTargets, DependencyStructure};

use super::decision::{Active, Wanted};
use crate::shard::packet::frame::{Dependencies, Frame, Rules, Vp8Rules};

/// The selection after some frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelectionState {
    /// The highest layer.
    pub(super) layer: Layer,
    /// The decode target.
    pub(super) target: Option<Target>,
    /// The one that is kept beside it, of the same structure.
    pub(super) kept: Option<u8>,
    /// By chain, one bit each: a frame of it was held back, and it did not start again.
    pub(super) broken: u32,
    /// VP9: by spatial layer, one bit each: everything of it since a frame that needs no other
    /// picture was sent.
    complete: u8,
    /// Pictures that were held back: by so much VP8's picture ids close up.
    pub(super) held_back: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The frame that brought the structure it is one of.
    pub(super) since: u64,
    pub(super) index: usize,
}

impl SelectionState {
    pub(super) fn from_key_frame(wanted: Wanted) -> Self {
        SelectionState {
            layer: Layer {
                spatial: 0,
                temporal: wanted.layer.temporal,
            },
            target: None,
            kept: None,
            broken: 0,
            complete: 0,
            held_back: 0,
        }
    }

    pub(super) fn is_complete(&self, spatial: u8) -> bool {
        spatial < 8 && self.complete & (1 << spatial) != 0
    }

    pub(super) fn set_complete(&mut self, spatial: u8, complete: bool) {
        let bit = 1_u8.checked_shl(u32::from(spatial)).unwrap_or(0);
        self.complete = if complete {
            self.complete | bit
        } else {
            self.complete & !bit
        };
    }

    pub(super) fn switch_vp8(&mut self, wanted: Layer, temporal: u8, rules: Vp8Rules) {
        let now = &mut self.layer.temporal;
        *now = if rules.key {
            wanted.temporal
        } else {
            wanted.temporal.min(*now)
        };
        if rules.sync && temporal == now.saturating_add(1) && temporal <= wanted.temporal {
            *now = temporal;
        }
    }

    /// The decode targets the receiver can have from a frame on.
    pub(super) fn active(&self, frame: &Frame) -> Active {
        let Rules::Dependency(rules) = &frame.rules else {
            return Active::default();
        };
        let targets = rules.structure.targets_within(self.layer).intersection(rules.active);
        Active {
            targets,
            fewer: targets != rules.active,
            new: false,
        }
    }

    /// Whether a frame is sent, if it is, for nothing but to keep its size.
    pub(super) fn is_only_kept(&self, rules: &Dependencies) -> bool {
        let is_part = |target| rules.indications.get(target).is_present();
        let is_kept = self.kept.is_some_and(|kept| is_part(usize::from(kept)));
        is_kept && !self.target.is_some_and(|target| is_part(target.index))
    }

    /// A picture ended for the receiver before it was whole, and what follows in the size that is
    /// kept would refer to it. `frame` is of the next one.
    pub(super) fn lose_kept(&mut self, frame: &Frame) {
        if let (Rules::Dependency(rules), Some(kept)) = (&frame.rules, self.kept) {
            let chain = rules.structure.protecting_chain(usize::from(kept));
            self.broken |= chain.map_or(0, bit);
        }
    }

    /// Updates the selection after the decision about the newest frame.
    pub(super) fn remember(&mut self, codec: Codec, frame: &Frame, send: Result<(), Counter>) {
        if codec == Codec::Vp8 && send.is_err() {
            self.held_back = self.held_back.wrapping_add(1);
        }
        match &frame.rules {
            Rules::Vp9(rules) => match send {
                Ok(()) if !rules.inter_picture => self.set_complete(frame.layer.spatial, true),
                Err(_) if frame.layer.temporal <= self.layer.temporal => {
                    self.set_complete(frame.layer.spatial, false);
                }
                Ok(()) | Err(_) => {}
            },
            Rules::Dependency(rules) => self.remember_chains(rules, send),
            Rules::Vp8(_) | Rules::Unreadable => {}
        }
    }

    fn remember_chains(&mut self, rules: &Dependencies, send: Result<(), Counter>) {
        match send {
            Err(_) => self.broken |= rules.chains,
            Ok(()) => self.broken &= !rules.chains_started,
        }
    }
}

/// A decode target to aim at, and what it follows from.
#[derive(Debug)]
pub(super) struct Aim {
    pub(super) structure: Arc<DependencyStructure>,
    pub(super) produced: DecodeTargets,
    pub(super) wanted: Layer,
    pub(super) target: usize,
}

/// A chain's bit among those broken.
pub(super) fn bit(chain: usize) -> u32 {
    1 << chain
}
