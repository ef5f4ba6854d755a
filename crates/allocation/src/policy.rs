//! The interface of a policy that divides an estimate.

use std::time::Instant;

use crate::{BitRate, DecodeTarget, Subscription};

/// Divides one receiver's estimate over its subscriptions.
///
/// It is called after each new estimate, change of a request, and start or stop of a layer, and a
/// few times a second while rates change.
pub trait Policy {
    /// The grants of all subscriptions from now on.
    fn allocate(&mut self, now: Instant, room: Headroom, subscriptions: &[Subscription<'_>]) -> Allocation<'_>;
}

/// The rates to divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The rate that may be sent now: less than the capacity while a queue drains.
    pub now: BitRate,
    /// The capacity of the downlink. A queue alone does not pause a video that fits into it.
    pub carried: BitRate,
    /// The rate up to which screens are raised at once, whatever was estimated before. Zero while
    /// no screen starts.
    pub screen_start: BitRate,
}

impl From<BitRate> for Headroom {
    /// Of a downlink without a queue.
    fn from(estimate: BitRate) -> Self {
        Self {
            now: estimate,
            carried: estimate,
            screen_start: BitRate(0),
        }
    }
}

/// The grants of a receiver's subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation<'a> {
    /// In the order in which the subscriptions were given.
    pub grants: &'a [Grant],
    /// The rate of all grants.
    pub used: BitRate,
    /// The rate of everything wanted at its best. While it exceeds the estimate, probing is
    /// worthwhile.
    pub wanted: BitRate,
}

/// The grant of one subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// This target.
    Send(DecodeTarget),
    /// Nothing, because even its lowest layer does not fit. The receiver should be told.
    Paused,
    /// Nothing, because it is not wanted, or nothing of it has arrived yet. The receiver need not
    /// be told.
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
