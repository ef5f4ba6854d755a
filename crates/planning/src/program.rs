use serde::Deserialize;

use crate::kind::Kind;
use crate::supply::Supply;

/// A P4 program on a switch that copies rooms without encryption, by the sizes of its tables.
///
/// The tables are those of Weir's own program (`docs/design/p4.md`). A change of a receiver's rate
/// writes an entry anew, so adaptation takes no more of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Replicas with a state: one for each stream to each of its receivers.
    pub replicas: u64,
    /// Participants who receive, in the table `receiver`.
    pub receivers: u64,
    /// Streams that arrive, in the table `sender`.
    pub streams: u64,
    /// Groups that packets are copied to. Streams with the same receivers share one.
    pub groups: u64,
    /// Bits a second, received and sent; without it, more than the tables have room for.
    pub bandwidth: Option<u64>,
}

impl Program {
    /// The first size that no table of a switch has.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let sizes = [self.replicas, self.receivers, self.streams, self.groups];
        let is_size = |size: &u64| (1..=u64::from(u32::MAX)).contains(size);
        (!sizes.iter().all(is_size)).then_some("the sizes of a `program` have to be from 1 to 4294967295")
    }

    /// The resources, and the units of each that a meeting of this kind needs.
    pub fn supplies(&self, kind: &Kind) -> Vec<Supply> {
        let bandwidth = self.bandwidth.unwrap_or(u64::MAX);
        vec![
            Supply::new("replicas", "replicas", self.replicas, kind.subscriptions()),
            Supply::new("receivers", "entries", self.receivers, kind.participants),
            Supply::new("streams", "entries", self.streams, kind.senders * kind.tracks()),
            Supply::new("groups", "groups", self.groups, groups(kind)),
            Supply::new("bandwidth", "bit/s", bandwidth, kind.bits()),
            Supply::new("encryption", "meetings", 0, kind.is_encrypted.into()),
        ]
    }
}

/// Groups of one meeting. The streams of more than two participants share one, in which a sender
/// gets no copy of its own. In a call of two the streams of each sender have the other as receiver.
fn groups(kind: &Kind) -> u64 {
    match kind.participants {
        0..=2 => kind.senders,
        _ => 1,
    }
}
