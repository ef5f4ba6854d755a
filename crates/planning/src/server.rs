use serde::Deserialize;

use crate::kind::{Adaptation, Kind};
use crate::latency::Latency;
use crate::limits::NANOSECONDS;
use crate::supply::Supply;

/// A software SFU. Its capacity is a rate for each core, or follows from the costs of packets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Processor cores.
    pub cores: u64,
    /// Bits a second, received and sent, of one core, if that is all that is known of it.
    pub rate_per_core: Option<u64>,
    /// The most cores that were measured together. More of them follow from `contention_permille`.
    pub cores_measured: Option<u64>,
    /// Thousandths by which each further busy core lengthens the work of all cores, since they
    /// share caches, memory and the kernel.
    #[serde(default)]
    pub contention_permille: u64,
    /// The share of each core that may be used.
    #[serde(default = "all")]
    pub percent_of_core: u64,
    /// Microseconds in each second that the process takes without a meeting.
    #[serde(default)]
    pub base_us: u64,
    /// Microseconds in each second for each participant on the agent's one thread. They are a part
    /// of the other costs, and have to fit into one core however many there are.
    #[serde(default)]
    pub agent_us: u64,
    /// The costs of meetings with adaptation in percent of those without.
    #[serde(default = "all")]
    pub adaptation_percent: u64,
    /// The time in which a frame has to reach its last receiver; without it, any.
    pub latency: Option<Latency>,
    /// Costs in meetings with encryption. Without them, and without a rate, there are none.
    pub srtp: Option<Cost>,
    /// Costs in meetings without encryption; by default those with it.
    pub clear: Option<Cost>,
    /// Bits a second that can be sent, and as many received; without it, more than the cores can.
    pub bandwidth: Option<u64>,
    /// The memory, if it is known.
    pub memory: Option<Memory>,
}

/// Processor time of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Nanoseconds for each packet that arrives.
    pub packet_ns: u64,
    /// Nanoseconds for each copy that is sent.
    pub replica_ns: u64,
    /// Microseconds in each second for each participant, of work that is not in the other costs.
    #[serde(default)]
    pub receiver_us: u64,
}

/// Bytes of memory, and the use of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// Used without any meeting.
    pub base: u64,
    /// Used by a participant.
    pub participant: u64,
    /// Used by one track to one participant.
    pub subscription: u64,
    /// Used by the packets of a sender that are kept to be sent again.
    pub stream: u64,
    /// The same without encryption; by default as much.
    pub clear_stream: Option<u64>,
}

/// Thousandths of a whole.
const PERMILLE: u128 = 1_000;

const fn all() -> u64 {
    100
}

impl Server {
    /// The same server, on which meetings without encryption cost as much as those with it.
    pub fn encrypting(&self) -> Self {
        Self {
            clear: self.srtp,
            memory: self.memory.map(|memory| Memory {
                clear_stream: None,
                ..memory
            }),
            ..self.clone()
        }
    }

    /// Meetings of this kind at once.
    pub fn meetings(&self, kind: &Kind) -> u64 {
        let alone = self.supplies(kind).into_iter().filter_map(|supply| supply.alone());
        alone.min().unwrap_or(u64::MAX)
    }

    /// The resources, and the units of each that a meeting of this kind needs.
    pub fn supplies(&self, kind: &Kind) -> Vec<Supply> {
        let cost = self.cost(kind);
        let is_possible = self.rate_per_core.is_some() || cost.is_some();
        let encryption = u64::from(kind.is_encrypted && !is_possible);
        let cores = match self.rate_per_core {
            Some(rate) => {
                let rates = self.of_all_cores(rate) / 100 * self.percent_of_core;
                Supply::new("cores", "bit/s", rates, kind.bits())
            }
            None => {
                let used = cost.map_or(0, |cost| cost.nanoseconds(kind));
                Supply::new("cores", "ns/s", self.nanoseconds(), used)
            }
        };
        let agent = kind.participants.saturating_mul(self.agent_us * 1_000);
        let late = self.latency.zip(cost);
        let late = late.map_or((u64::MAX, 0), |(latency, cost)| {
            let alone_us = latency.of_frame_us(kind, cost.replica_ns, self.cores);
            (latency.planned_us(), self.contended(alone_us))
        });
        let bandwidth = self.bandwidth.unwrap_or(u64::MAX);
        let memory = self.memory.unwrap_or(Memory::UNKNOWN);
        vec![
            cores,
            Supply::new("agent", "ns/s", self.agent_nanoseconds(), agent),
            Supply {
                adds_up: false,
                ..Supply::new("latency", "us of a frame", late.0, late.1)
            },
            Supply::new("bandwidth", "bit/s sent", bandwidth, kind.bits_sent()),
            Supply::new(
                "memory",
                "bytes",
                memory.total.saturating_sub(memory.base),
                memory.of(kind),
            ),
            Supply::new("encryption", "meetings", 0, encryption),
        ]
    }

