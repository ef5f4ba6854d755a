//! The state machine of all calls.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use environment::Random;
use southbound::relay::{RelayCommand, RelayNotice, Traffic};

use crate::call::{CallName, Context, Ending};
use crate::cookies::Cookies;
use crate::ports::Ports;
use crate::quality::{Sample, Scores};
use crate::requests::Waiting;
use crate::statistics::{Outcome, Snapshot, Statistics};
use crate::{Call, Config, ConfigRefused, Counter, Counters, Request, RequestId, WallClock};

/// Input of the relay.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A proxy asks for something.
    Request(RequestId, Request<'a>),
    /// Something the media node tells.
    Notice(RelayNotice),
}

/// Actions for the caller, to be done in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The media node does this. Every [`RelayCommand::Open`] and every [`RelayCommand::Report`] is
    /// to be answered by an observation.
    Command(RelayCommand),
    /// A call timed out, for which notification was requested.
    Notify {
        /// The socket to tell, as the proxy named it.
        socket: String,
        /// The text to write to it.
        tag: String,
    },
    /// A requested feature of a call is not supported. Reported once for each call and name.
    Undone {
        /// The call.
        call: Arc<[u8]>,
        /// Its name, as the proxy wrote it.
        what: String,
    },
    /// The answer to a request. One without a cookie that it could have, or that was asked twice at
    /// once, is not answered.
    Reply {
        /// The request.
        to: RequestId,
        /// The answer.
        bytes: Arc<[u8]>,
    },
}

/// All calls, and all that is known of them.
pub struct Relay {
    pub(crate) config: Config,
    pub(crate) clock: WallClock,
    pub(crate) started: Instant,
    pub(crate) calls: HashMap<CallName, Call>,
    pub(crate) counters: Counters,
    /// All that was ever relayed.
    pub(crate) relayed: Traffic,
    pub(crate) ports: Ports,
    /// The relay's name in descriptions, so that one does not pass through it twice.
    pub(crate) instance: String,
    pub(crate) ng_cookies: Cookies,
    pub(crate) rtpproxy_cookies: Cookies,
    pub(crate) waiting: Waiting,
    /// The call of each of our addresses.
    pub(crate) owners: HashMap<SocketAddr, CallName>,
    /// Calls that have changed since the last query.
    pub(crate) changed: BTreeSet<CallName>,
    pub(crate) scores: Scores,
    pub(crate) statistics: Statistics,
    /// The kind of the request that is carried out.
    pub(crate) outcome: Outcome,
    random: Random,
    deadlines: BTreeSet<(Instant, CallName)>,
}

impl Relay {
    /// A relay without calls. `seed` is all the randomness there is: which ports, keys and ICE
    /// passwords.
    ///
    /// Errors: see [`ConfigRefused`].
    pub fn new(config: Config, clock: WallClock, seed: [u8; 32]) -> Result<Self, ConfigRefused> {
        let mut random = Random::new(seed);
        let ports = Ports::new(&config.interfaces, &mut random)?;
        Ok(Self {
            config,
            clock,
            started: clock.now,
            calls: HashMap::new(),
            counters: Counters::default(),
            relayed: Traffic::default(),
            ports,
            instance: random.credentials().ufrag,
            random,
            ng_cookies: Cookies::default(),
            rtpproxy_cookies: Cookies::default(),
            waiting: Waiting::default(),
            changed: BTreeSet::new(),
            scores: Scores::default(),
            statistics: Statistics::new(clock.now),
            outcome: Outcome::default(),
            owners: HashMap::new(),
            deadlines: BTreeSet::new(),
        })
    }

