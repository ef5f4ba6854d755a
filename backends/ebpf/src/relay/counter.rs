//! The program's counters, by name.

use std::sync::Arc;

use aya::maps::{MapData, PerCpuArray};

use crate::layout::relay as layout;

counting::counters! {
    /// Results for packets that an interface with the program received for a relay.
    pub enum Counter {
        /// Relayed in the kernel.
        Relayed = "relayed",
        /// Dropped in the kernel: not from a source that the relay accepts.
        ForeignSource = "foreign_source",
        /// Dropped in the kernel: begins as RTP and is not.
        Malformed = "malformed",
        /// Left to the base: no RTP, or RTP with more of a header extension than is looked at.
        NotRtp = "not_rtp",
        /// Left to the base: no checksum, or one that its sender left to hardware.
        Unchecked = "unchecked",
        /// Left to the base: larger than a datagram may be, or than the link takes.
        TooLarge = "too_large",
        /// Left to the base: no route to the destination, or its hardware address is not known yet.
        NoNeighbour = "no_neighbour",
        /// Left to the base: its way leads through an interface without the program.
        OtherInterface = "other_interface",
        /// Left to the base: one of a relay every ten seconds, so that the stack notices when the
        /// neighbour has another hardware address.
        Confirming = "confirming",
    }
}

// In the order the program has them.
const _: () = {
    assert!(Counter::ALL.len() == layout::RELAY_COUNTS as usize);
    assert!(Counter::Relayed as u32 == layout::RELAYED && Counter::ForeignSource as u32 == layout::FOREIGN_SOURCE);
    assert!(Counter::Malformed as u32 == layout::MALFORMED && Counter::NotRtp as u32 == layout::NOT_RTP);
    assert!(Counter::Unchecked as u32 == layout::UNCHECKED && Counter::TooLarge as u32 == layout::TOO_LARGE);
    assert!(Counter::NoNeighbour as u32 == layout::NO_NEIGHBOUR);
    assert!(
        Counter::OtherInterface as u32 == layout::OTHER_INTERFACE && Counter::Confirming as u32 == layout::CONFIRMING
    );
};

/// The program's counts, to be read from anywhere.
#[derive(Clone)]
pub struct Statistics(pub(super) Arc<PerCpuArray<MapData, u64>>);

impl Statistics {
    /// The counts so far. They include those of earlier processes where the program was found.
    pub fn read(&self) -> Counters {
        let mut counters = Counters::default();
        for counter in Counter::ALL {
            // If the kernel does not answer, the counter is zero.
            let values = self.0.get(&(*counter as u32), 0);
            counters[*counter] = values.map_or(0, |values| values.iter().sum());
        }
        counters
    }
}
