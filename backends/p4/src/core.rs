//! All of the driver but its connection: inputs of the base and of the switch, and what is to be
//! sent to the switch. It reads no clock and has no socket.

mod inputs;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use crate::P4Config;
use crate::address::from_pair;
use crate::cells::{Cell, Cells};
use crate::config::CPU_PORT;
use crate::context::Context;
use crate::counter::{Counter, Counters, VERDICTS};
use crate::entry::{Key, Refusal, Table, Value, Write};
use crate::link::{Away, Link};
use crate::relays::Relays;
use crate::rooms::Rooms;
use crate::table_writer::{Settled, TableWriter};

pub(crate) use inputs::PacketIn;

/// The clone sessions of the program.
const SESSION_CPU: u16 = 1;
const SESSION_HOST: u16 = 2;

/// So many packets wait to be sent by the switch.
const PACKETS_OUT_MAX: usize = 256;

/// A packet that the switch is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PacketOut {
    /// By this port.
    pub port: u16,
    /// The frame.
    pub frame: Vec<u8>,
}

/// The sizes of the program's arrays, from its p4info.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Counters of relays.
    pub relays: u32,
    /// Registers and counters of replicas.
    pub replicas: u32,
    /// Numbers of streams, with 0.
    pub streams: u32,
}

/// The driver's state.
#[derive(Debug)]
pub(crate) struct Core {
    config: P4Config,
    writer: TableWriter,
    services: crate::services::Services,
    cells: Cells,
    pub(crate) relays: Relays,
    pub(crate) rooms: Rooms,
    pub(crate) link: Link,
    settled: Vec<Settled>,
    pub(crate) counters: Counters,
    packets_out: VecDeque<PacketOut>,
    now: Instant,
}

impl Core {
    /// Of a switch that has not been reached yet. The first epoch is drawn by chance.
    pub(crate) fn new(config: P4Config, sizes: Sizes, first_epoch: u8, now: Instant) -> Self {
        let mut writer = TableWriter::default();
        for (key, value) in permanent(&config) {
            writer.want(key, value);
        }
        Core {
            config,
            writer,
            services: Default::default(),
            cells: Cells::default(),
            relays: Relays::new(sizes.relays),
            rooms: Rooms::new(sizes, first_epoch),
            link: Link::new(now),
            settled: Vec::new(),
            counters: Counters::default(),
            packets_out: VecDeque::new(),
            now,
        }
    }

