//! Learning of a party's address from its packets.
//!
//! A description states the address at which a party wants media. Behind a NAT its packets have
//! another source, and media must be sent to that. Each description opens a window in which sources
//! are compared. The best one at the end of the window is the party, and from then on packets of
//! other sources are dropped. With an unchanged description a party may still have another address
//! at its NAT, so a known address counts in a new window only once a packet arrives from it.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use crate::config::Learning;
use crate::limits::RIVAL_WAIT;

/// The source of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    state: State,
    /// The source of packets before the party moved. Late packets from it are not learned.
    left: Option<Left>,
    /// A higher number makes the data plane report a source again.
    window: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No packet arrived since the last description. Until one does, media is sent to the known
    /// address.
    Waiting {
        known: Option<SocketAddr>,
    },
    Learning(Candidates),
    Settled(SocketAddr),
}

/// Sources of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidates {
    /// The best source so far.
    from: SocketAddr,
    /// Known from before this window, without a packet in it yet. It is preferred to another source
    /// of the same likeness.
    senior: Option<SocketAddr>,
    /// A source as likely as the best. It takes its place if the best falls silent.
    rival: Option<Rival>,
    until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rival {
    from: SocketAddr,
    /// Its first packet after the last one of the best.
    since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    from: SocketAddr,
    /// A party that still sends from there at this time has not moved; `None` until a packet
    /// arrives.
    until: Option<Instant>,
}

/// The facts that a source is judged by.
pub(super) struct Rules {
    pub(super) learning: Learning,
    pub(super) handover: bool,
    pub(super) expected: SocketAddr,
    /// The source of its description.
    pub(super) received: Option<IpAddr>,
    pub(super) now: Instant,
    pub(super) window: Duration,
}

/// The likeness of a source to the described address. The order is rtpengine's, with two additions:
/// the network counts like the port, as NATs often keep one of the two, and the source of the
/// description counts like the address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    None,
    PortOrNetwork,
    Address,
    Exact,
}

impl Default for State {
    fn default() -> Self {
        State::Waiting { known: None }
    }
}

impl Source {
    /// A source known to an earlier process, settled or still being learned.
    pub(crate) fn resumed(known: Option<SocketAddr>, is_settled: bool) -> Self {
        let state = match known {
            Some(from) if is_settled => State::Settled(from),
            known => State::Waiting { known },
        };
        Source {
            state,
            ..Self::default()
        }
    }

    /// The party's address as learned from packets.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self.state {
            State::Waiting { known } => known,
            State::Learning(candidates) => Some(candidates.from),
            State::Settled(from) => Some(from),
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled().is_some()
    }

    /// The party's address, once no other is learned.
    pub(super) fn settled(&self) -> Option<SocketAddr> {
        match self.state {
            State::Settled(from) => Some(from),
            State::Waiting { .. } | State::Learning(_) => None,
        }
    }

    /// The number of the present window.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// When [`settle`](Self::settle) is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let window = match self.state {
            State::Learning(Candidates { rival: Some(rival), .. }) => Some(rival.since + RIVAL_WAIT),
            State::Learning(Candidates { until, .. }) => Some(until),
            State::Waiting { .. } | State::Settled(_) => None,
        };
        let left = self.left.and_then(|left| left.until);
        window.into_iter().chain(left).min()
    }

    /// The party described itself, at the same address as before or at another: a new window.
    pub(crate) fn describe(&mut self, moved: bool, closes: Instant) {
        let known = self.address();
        match (&mut self.state, known) {
            (State::Waiting { known: None }, _) => {}
            (_, known) if moved => {
                self.left = known.map(|from| Left { from, until: None });
                self.begin(None);
            }
            (State::Waiting { .. }, _) => {}
            // It was heard just now.
            (State::Learning(candidates), _) => candidates.until = closes,
            (State::Settled(_), known) => self.begin(known),
        }
    }

    fn begin(&mut self, known: Option<SocketAddr>) {
        self.state = State::Waiting { known };
        self.window += 1;
    }

    /// Forgets all sources.
    pub(crate) fn reset(&mut self) {
        self.left = None;
        self.begin(None);
    }

    /// The party proved that it is there.
    pub(super) fn prove(&mut self, from: SocketAddr) {
        self.state = State::Settled(from);
    }

    /// A packet arrived from this source; returns whether it is accepted as the party's.
    pub(super) fn learn(&mut self, from: SocketAddr, rules: &Rules) -> bool {
        if let Some(left) = &mut self.left
            && left.from == from
            && from != rules.expected
        {
            left.until.get_or_insert(rules.now + rules.window);
            return false;
        }
        let is_said = rules.learning == Learning::Heuristic && from == rules.expected;
        self.state = match self.state {
            State::Settled(_) if !rules.handover => return false,
            State::Settled(_) => State::Settled(from),
            // No better source can follow.
            _ if is_said || rules.learning == Learning::Immediate => State::Settled(from),
            State::Waiting { known } => State::Learning(Candidates {
                from,
                senior: known.filter(|known| *known != from),
                rival: None,
                until: rules.now + rules.window,
            }),
            State::Learning(mut candidates) => {
                candidates.compare(from, rules);
                State::Learning(candidates)
            }
        };
        true
    }

    /// The learned address stays.
    pub(crate) fn settle(&mut self, now: Instant) {
        if self.left.and_then(|left| left.until).is_some_and(|until| until <= now) {
            // A source that still sends there is reported again.
            self.left = None;
            self.window += 1;
        }
        if let State::Learning(candidates) = &mut self.state {
            if let Some(rival) = candidates.rival.filter(|rival| rival.since + RIVAL_WAIT <= now) {
                (candidates.from, candidates.rival) = (rival.from, None);
            }
            if candidates.rival.is_none() && candidates.until <= now {
                self.state = State::Settled(candidates.from);
            }
        }
    }
}

impl Candidates {
    fn compare(&mut self, from: SocketAddr, rules: &Rules) {
        if from == self.from {
            self.rival = None;
            return;
        }
        if rules.learning != Learning::Heuristic {
            self.from = from;
            return;
        }
        let [new, best] = [from, self.from].map(|from| rules.likeness(from));
        if new > best || new == best && self.senior == Some(from) {
            (self.from, self.senior, self.rival) = (from, None, None);
        } else if new == best {
            self.rival.get_or_insert(Rival { from, since: rules.now });
        }
    }
}

impl Rules {
    fn likeness(&self, from: SocketAddr) -> Likeness {
        let expected = self.expected;
        match (from.ip() == expected.ip(), from.port() == expected.port()) {
            (true, true) => Likeness::Exact,
            (true, false) => Likeness::Address,
            // A NAT that changed the source of SIP also changes that of media.
            (false, _) if self.received == Some(from.ip()) => Likeness::Address,
            (false, true) => Likeness::PortOrNetwork,
            (false, false) if network(from.ip()) == network(expected.ip()) => Likeness::PortOrNetwork,
            (false, false) => Likeness::None,
        }
    }
}

/// The network that one site usually has: a /24 of IPv4, a /64 of IPv6.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::from((u32::from(ip) & !0xff).to_be_bytes()),
        IpAddr::V6(ip) => IpAddr::from((u128::from(ip) & !0xffff_ffff_ffff_ffff).to_be_bytes()),
    }
}
