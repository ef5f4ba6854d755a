use serde::Deserialize;

use crate::design::Design;
use crate::kind::Kind;
use crate::supply::Supply;

/// A P4 program on a switch that copies rooms without encryption, by the sizes of its tables.
///
/// The tables are those of Weir's own program (`docs/design/p4.md`). A change of a receiver's rate
/// writes an entry anew, and takes branches for the layers that fewer receivers get.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Replicas with a state: one for each stream to each of its receivers.
    pub replicas: u64,
    /// Participants who receive: the numbers of copies have so many values.
    pub receivers: u64,
    /// Streams that arrive, in the table `sender`.
    pub streams: u64,
    /// Branches of multicast trees.
    pub branches: u64,
    /// Groups of one receiver, without a tree. The streams of a sender share one.
    pub unicast: u64,
    /// Bits a second, received and sent; without it, more than the tables have room for.
    pub bandwidth: Option<u64>,
}

impl Program {
    /// The first size that no table of a switch has.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let sizes = [self.replicas, self.receivers, self.streams, self.branches, self.unicast];
        let is_size = |size: &u64| (1..=u64::from(u32::MAX)).contains(size);
        (!sizes.iter().all(is_size)).then_some("the sizes of a `program` have to be from 1 to 4294967295")
    }

    /// The resources, and the units of each that a meeting of this kind needs.
    pub fn supplies(&self, kind: &Kind) -> Vec<Supply> {
        let bandwidth = self.bandwidth.unwrap_or(u64::MAX);
        let design = kind.design();
        let unicast = if design == Design::TwoParty { kind.senders } else { 0 };
        vec![
            Supply::new("replicas", "replicas", self.replicas, kind.subscriptions()),
            Supply::new("receivers", "entries", self.receivers, kind.participants),
            Supply::new("streams", "entries", self.streams, kind.senders * kind.tracks()),
            Supply::new("branches", "branches", self.branches, design.branches(kind.senders)),
            Supply::new("unicast", "groups", self.unicast, unicast),
            Supply::new("bandwidth", "bit/s", bandwidth, kind.bits()),
            Supply::new("encryption", "meetings", 0, kind.is_encrypted.into()),
        ]
    }
}
