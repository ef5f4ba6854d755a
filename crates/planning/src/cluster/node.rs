//! The resources of a media node.

use super::ClusterError;
use super::load::{Encodings, Rate, whole};
use crate::server::{Cost, Memory, Server};

/// The resources of one node, as a server's file has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaNode {
    cost: Cost,
    memory: Option<Memory>,
    cores: u64,
    nanoseconds: u64,
    agent_ns: u64,
    agent_nanoseconds: u64,
    bandwidth: u64,
}

/// A use of a node in each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    nanoseconds: u128,
    agent: u128,
    bits_sent: u128,
    memory: u128,
    transports: u128,
}

/// The number that fits, and the resource that binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) number: u64,
    pub(super) binding: &'static str,
}

impl MediaNode {
    /// Errors: the costs of a packet are not known.
    pub(super) fn new(server: &Server) -> Result<Self, ClusterError> {
        let cost = server.adapting().ok_or_else(|| {
            ClusterError("a cluster is planned of servers whose costs in `srtp` are known, such as weir-udp".into())
        })?;
        Ok(MediaNode {
            cost,
            memory: server.memory,
            cores: server.cores,
            nanoseconds: server.nanoseconds(),
            agent_ns: server.agent_us * 1_000,
            agent_nanoseconds: server.agent_nanoseconds(),
            bandwidth: server.bandwidth.unwrap_or(u64::MAX),
        })
    }

    pub(super) fn describe(&self) -> String {
        match self.bandwidth {
            u64::MAX => format!("{} cores", self.cores),
            bandwidth => format!("{} cores and {} Gbit/s", self.cores, bandwidth / 1_000_000_000),
        }
    }

    /// One publisher's streams that arrive, from itself or over a trunk, and are kept to be sent
    /// again.
    pub(super) fn arriving(&self, encodings: &Encodings) -> Use {
        let kept = self.memory.map_or(0, |memory| memory.stream);
        Use {
            nanoseconds: encodings.whole().nanoseconds(self.cost.packet_ns).into(),
            memory: u128::from(kept) * u128::from(encodings.streams()),
            ..Use::default()
        }
    }

    /// One publisher's streams to another node.
    pub(super) fn crossing(&self, encodings: &Encodings) -> Use {
        self.sending(encodings.whole(), encodings.streams())
    }

    /// One publisher's streams to a viewer.
    pub(super) fn viewing(&self, encodings: &Encodings) -> Use {
        self.sending(encodings.viewed(), encodings.tracks())
    }

    fn sending(&self, rate: Rate, subscriptions: u64) -> Use {
        let subscription = self.memory.map_or(0, |memory| memory.subscription);
        Use {
            nanoseconds: rate.nanoseconds(self.cost.replica_ns).into(),
            bits_sent: rate.bits().into(),
            memory: u128::from(subscription) * u128::from(subscriptions),
            ..Use::default()
        }
    }

    /// The transport of a participant or of a trunk.
    pub(super) fn transport(&self) -> Use {
        Use {
            nanoseconds: u128::from(self.cost.receiver_us) * 1_000,
            memory: self.memory.map_or(0, |memory| memory.participant).into(),
            transports: 1,
            agent: self.agent_ns.into(),
            bits_sent: 0,
        }
    }

    /// How often `part` fits beside `fixed`.
    pub(super) fn fit(&self, fixed: Use, part: Use, transports: u64) -> Fit {
        let memory = self
            .memory
            .map_or(u64::MAX, |memory| memory.total.saturating_sub(memory.base));
        let resources = [
            ("cores", self.nanoseconds, fixed.nanoseconds, part.nanoseconds),
            ("turns of the agent", self.agent_nanoseconds, fixed.agent, part.agent),
            ("bandwidth", self.bandwidth, fixed.bits_sent, part.bits_sent),
            ("memory", memory, fixed.memory, part.memory),
            ("transports", transports, fixed.transports, part.transports),
        ];
        let fits = resources.map(|(binding, supply, fixed, part)| Fit {
            number: whole(
                u128::from(supply)
                    .saturating_sub(fixed)
                    .checked_div(part)
                    .unwrap_or(u128::MAX),
            ),
            binding,
        });
        fits.into_iter().min_by_key(|fit| fit.number).expect("there are five")
    }
}

impl Use {
    /// The use of so many of them.
    pub(super) fn times(self, number: u64) -> Use {
        let number = u128::from(number);
        Use {
            nanoseconds: self.nanoseconds * number,
            agent: self.agent * number,
            bits_sent: self.bits_sent * number,
            memory: self.memory * number,
            transports: self.transports * number,
        }
    }

    pub(super) fn and(self, other: Use) -> Use {
        Use {
            nanoseconds: self.nanoseconds + other.nanoseconds,
            agent: self.agent + other.agent,
            bits_sent: self.bits_sent + other.bits_sent,
            memory: self.memory + other.memory,
            transports: self.transports + other.transports,
        }
    }
}
