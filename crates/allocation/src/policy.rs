//! What a way of dividing an estimate looks like from outside.

use std::time::Instant;

use crate::{BitRate, DecodeTarget, Subscription};

/// Divides one receiver's estimate over its subscriptions.
///
/// Asked whenever an estimate comes, a wish changes or a layer starts or stops, and a few times a
/// second while rates change.
pub trait Policy {
    /// What each subscription gets from now on.
    fn allocate(&mut self, now: Instant, room: Headroom, subscriptions: &[Subscription<'_>]) -> Allocation<'_>;
}

/// What there is to divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// What may be sent now: less than what is carried while a queue drains.
    pub now: BitRate,
    /// What the downlink carries. To pass a queue on nobody is paused who fits this.
    pub carried: BitRate,
}

impl From<BitRate> for Headroom {
    /// Of a downlink without a queue.
    fn from(estimate: BitRate) -> Self {
        Self {
            now: estimate,
            carried: estimate,
        }
    }
}

/// What a receiver's subscriptions get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation<'a> {
    /// In the order in which the subscriptions were given.
    pub grants: &'a [Grant],
    /// What all of it takes.
    pub used: BitRate,
    /// What it would take if everything were as good as is wanted. Worth probing for while it is
    /// more than the estimate.
    pub wanted: BitRate,
}

/// What one subscription gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// This target.
    Send(DecodeTarget),
    /// Nothing, since even its lowest layer finds no room. The receiver should be told.
    Paused,
    /// There is nothing to choose: it is not wanted, or nothing of it has arrived yet. Nobody needs
    /// to be told.
    Idle,
}

impl Grant {
    /// The target, if something is sent.
    pub const fn target(self) -> Option<DecodeTarget> {
        match self {
            Self::Send(target) => Some(target),
            Self::Paused | Self::Idle => None,
        }
    }
}