    /// Handles one input, and appends actions to `out`.
    pub fn handle(&mut self, now: Instant, input: Input<'_>, out: &mut Vec<Output>) {
        self.handle_timeout(now, out);
        match input {
            Input::Request(id, request) => self.request(now, id, request, out),
            Input::Notice(notice) => {
                self.on_notice(now, notice, out);
                // It may be the last that was waited for.
                self.handle_timeout(now, out);
            }
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due, without other input.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let calls = self.deadlines.first().map(|(at, _)| *at);
        let rounds = self.statistics.rounds.next();
        let others = self.waiting.next_deadline().into_iter().chain(rounds);
        calls.into_iter().chain(others).min()
    }

    /// Whether a request is still to be answered.
    pub fn is_waiting(&self, request: RequestId) -> bool {
        self.waiting.holds(request)
    }

    /// Counters of the relay.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Quality of streams, over all reports so far.
    pub fn scores(&self) -> &Scores {
        &self.scores
    }

    /// Statistics for dashboards.
    pub fn snapshot(&mut self, now: Instant) -> Snapshot {
        let calls = self.calls.len();
        Snapshot {
            uptime: now.saturating_duration_since(self.started),
            calls,
            relayed: self.relayed,
            rates: self.statistics.rounds.rates(),
            ended: self.statistics.ended,
            proxies: self
                .statistics
                .proxies
                .iter()
                .map(|(from, proxy)| (*from, *proxy))
                .collect(),
            pools: self.ports.pools(),
            interval: self.statistics.intervals.last(now, calls),
        }
    }

    /// The number of calls, including those that are over and still kept.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// How many pairs of ports are in use.
    pub fn port_pairs(&self) -> usize {
        self.ports.taken()
    }

    fn on_notice(&mut self, now: Instant, notice: RelayNotice, out: &mut Vec<Output>) {
        match notice {
            RelayNotice::Opened { at } => self.opened(now, at, out),
            RelayNotice::Refused { at, why } => self.refused(now, at, why, out),
            RelayNotice::Source { at, .. } | RelayNotice::Quality { at, .. } => {
                self.on_call_notice(now, at, notice, out)
            }
            RelayNotice::Traffic { at, .. } => {
                self.on_call_notice(now, at, notice, out);
                self.reported(now, at, out);
            }
        }
    }

    fn on_call_notice(&mut self, now: Instant, at: SocketAddr, notice: RelayNotice, out: &mut Vec<Output>) {
        let Some(name) = self.owners.get(&at).cloned() else {
            return self.counters.count(Counter::ReportStale);
        };
        let mut call = self.calls.remove(&name).expect("an address in use belongs to a call");
        let unix = self.clock.unix(now);
        let sides = call.dialogues.iter_mut().flat_map(|dialogue| dialogue.sides_mut());
        // Relayed media are before offered ones with the same port.
        let mut is_relayed = true;
        for side in sides {
            let Some(component) = side.component_at(at) else {
                continue;
            };
            match notice {
                RelayNotice::Source { from, .. } => {
                    let outcome = match self.config.destinations.permit(at.ip(), from) {
                        true => side.learn(component, from, now, &self.config),
                        false => Counter::SourceRefused,
                    };
                    self.counters[outcome] += u64::from(is_relayed);
                }
                RelayNotice::Traffic { traffic, idle, .. } => {
                    let before = std::mem::replace(&mut side.traffic[component as usize], traffic);
                    if is_relayed {
                        self.relayed.packets += traffic.packets.saturating_sub(before.packets);
                        self.relayed.bytes += traffic.bytes.saturating_sub(before.bytes);
                        self.relayed.errors += traffic.errors.saturating_sub(before.errors);
                    }
                    let seen = &mut side.last_packets[component as usize];
                    *seen = (*seen).max(idle.and_then(|idle| now.checked_sub(idle)));
                    call.check.heard(at);
                }
                RelayNotice::Quality { ssrc, report, .. } => {
                    let sample = Sample::new(report, unix);
                    if is_relayed {
                        self.scores.add(sample.score);
                    }
                    side.rate(ssrc, sample);
                }
                RelayNotice::Opened { .. } | RelayNotice::Refused { .. } => {}
            }
            is_relayed = false;
        }
        match notice {
            RelayNotice::Source { .. } => self.put(name, call, out),
            // Only how long the call may be silent has changed.
            _ => self.keep(name, call),
        }
    }

    /// Handles all timeouts up to now, and appends actions to `out`.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.stop_waiting(now, out);
        self.ask_ports(now, out);
        while let Some((at, name)) = self.deadlines.first()
            && *at <= now
        {
            let name = name.clone();
            let mut call = self.calls.remove(&name).expect("a deadline belongs to a call");
            match self.with(now, |context| call.handle_timeout(context)) {
                Some(Ending::TimedOut(counter)) => {
                    self.counters.count(counter);
                    self.statistics.ended(now, &call, self.calls.len());
                    for (socket, tag) in call.dialogues.iter().filter_map(|dialogue| dialogue.notify.clone()) {
                        out.push(Output::Notify { socket, tag });
                    }
                    call.forget(&mut self.ports, |_| true);
                }
                Some(Ending::Unless(ports)) => {
                    out.extend(ports.into_iter().map(|at| Output::Command(RelayCommand::Report(at))));
                }
                Some(Ending::Deleted) | None => {}
            }
            self.put(name, call, out);
        }
    }

    /// Calls `work` with the parts of the relay that a call uses.
    pub(crate) fn with<T>(&mut self, now: Instant, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let Self {
            config,
            ports,
            random,
            counters,
            instance,
            ..
        } = self;
        work(&mut Context {
            now,
            config,
            ports,
            random,
            counters,
            instance,
        })
    }

    /// Puts a call back, unless it is empty, and sends its changes to the data plane.
    pub(crate) fn put(&mut self, name: CallName, mut call: Call, out: &mut Vec<Output>) {
        self.tell(&name, &mut call, out);
        if self.config.saves {
            self.changed.insert(name.clone());
        }
        self.keep(name, call);
    }

    pub(crate) fn keep(&mut self, name: CallName, mut call: Call) {
        let deadline = call.next_deadline(&self.config);
        if deadline != call.deadline {
            call.deadline
                .take()
                .into_iter()
                .for_each(|at| _ = self.deadlines.remove(&(at, name.clone())));
            deadline
                .into_iter()
                .for_each(|at| _ = self.deadlines.insert((at, name.clone())));
            call.deadline = deadline;
        }
        if !call.dialogues.is_empty() {
            self.calls.insert(name, call);
        }
    }
}
