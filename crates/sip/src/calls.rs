//! All calls, with the ports and the entries of the data plane that are theirs.
//!
//! Both control protocols work on these. A call is taken out, changed and put back; what its change
//! means for the data plane is output then.

mod exchange;
mod forwarding;
mod notices;
mod reclaim;
mod records;

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Instant;

use environment::{Random, WallClock};
use southbound::relay::RelayCommand;

use crate::call::{Call, CallName, Context, Ending};
use crate::config::{Config, ConfigRefused};
use crate::counters::Counters;
use crate::messages::Output;
use crate::ports::PortPool;
use crate::statistics::{Snapshot, Statistics};
pub(crate) use exchange::Exchange;

/// All calls, and all that is known of them.
pub(crate) struct Calls {
    config: Config,
    clock: WallClock,
    calls: HashMap<CallName, Call>,
    ports: PortPool,
    random: Random,
    /// The relay's name in descriptions, so that one does not pass through it twice.
    instance: String,
    /// The call of each of our addresses.
    owners: HashMap<SocketAddr, CallName>,
    deadlines: BTreeSet<(Instant, CallName)>,
    /// Calls that have changed since the last query.
    changed: BTreeSet<CallName>,
    pub(crate) counters: Counters,
    pub(crate) statistics: Statistics,
}

impl Calls {
    /// No calls.
    ///
    /// Errors: see [`ConfigRefused`].
    pub(crate) fn new(config: Config, clock: WallClock, mut random: Random) -> Result<Self, ConfigRefused> {
        let ports = PortPool::new(&config.interfaces, &mut random)?;
        Ok(Self {
            config,
            clock,
            calls: HashMap::new(),
            ports,
            instance: random.credentials().ufrag,
            random,
            owners: HashMap::new(),
            deadlines: BTreeSet::new(),
            changed: BTreeSet::new(),
            counters: Counters::default(),
            statistics: Statistics::new(clock.now),
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn clock(&self) -> WallClock {
        self.clock
    }

    pub(crate) fn ports(&self) -> &PortPool {
        &self.ports
    }

    /// The relay's name in descriptions.
    pub(crate) fn instance(&self) -> &str {
        &self.instance
    }

    /// How many there are, including those that are over and still kept.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Call> {
        self.calls.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&CallName, &Call)> {
        self.calls.iter()
    }

    /// Whether an address of ours belongs to a call.
    pub(crate) fn has_port(&self, at: SocketAddr) -> bool {
        self.owners.contains_key(&at)
    }

    /// The statistics that dashboards show.
    pub(crate) fn snapshot(&mut self, now: Instant) -> Snapshot {
        self.statistics.snapshot(now, self.calls.len(), self.ports.pools())
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let calls = self.deadlines.first().map(|(at, _)| *at);
        calls.into_iter().chain(self.statistics.rounds.next()).min()
    }

    /// Handles all timeouts up to now.
    pub(crate) fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
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

    /// Asks the next ports for their traffic, if rates are watched.
    fn ask_ports(&mut self, now: Instant, out: &mut Vec<Output>) {
        let relaying = || {
            let calls = self.calls.values();
            calls.flat_map(|call| call.installed.keys().copied()).collect()
        };
        let ports = self.statistics.ask_ports(now, relaying);
        let is_relaying = |at: &SocketAddr| {
            let call = self.owners.get(at).and_then(|name| self.calls.get(name));
            call.is_some_and(|call| call.installed.contains_key(at))
        };
        let ports = ports.into_iter().filter(is_relaying);
        out.extend(ports.map(|at| Output::Command(RelayCommand::Report(at))));
    }

    /// Takes a call out. The caller puts it back.
    pub(crate) fn take(&mut self, name: &CallName) -> Option<Call> {
        self.calls.remove(name)
    }

    /// Calls `work` with what a call uses beside itself.
    fn with<T>(&mut self, now: Instant, work: impl FnOnce(&mut Context<'_>) -> T) -> T {
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
        self.forward(&name, &mut call, out);
        if self.config.saves {
            self.changed.insert(name.clone());
        }
        self.keep(name, call);
    }

    /// Puts a call back that has no changes for the data plane or the next process.
    fn keep(&mut self, name: CallName, mut call: Call) {
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
