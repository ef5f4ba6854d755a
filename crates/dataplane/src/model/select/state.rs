//! The selection after a frame, and the changes that a frame makes to it.

use std::collections::BTreeSet;

use wire::Codec;
use wire::codec::Layer;
use wire::codec::dependency::DecodeTargets;

use crate::Counter;
use crate::model::frame::{Frame, Rules};

/// The selection after some frame.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The highest layer it gets.
    pub(super) current: Layer,
    /// The decode target it gets, of the structure that this frame carried.
    pub(super) decode_target: Option<(u64, usize)>,
    /// The one it keeps beside it, of the same structure.
    pub(super) kept_target: Option<usize>,
    /// Chains of which a frame was held back, and which did not start again.
    pub(super) broken: BTreeSet<usize>,
    /// VP9: the spatial layers of which everything was sent since a frame that needs no other
    /// picture.
    pub(super) complete: BTreeSet<u8>,
    /// Pictures that were held back in this segment: by so much VP8's picture ids close up.
    pub(super) held_back: u16,
    /// Frames are identified by VP8's descriptor.
    pub(super) is_of_vp8: bool,
}

/// The decode targets a receiver can have.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::model) struct Active {
    pub targets: DecodeTargets,
    /// They are fewer than the sender produces.
    pub fewer: bool,
    /// They differ from those the receiver knows.
    pub new: bool,
}

impl State {
    /// The decode targets the receiver can have from a frame on.
    pub(super) fn active(&self, frame: &Frame) -> Active {
        let Rules::Dependency(rules) = &frame.rules else {
            return Active::default();
        };
        let targets = rules.structure.targets_within(self.current).intersection(rules.active);
        Active {
            targets,
            fewer: targets != rules.active,
            new: false,
        }
    }

    /// Whether a frame is sent, if it is, for nothing but to keep its size.
    pub(super) fn is_only_kept(&self, frame: &Frame) -> bool {
        let Rules::Dependency(rules) = &frame.rules else {
            return false;
        };
        let is_part = |target: usize| rules.indications.get(target).is_present();
        let is_selected = self.decode_target.is_some_and(|(_, target)| is_part(target));
        self.kept_target.is_some_and(is_part) && !is_selected
    }

    /// A picture ended for the receiver before it was whole. `frame` is of the next one.
    pub(super) fn lose_kept(&mut self, frame: &Frame) {
        if let (Rules::Dependency(rules), Some(kept)) = (&frame.rules, self.kept_target) {
            self.broken.extend(rules.structure.protecting_chain(kept));
        }
    }

    /// Records the effect of the newest frame's decision on later frames.
    pub(super) fn remember(&mut self, codec: Codec, frame: &Frame, send: Result<(), Counter>) {
        if codec == Codec::Vp8 && send.is_err() {
            self.held_back = self.held_back.wrapping_add(1);
        }
        match &frame.rules {
            Rules::Vp9 { inter_picture, .. } => {
                if send.is_ok() && !inter_picture {
                    self.complete.insert(frame.layer.spatial);
                }
                if send.is_err() && frame.layer.temporal <= self.current.temporal {
                    self.complete.remove(&frame.layer.spatial);
                }
            }
            Rules::Dependency(rules) if send.is_err() => self.broken.extend(&rules.chains),
            Rules::Dependency(rules) => {
                let starts = |chain: &&usize| rules.previous.get(**chain).is_some_and(Option::is_none);
                for chain in rules.chains.iter().filter(starts) {
                    self.broken.remove(chain);
                }
            }
            Rules::Vp8 { .. } | Rules::Unreadable => {}
        }
    }
}
