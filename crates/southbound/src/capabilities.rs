//! The abilities of a media node.

use wire::ExtensionForms;

/// The abilities of a node's data plane. The controller agrees with peers on nothing else, and
/// knows by the numbers which node has room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether media may be encrypted. If not, transports and relays that need keys are refused.
    pub srtp: bool,
    /// Whether media in clear may be forwarded by a device that only copies packets: then nothing
    /// is agreed on that such a device cannot do.
    pub copies: bool,
    /// Whether copies of such a device carry transport-wide numbers. If not, receivers of clear
    /// media are to estimate their downlinks themselves (REMB).
    pub transport_numbers: bool,
    /// How a stream may be renumbered where frames are left out of it.
    pub rewriting: RewritingModes,
    /// The forms of header extensions in packets.
    pub extensions: ExtensionForms,
    /// How many transports there may be.
    pub transports_max: u64,
    /// How many streams may arrive.
    pub streams_max: u64,
    /// How many copies of them may be sent.
    pub replicas_max: u64,
    /// How many ports relayed calls may have.
    pub relays_max: u64,
}

/// The modes of renumbering a device has; `crates/rewriting` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewritingModes {
    /// By every packet of the source, sent or not.
    pub exact: bool,
    /// S-LM, by the newest frame that was sent.
    pub low_memory: bool,
    /// S-LR, by that and three before it.
    pub low_retransmission: bool,
}

impl Capabilities {
    /// Everything, any number of times; no device that only copies.
    pub const ALL: Self = Capabilities {
        srtp: true,
        copies: false,
        transport_numbers: true,
        rewriting: RewritingModes {
            exact: true,
            low_memory: true,
            low_retransmission: true,
        },
        extensions: ExtensionForms::ALL,
        transports_max: u64::MAX,
        streams_max: u64::MAX,
        replicas_max: u64::MAX,
        relays_max: u64::MAX,
    };
}
