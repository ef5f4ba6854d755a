//! The abilities of a device, which the agent plans within.

use wire::ExtensionForms;

use crate::Rewriting;

/// The abilities of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether legs and relays may have SRTP keys.
    pub srtp: bool,
    /// Whether replicas in clear may be sent by a part of the device that only copies packets: it
    /// stores none, sends no retransmissions of its own and adds no header extensions. So no such
    /// feature is to be negotiated for clear media.
    pub copies: bool,
    /// Whether copies that such a part sends carry transport-wide numbers, and are reported as
    /// [`Departures`](crate::Event::Departures). If not, no such numbers are to be negotiated for
    /// clear media: its receivers estimate their downlinks themselves (REMB), from the sending
    /// times in the packets.
    pub transport_numbers: bool,
    /// Whether it forwards RTCP as [`SetFeedback`](crate::Update::SetFeedback) says. A device that
    /// does not refuses the entry as [`Unsupported`](crate::WriteError::Unsupported).
    pub forwards_rtcp: bool,
    /// The numbering modes of replicas that leave frames out.
    pub rewriting: RewritingModes,
    /// The header extensions it reads and writes.
    pub extensions: ExtensionForms,
    /// How many legs it holds.
    pub legs_max: usize,
    /// How many streams it holds.
    pub streams_max: usize,
    /// How many replicas it holds.
    pub replicas_max: usize,
    /// How many relays it holds; none where it has no such table.
    pub relays_max: usize,
}

/// Some of the modes of [`Rewriting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewritingModes {
    /// [`Rewriting::Exact`]
    pub exact: bool,
    /// [`Rewriting::LowMemory`]
    pub low_memory: bool,
    /// [`Rewriting::LowRetransmission`]
    pub low_retransmission: bool,
}

impl RewritingModes {
    /// Every mode.
    pub const ALL: Self = RewritingModes {
        exact: true,
        low_memory: true,
        low_retransmission: true,
    };

    /// Whether this mode is among them.
    pub const fn has(self, mode: Rewriting) -> bool {
        match mode {
            Rewriting::Exact => self.exact,
            Rewriting::LowMemory => self.low_memory,
            Rewriting::LowRetransmission => self.low_retransmission,
        }
    }

    /// The wanted mode, or if it is missing, the one that loses least; exact if there is none.
    pub fn nearest(self, wanted: Rewriting) -> Rewriting {
        let by_loss = [
            wanted,
            Rewriting::Exact,
            Rewriting::LowRetransmission,
            Rewriting::LowMemory,
        ];
        let mut there = by_loss.into_iter().filter(|mode| self.has(*mode));
        there.next().unwrap_or_default()
    }
}

impl Capabilities {
    /// All features, and any number of entries: the capabilities of the model.
    pub const ALL: Self = Capabilities {
        srtp: true,
        copies: false,
        transport_numbers: true,
        forwards_rtcp: true,
        rewriting: RewritingModes::ALL,
        extensions: ExtensionForms::ALL,
        legs_max: usize::MAX,
        streams_max: usize::MAX,
        replicas_max: usize::MAX,
        relays_max: usize::MAX,
    };
}
