//! The state machine of all calls.

mod elsewhere;
mod requests;

use std::net::SocketAddr;
use std::time::Instant;

use environment::{Random, WallClock};
use southbound::relay::RelayNotice;

use crate::calls::Calls;
use crate::config::{Config, ConfigRefused};
use crate::counters::Counters;
use crate::destinations::Machine;
use crate::messages::{Input, Output, RequestId};
use crate::peers::Peers;
use crate::quality::Scores;
use crate::replies::Replies;
use crate::saved::Change;
use crate::statistics::Snapshot;

/// The controller of all calls of SIP proxies.
pub struct CallController {
    calls: Calls,
    replies: Replies,
    /// The other machines, in a cluster.
    peers: Option<Peers>,
}

impl CallController {
    /// A controller without calls. `seed` is all the randomness there is: which ports, keys and ICE
    /// passwords.
    ///
    /// Errors: see [`ConfigRefused`].
    pub fn new(config: Config, clock: WallClock, seed: [u8; 32]) -> Result<Self, ConfigRefused> {
        let peers = config.cluster.map(|own| Peers::new(own, clock.now));
        Ok(Self {
            peers,
            calls: Calls::new(config, clock, Random::new(seed))?,
            replies: Replies::default(),
        })
    }

    /// Handles one input, and appends actions to `out`.
    pub fn handle(&mut self, now: Instant, input: Input<'_>, out: &mut Vec<Output>) {
        self.handle_timeout(now, out);
        match input {
            Input::Request(id, request) => self.request(now, id, request, out),
            Input::Passed(id, by, request) => self.passed(now, (id, by), request, out),
            Input::Peer(event) => self.on_peer(now, event, out),
            Input::Notice(notice) => {
                self.on_notice(now, notice, out);
                // It may be the last that was waited for.
                self.handle_timeout(now, out);
            }
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due, without other input.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let replies = self.replies.poll_timeout();
        let peers = self.peers.as_ref().and_then(Peers::poll_timeout);
        let calls = self.calls.poll_timeout();
        calls.into_iter().chain(replies).chain(peers).min()
    }

    /// Handles all timeouts up to now, and appends actions to `out`.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.stop_waiting(now, out);
        self.stop_waiting_for_peers(now, out);
        self.calls.handle_timeout(now, out);
    }

    /// Continues an earlier process's calls, before anything else. A call that cannot continue is
    /// counted, and its ports are free.
    pub fn resume<'a>(&mut self, now: Instant, records: impl IntoIterator<Item = &'a str>, out: &mut Vec<Output>) {
        self.calls.resume(now, records, out);
        // Of some the time is over already.
        self.handle_timeout(now, out);
    }

    /// The calls that have changed since this was last asked, where
    /// [`Config::saves`](crate::Config::saves).
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.calls.take_changes()
    }

    /// All calls, as though each had changed: for a caller that has lost the records.
    pub fn take_all(&mut self) -> Vec<Change> {
        self.calls.take_all()
    }

    /// Forgets which calls have changed: records cannot be stored now, and
    /// [`take_all`](Self::take_all) will return them.
    pub fn forget_changes(&mut self) {
        self.calls.forget_changes();
    }

    /// Refuses new calls from now on, as if there were too many, so that proxies try another relay.
    /// Calls that have begun continue.
    pub fn drain(&mut self) {
        self.calls.drain();
    }

    /// The number of calls that are not over and end with the process: all of them, or with
    /// [`Config::saves`](crate::Config::saves) only those that cannot be saved.
    pub fn ending_calls(&self) -> usize {
        self.calls.ending_calls()
    }

    /// The machine has these addresses now.
    pub fn set_machine(&mut self, machine: Machine) {
        self.calls.set_machine(machine);
    }

    /// Whether a datagram with this source is no proxy's, but media: it is from a port of a call or
    /// from another socket of this program. It is counted.
    pub fn is_media(&mut self, from: SocketAddr) -> bool {
        self.calls.is_media(from)
    }

    /// Whether a request is still to be answered.
    pub fn is_waiting(&self, request: RequestId) -> bool {
        self.replies.is_waiting(request) || self.peers.as_ref().is_some_and(|peers| peers.holds(request))
    }

    /// Counters of the controller.
    pub fn counters(&self) -> &Counters {
        &self.calls.counters
    }

    /// Quality of streams, over all reports so far.
    pub fn scores(&self) -> &Scores {
        &self.calls.statistics.scores
    }

    /// Statistics for dashboards.
    pub fn snapshot(&mut self, now: Instant) -> Snapshot {
        self.calls.snapshot(now)
    }

    /// Somebody watches totals and rates of relayed traffic: ports are asked for a while, so that
    /// both are those of a few seconds ago.
    pub fn watch_rates(&mut self, now: Instant) {
        self.calls.statistics.rounds.watch(now);
    }

    /// The number of calls, including those that are over and still kept.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// How many pairs of ports are in use.
    pub fn port_pairs(&self) -> usize {
        self.calls.ports().taken()
    }

    fn on_notice(&mut self, now: Instant, notice: RelayNotice, out: &mut Vec<Output>) {
        match notice {
            RelayNotice::Opened { at } => self.opened(now, at, out),
            RelayNotice::Refused { at, why } => self.refused(now, at, why, out),
            RelayNotice::Source { .. } | RelayNotice::Quality { .. } => self.calls.on_notice(now, notice, out),
            RelayNotice::Traffic { at, .. } => {
                self.calls.on_notice(now, notice, out);
                self.reported(now, at, out);
            }
        }
    }
}