    /// The costs of packets in a meeting of this kind.
    fn cost(&self, kind: &Kind) -> Option<Cost> {
        let cost = if kind.is_encrypted {
            self.srtp
        } else {
            self.clear.or(self.srtp)
        };
        match kind.adaptation {
            Adaptation::None => cost,
            Adaptation::Receivers | Adaptation::Pairs => cost.map(|cost| cost.scaled(self.adaptation_percent)),
        }
    }

    /// The costs of encrypted packets with adaptation.
    pub(crate) fn adapting(&self) -> Option<Cost> {
        self.srtp.map(|cost| cost.scaled(self.adaptation_percent))
    }

    /// Nanoseconds of all cores in each second that meetings may use.
    pub(crate) fn nanoseconds(&self) -> u64 {
        let all = self.of_all_cores(NANOSECONDS) / 100 * self.percent_of_core;
        all.saturating_sub(self.base_us * 1_000)
    }

    /// The work of all cores together, if one alone does so much.
    ///
    /// Source: G. M. Amdahl, "Validity of the single processor approach to achieving large scale
    /// computing capabilities", 1967, in the form N / (1 + c (N - 1)) of Gunther's universal
    /// scalability law without its second term, which two cores cannot tell.
    fn of_all_cores(&self, alone: u64) -> u64 {
        let all = u128::from(self.cores) * u128::from(alone) * PERMILLE / self.slowness();
        u64::try_from(all).unwrap_or(u64::MAX)
    }

    /// Time that work takes while all cores are busy, if it takes so long alone; rounded up.
    fn contended(&self, alone: u64) -> u64 {
        let time = (u128::from(alone) * self.slowness()).div_ceil(PERMILLE);
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Thousandths of the time alone that work takes while all cores are busy.
    fn slowness(&self) -> u128 {
        PERMILLE + u128::from(self.contention_permille) * u128::from(self.cores.saturating_sub(1))
    }

    /// Nanoseconds in each second that the agent's thread may use.
    pub(crate) fn agent_nanoseconds(&self) -> u64 {
        NANOSECONDS / 100 * self.percent_of_core
    }
}

impl Cost {
    /// Nanoseconds in each second.
    fn nanoseconds(&self, kind: &Kind) -> u64 {
        let receivers = kind.participants * self.receiver_us * 1_000;
        kind.packets_received(self.packet_ns) + kind.packets_sent(self.replica_ns) + receivers
    }

    /// So many percent of it, rounded up.
    fn scaled(self, percent: u64) -> Self {
        let of = |cost: u64| (cost * percent).div_ceil(100);
        Self {
            packet_ns: of(self.packet_ns),
            replica_ns: of(self.replica_ns),
            receiver_us: of(self.receiver_us),
        }
    }
}

impl Memory {
    /// Memory of which nothing is known does not bind.
    const UNKNOWN: Self = Self {
        total: u64::MAX,
        base: 0,
        participant: 0,
        subscription: 0,
        stream: 0,
        clear_stream: None,
    };

    fn of(&self, kind: &Kind) -> u64 {
        let stream = self.clear_stream.filter(|_| !kind.is_encrypted).unwrap_or(self.stream);
        kind.participants * self.participant + kind.subscriptions() * self.subscription + kind.senders * stream
    }
}