    /// Has relays or rooms handle an input of the base, at the time of the newest input.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&mut Relays, &mut Rooms, &mut Context<'_>) -> T) -> T {
        let mut context = Context {
            now: self.now,
            config: &self.config,
            writer: &mut self.writer,
            services: &mut self.services,
            cells: &mut self.cells,
            away_since: self.link.away().map(|(_, since)| since),
            is_leased: self.link.is_leased(),
        };
        act(&mut self.relays, &mut self.rooms, &mut context)
    }

    /// The time is this.
    pub(crate) fn at(&mut self, now: Instant) -> &mut Self {
        self.now = self.now.max(now);
        self
    }

    /// The program was installed on the switch, which has no entries.
    pub(crate) fn installed(&mut self) {
        self.counters.count(Counter::Installed);
        // A switch without entries sends nothing.
        self.link.forget_lease();
        self.with(|_, rooms, context| rooms.return_all(context));
        self.writer.found(BTreeMap::new());
    }

    /// The switch has the program, and these entries. `foreign` more were deleted because they are
    /// of a kind that is never written here.
    pub(crate) fn found(&mut self, entries: BTreeMap<Key, Value>, foreign: usize) {
        let foreign = foreign + self.writer.found(entries);
        self.counters[Counter::ForeignEntry] += foreign as u64;
    }

    /// The switch is there, and its entries are known.
    pub(crate) fn up(&mut self) {
        self.counters.count(Counter::Connected);
        self.link.up(self.now);
        self.tick();
    }

    /// The switch is no longer there, or was not reached.
    pub(crate) fn down(&mut self, why: Away) {
        self.counters.count(match (self.link.away(), why) {
            (_, Away::NotPrimary) => Counter::NotPrimary,
            (Some(_), _) => Counter::Unreachable,
            (None, _) => Counter::Lost,
        });
        self.link.down(self.now, why);
        self.writer.lost();
        self.packets_out.clear();
    }

    /// The next writes, while none are on their way.
    pub(crate) fn next_batch(&mut self) -> Vec<Write> {
        if self.link.away().is_some() {
            return Vec::new();
        }
        loop {
            let batch = self.writer.next_batch(self.now, &mut self.settled).to_vec();
            if self.settled.is_empty() || !batch.is_empty() {
                self.settle();
                return batch;
            }
            self.settle();
        }
    }

    /// The switch has answered the writes on their way, one outcome for each.
    pub(crate) fn answered(&mut self, outcomes: &[Result<(), Refusal>]) {
        self.link.answered(self.now);
        let refused = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        self.counters[Counter::RefusedWrite] += refused as u64;
        self.writer.answered(outcomes, &mut self.settled);
        self.settle();
        self.with(|_, rooms, context| rooms.look_for_candidates(context));
    }

    fn settle(&mut self) {
        for settled in std::mem::take(&mut self.settled) {
            self.with(|relays, rooms, context| match (settled.0.table(), settled.1) {
                (Some(Table::Relay), _) => relays.settled(context, &settled),
                (Some(Table::Service), Err(why)) => {
                    let at = from_pair(settled.0.field(0), settled.0.field(1));
                    relays.lose(context, at, why);
                    rooms.lose(context, at, why);
                }
                _ => rooms.settled(context, &settled),
            });
        }
    }

    /// The switch has answered something else.
    pub(crate) fn link_answered(&mut self) {
        self.link.answered(self.now);
    }

    /// Whether a lease is to be sent.
    pub(crate) fn renews(&mut self) -> bool {
        let is_clean = !self.writer.deletes(Table::Replica);
        self.link.renews(self.now, is_clean)
    }

    /// The next packet that the switch is to send.
    pub(crate) fn next_packet_out(&mut self) -> Option<PacketOut> {
        self.packets_out.pop_front()
    }

    pub(crate) fn send(&mut self, out: PacketOut) {
        match self.packets_out.len() < PACKETS_OUT_MAX {
            true => self.packets_out.push_back(out),
            false => self.counters.count(Counter::PacketOutFull),
        }
    }

    /// The counters that are to be read now.
    pub(crate) fn cells(&mut self) -> Vec<Cell> {
        self.cells.begin_reading();
        let verdicts = VERDICTS.into_iter().map(Cell::Verdict);
        let used: BTreeSet<Cell> = self.relays.cells().chain(self.rooms.cells()).collect();
        verdicts.chain(used).collect()
    }

    /// Counters as they were read.
    pub(crate) fn read(&mut self, cells: Vec<(Cell, u64, u64)>) {
        self.link.answered(self.now);
        self.cells.read(self.now, cells);
    }

    /// The count of a verdict.
    pub(crate) fn verdict(&self, name: &'static str) -> u64 {
        self.cells.get(Cell::Verdict(name)).packets
    }

    /// How many packets were relayed.
    pub(crate) fn relayed(&self) -> u64 {
        self.cells.relayed()
    }

    /// How many entries the switch has, and of which tables. `None` are groups and sessions.
    pub(crate) fn used(&self) -> Vec<(Option<Table>, usize)> {
        let tables = Table::ALL.iter().copied().map(Some).chain([None]);
        tables.map(|table| (table, self.writer.used(table))).collect()
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self) {
        if self.link.ends(self.now) {
            self.counters.count(Counter::LeaseOver);
            self.with(|_, rooms, context| rooms.return_all(context));
        }
        self.with(|relays, rooms, context| {
            relays.tick(context);
            rooms.tick(context);
        });
    }

    /// The time from then until the newest input.
    pub(crate) fn time_since(&self, then: Instant) -> Duration {
        self.now.saturating_duration_since(then)
    }

    /// The configuration of the switch.
    pub(crate) fn config(&self) -> &P4Config {
        &self.config
    }
}

/// The entries that the switch has at all times: routes, its own addresses, and where clones go.
fn permanent(config: &P4Config) -> Vec<(Key, Value)> {
    let routes = config.ports.iter().flat_map(|port| {
        port.routes.iter().map(|route| {
            let (bits, length) = route.to.key();
            let data = vec![port.port.into(), port.mac.bits(), route.via.bits()];
            (nexthop(bits, length), data)
        })
    });
    let own = config.ports.iter().flat_map(|port| {
        let data = vec![CPU_PORT.into(), 0, 0];
        let addresses = port.addresses.iter();
        addresses.map(move |ip| (nexthop(crate::address::bits(*ip), 128), data.clone()))
    });
    let entries = routes.chain(own).map(|(key, data)| (key, Value::Data(data)));
    let session = |id, port| (Key::Session(id), Value::Copies(BTreeSet::from([(port, 1)])));
    let sessions = [session(SESSION_CPU, CPU_PORT), session(SESSION_HOST, config.host)];
    entries.chain(sessions).collect()
}

fn nexthop(bits: u128, length: u8) -> Key {
    Key::Entry(Table::Nexthop, vec![bits, length.into()])
}
