//! The policy that divides a downlink.

use allocation::{Allocator, BitRate, PerStream, Thresholds};

use crate::config::Policy;

/// Bit rates of a camera as browsers send it at 320x180, 640x360 and 1280x720.
const SIZES: [BitRate; 3] = [BitRate::kilo(160), BitRate::kilo(450), BitRate::kilo(1_700)];

pub(super) fn divide_by(policy: Policy) -> Box<dyn allocation::Policy + Send> {
    match policy {
        Policy::Utility => Box::new(Allocator::new(allocation::Config::default())),
        Policy::Thresholds => Box::new(PerStream::new(Thresholds::sizes(&SIZES))),
    }
}
