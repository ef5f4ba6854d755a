//! The traffic of relays, as controllers of calls hear of it.

use dataplane::RelayTraffic;
use southbound::relay::{Offloaded, Traffic};

/// The counts of a relay's entry in the words of calls.
pub(super) fn reported(traffic: &RelayTraffic) -> Traffic {
    Traffic {
        packets: traffic.packets,
        bytes: traffic.bytes,
        errors: traffic.dropped,
        ssrc: traffic.ssrc.map(|ssrc| ssrc.0),
        offloaded: Offloaded {
            packets: traffic.offloaded.packets,
            bytes: traffic.offloaded.bytes,
            errors: traffic.offloaded.dropped,
        },
    }
}
