//! Statistics for dashboards beside counters: outcomes of ended calls, requests of each proxy and
//! their durations, and both over intervals.
//!
//! The counts of a call are known when it ends, so ports are not asked for statistics during calls.

mod interval;
mod rates;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use interval::Intervals;
pub use interval::{Interval, Span};
pub use rates::Rates;
pub(crate) use rates::Rounds;

use southbound::relay::Traffic;

use crate::call::{Call, Component};
use crate::limits::PROXIES_MAX;
pub use crate::ports::Pool;
use crate::quality::Scores;

/// The requests of proxies, in either protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// `ping`, `V`.
    Ping,
    /// `offer`, `U`.
    Offer,
    /// `answer`, `L`.
    Answer,
    /// `delete`, `D` and `X`.
    Delete,
    /// `query`, `Q`.
    Query,
    /// `list`.
    List,
    /// `statistics`, `I`.
    Statistics,
}

impl Command {
    /// All of them.
    pub const ALL: [Command; 7] = [
        Command::Ping,
        Command::Offer,
        Command::Answer,
        Command::Delete,
        Command::Query,
        Command::List,
        Command::Statistics,
    ];

    /// Its name in rtpengine.
    pub const fn name(self) -> &'static str {
        match self {
            Command::Ping => "ping",
            Command::Offer => "offer",
            Command::Answer => "answer",
            Command::Delete => "delete",
            Command::Query => "query",
            Command::List => "list",
            Command::Statistics => "statistics",
        }
    }
}

/// How calls went that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ended {
    /// How many.
    pub calls: u64,
    /// How long they took together.
    pub duration: Duration,
    /// The sum of the squares of that, in seconds squared.
    pub squares: f64,
    /// Pairs of streams of which one had no packet.
    pub one_way: u64,
    /// Pairs of streams of which neither had one.
    pub silent: u64,
}

impl Ended {
    /// The mean of durations, in seconds.
    pub fn mean(&self) -> f64 {
        self.duration.as_secs_f64() / self.calls.max(1) as f64
    }

    /// How far they are from it.
    pub fn deviation(&self) -> f64 {
        let variance = self.squares / self.calls.max(1) as f64 - self.mean() * self.mean();
        variance.max(0.0).sqrt()
    }
}

/// The requests of one proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// How often, by command.
    pub counts: [u64; Command::ALL.len()],
    /// How long that took together, until the reply.
    pub durations: [Duration; Command::ALL.len()],
    /// Requests answered with an error.
    pub errors: u64,
}

/// Everything, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// How long the relay has been there.
    pub uptime: Duration,
    /// The number of calls, including those that are over and still kept.
    pub calls: usize,
    /// Relayed traffic, as far as ports have reported it.
    pub relayed: Traffic,
    /// Rates of that, while they are watched.
    pub rates: Rates,
    /// How calls went that have ended.
    pub ended: Ended,
    /// The requests of each proxy. The unspecified address stands for unknown proxies and for those
    /// beyond the limit.
    pub proxies: Vec<(IpAddr, Proxy)>,
    /// The ports of each interface.
    pub pools: Vec<Pool>,
    /// The last whole interval.
    pub interval: Interval,
}

/// The running counts.
#[derive(Debug)]
pub(crate) struct Statistics {
    started: Instant,
    ended: Ended,
    proxies: BTreeMap<IpAddr, Proxy>,
    intervals: Intervals,
    pub(crate) rounds: Rounds,
    pub(crate) scores: Scores,
    /// All that was ever relayed.
    relayed: Traffic,
}

/// The kind of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) command: Option<Command>,
    pub(crate) failed: bool,
}

impl Statistics {
    pub(crate) fn new(now: Instant) -> Self {
        Statistics {
            started: now,
            ended: Ended::default(),
            proxies: BTreeMap::new(),
            intervals: Intervals::new(now),
            rounds: Rounds::default(),
            scores: Scores::default(),
            relayed: Traffic::default(),
        }
    }

    /// Everything as of now, with so many calls and these ports.
    pub(crate) fn snapshot(&mut self, now: Instant, calls: usize, pools: Vec<Pool>) -> Snapshot {
        Snapshot {
            uptime: now.saturating_duration_since(self.started),
            calls,
            relayed: self.relayed,
            rates: self.rounds.rates(),
            ended: self.ended,
            proxies: self.proxies.iter().map(|(from, proxy)| (*from, *proxy)).collect(),
            pools,
            interval: self.intervals.last(now, calls),
        }
    }

    /// All that was ever relayed.
    pub(crate) fn total(&self) -> Traffic {
        self.relayed
    }

    /// A port reported its traffic since it was opened, which was `before` at its last report.
    pub(crate) fn relayed(&mut self, before: Traffic, traffic: Traffic) {
        let total = &mut self.relayed;
        total.packets += traffic.packets.saturating_sub(before.packets);
        total.bytes += traffic.bytes.saturating_sub(before.bytes);
        total.errors += traffic.errors.saturating_sub(before.errors);
        let (part, traffic, before) = (&mut total.offloaded, traffic.offloaded, before.offloaded);
        part.packets += traffic.packets.saturating_sub(before.packets);
        part.bytes += traffic.bytes.saturating_sub(before.bytes);
        part.errors += traffic.errors.saturating_sub(before.errors);
    }

    /// The ports to ask for their traffic now, of all that relay.
    pub(crate) fn ask_ports(&mut self, now: Instant, relaying: impl FnOnce() -> Vec<SocketAddr>) -> Vec<SocketAddr> {
        self.rounds.ask(now, self.relayed, relaying)
    }

    /// A request was answered.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        from: Option<IpAddr>,
        took: Duration,
        outcome: Outcome,
        calls: usize,
    ) {
        const NOBODY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);
        let known = from.filter(|from| self.proxies.contains_key(from) || self.proxies.len() < PROXIES_MAX);
        let proxy = self.proxies.entry(known.unwrap_or(NOBODY)).or_default();
        proxy.errors += u64::from(outcome.failed);
        if let Some(command) = outcome.command {
            proxy.counts[command as usize] += 1;
            proxy.durations[command as usize] += took;
            self.intervals.at(now, calls).asked(now, command, took);
        }
    }

    /// A call has ended.
    pub(crate) fn ended(&mut self, now: Instant, call: &Call, calls: usize) {
        let duration = now.saturating_duration_since(call.created);
        let seconds = duration.as_secs_f64();
        self.ended.calls += 1;
        self.ended.duration += duration;
        self.ended.squares += seconds * seconds;
        for packets in answered_pairs(call) {
            match packets {
                [0, 0] => self.ended.silent += 1,
                [0, _] | [_, 0] => self.ended.one_way += 1,
                _ => {}
            }
        }
        self.intervals.at(now, calls).ended(duration);
    }
}

/// RTP packets from either party of each section that both wanted.
fn answered_pairs(call: &Call) -> impl Iterator<Item = [u64; 2]> {
    let answered = call.dialogues.iter().filter(|dialogue| dialogue.answered);
    let sections = answered.flat_map(|dialogue| &dialogue.media);
    let wanted = sections.filter(|media| !media.refused && media.sides.iter().all(|side| side.local.is_some()));
    wanted.map(|media| {
        let packets = |end: usize| media.sides[end].traffic[Component::Rtp as usize].packets;
        [packets(0), packets(1)]
    })
}
