//! The switch: ingress, replication, egress, and the ways back.
//!
//! Order and details are those of BMv2's `simple_switch`. Clones and copies are put into one queue
//! in the order in which they are made. A clone of ingress is parsed again from the packet that was
//! received, and keeps only the metadata of its field list, not even its ingress port.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::execute::{Effects, Run};
use crate::limits::{BYTES_MAX, COPIES_MAX, ROUNDS_MAX};
use crate::load::{LoadError, load};
use crate::phv::Phv;
use crate::program::{Program, Word};
use crate::replication::{DROP_PORT, Replica, Replication};
use crate::state::State;
use crate::statistics::Statistics;

/// `instance_type` of copies; that of others is zero.
mod instance {
    pub(super) const INGRESS_CLONE: u128 = 1;
    pub(super) const EGRESS_CLONE: u128 = 2;
    pub(super) const RECIRCULATED: u128 = 4;
    pub(super) const REPLICATED: u128 = 5;
    pub(super) const RESUBMITTED: u128 = 6;
}

/// A program with its entries and registers.
#[derive(Debug)]
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) state: State,
    pub(crate) statistics: Statistics,
}

/// A packet that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The port.
    pub port: u16,
    /// The whole packet.
    pub bytes: Vec<u8>,
}

/// A packet in front of the ingress pipeline.
struct Arrival {
    phv: Phv,
    bytes: Arc<[u8]>,
    port: u16,
}

/// A packet in front of the egress pipeline.
#[derive(Clone)]
struct Departure {
    phv: Phv,
    bytes: Arc<[u8]>,
    /// The bytes that the parser took.
    taken: usize,
    /// The length as received, for counters.
    received: usize,
    /// The length with the headers of now.
    length: usize,
    truncate: Option<usize>,
    port: u16,
    ingress_port: u16,
}

/// The packets of one call that still wait.
#[derive(Default)]
struct Queues {
    arrivals: VecDeque<Arrival>,
    departures: VecDeque<Departure>,
}

impl Switch {
    /// Loads a program: the compiler's output for BMv2.
    pub fn load(json: &str) -> Result<Self, LoadError> {
        let program = load(json)?;
        let state = State::new(&program);
        Ok(Self {
            program: Arc::new(program),
            state,
            statistics: Statistics::default(),
        })
    }

    /// Counts beside the program's own.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Clears entries, registers and counters.
    pub fn clear(&mut self) {
        self.state = State::new(&self.program);
        self.statistics = Statistics::default();
    }

    /// The cells of a register array, by its name in the program.
    #[must_use]
    pub fn register(&self, name: &str) -> Option<&[Word]> {
        let index = self.program.registers.iter().position(|it| it.name == name)?;
        Some(&self.state.registers[index])
    }

    /// Processes a packet that arrives at a port, `now` after the start. Returns what is sent.
    pub fn packet(&mut self, now: Duration, port: u16, bytes: &[u8], replication: &Replication) -> Vec<Output> {
        self.statistics.received += 1;
        let micros = now.as_micros();
        let program = Arc::clone(&self.program);
        let mut phv = Phv::new(&program);
        phv.set(&program, program.standard.ingress_port, Word::from(port));
        phv.set(&program, program.standard.packet_length, bytes.len() as Word);
        phv.set(&program, program.standard.ingress_global_timestamp, micros);
        let mut queues = Queues::default();
        queues.arrivals.push_back(Arrival {
            phv,
            bytes: bytes.into(),
            port,
        });
        let (mut rounds, mut copies) = (0, 0);
        let mut outputs = Vec::new();
        loop {
            if let Some(departure) = queues.departures.pop_front() {
                copies += 1;
                if copies > COPIES_MAX {
                    self.statistics.too_many_copies += 1;
                    continue;
                }
                outputs.extend(self.egress(micros, departure, replication, &mut queues));
            } else if let Some(arrival) = queues.arrivals.pop_front() {
                rounds += 1;
                if rounds > ROUNDS_MAX {
                    self.statistics.too_many_rounds += 1;
                    continue;
                }
                self.ingress(arrival, replication, &mut queues);
            } else {
                break;
            }
        }
        self.statistics.sent += outputs.len() as u64;
        outputs
    }

    fn run<'a>(&'a mut self, program: &'a Program, received: usize, payload: &'a [u8]) -> Run<'a> {
        Run {
            program,
            state: &mut self.state,
            counters: &mut self.statistics,
            received,
            payload,
            effects: Effects::default(),
        }
    }

    fn ingress(&mut self, arrival: Arrival, replication: &Replication, queues: &mut Queues) {
        let program = Arc::clone(&self.program);
        let Arrival { mut phv, bytes, port } = arrival;
        let received = bytes.len();
        let mut run = self.run(&program, received, &[]);
        let (taken, error) = run.parse(&mut phv, &bytes);
        run.payload = &bytes[taken..];
        let is_right = run.verify(&phv);
        phv.set(&program, program.standard.parser_error, error);
        phv.set(&program, program.standard.checksum_error, Word::from(!is_right));
        run.apply(program.ingress, &mut phv);
        let effects = run.effects;
        self.statistics.faults += phv.faults.take();

        let mut departure = Departure {
            phv,
            bytes,
            taken,
            received,
            length: received.saturating_add_signed(effects.growth),
            truncate: effects.truncate,
            port: 0,
            ingress_port: port,
        };
        if let Some((session, list)) = effects.clone {
            let clone = self.ingress_clone(&program, &departure, list);
            self.copy(clone, replication.sessions.get(&session), true, queues);
        }
        let standard = &program.standard;
        if effects.resubmit != 0 {
            let mut phv = kept(&program, &departure.phv, effects.resubmit);
            phv.set(&program, standard.instance_type, instance::RESUBMITTED);
            phv.set(&program, standard.packet_length, received as Word);
            queues.arrivals.push_back(Arrival {
                phv,
                bytes: departure.bytes,
                port,
            });
            return;
        }
        let group = departure.phv.values[standard.mcast_grp] as u32;
        let spec = departure.phv.values[standard.egress_spec] as u16;
        if group != 0 {
            departure
                .phv
                .set(&program, standard.instance_type, instance::REPLICATED);
            self.copy(departure, replication.groups.get(&group), false, queues);
        } else if spec == DROP_PORT {
            self.statistics.dropped += 1;
        } else {
            departure.phv.set(&program, standard.instance_type, 0);
            departure.port = spec;
            queues.departures.push_back(departure);
        }
    }

    /// The packet as it was received, with the metadata of a field list.
    fn ingress_clone(&mut self, program: &Program, of: &Departure, list: u64) -> Departure {
        let mut phv = Phv::new(program);
        phv.set(program, program.standard.ingress_port, Word::from(of.ingress_port));
        let (taken, _) = self.run(program, of.received, &[]).parse(&mut phv, &of.bytes);
        phv.reset_metadata(program);
        phv.keep(field_list(program, list), &of.phv);
        phv.set(program, program.standard.instance_type, instance::INGRESS_CLONE);
        let bytes = Arc::clone(&of.bytes);
        Departure {
            phv,
            bytes,
            taken,
            length: of.received,
            truncate: None,
            ..of.clone()
        }
    }

    /// Queues a copy for each replica.
    fn copy(&mut self, packet: Departure, replicas: Option<&Vec<Replica>>, is_clone: bool, queues: &mut Queues) {
        let replicas = replicas.map_or(&[][..], |it| it);
        if replicas.is_empty() {
            let counter = if is_clone {
                &mut self.statistics.absent_sessions
            } else {
                &mut self.statistics.absent_groups
            };
            *counter += 1;
        }
        for replica in replicas {
            let mut copy = packet.clone();
            copy.port = replica.port;
            copy.truncate = None;
            let rid = self.program.standard.egress_rid;
            copy.phv.set(&self.program, rid, Word::from(replica.instance));
            queues.departures.push_back(copy);
        }
    }

    fn egress(
        &mut self,
        micros: u128,
        departure: Departure,
        replication: &Replication,
        queues: &mut Queues,
    ) -> Option<Output> {
        let program = Arc::clone(&self.program);
        let standard = &program.standard;
        let Departure {
            mut phv,
            bytes,
            taken,
            received,
            length,
            port,
            ..
        } = departure;
        phv.set(&program, standard.egress_global_timestamp, micros);
        phv.set(&program, standard.enq_timestamp, micros);
        phv.set(&program, standard.egress_port, Word::from(port));
        phv.set(&program, standard.egress_spec, Word::from(DROP_PORT) + 1);
        phv.set(&program, standard.packet_length, length as Word);
        let mut run = self.run(&program, received, &bytes[taken..]);
        run.apply(program.egress, &mut phv);
        let effects = run.effects;
        self.statistics.faults += phv.faults.take();

        if let Some((session, list)) = effects.clone {
            let mut copy = phv.clone();
            copy.reset_metadata(&program);
            copy.keep(field_list(&program, list), &phv);
            copy.set(&program, standard.instance_type, instance::EGRESS_CLONE);
            let clone = Departure {
                phv: copy,
                bytes: Arc::clone(&bytes),
                taken,
                received,
                length: length.saturating_add_signed(effects.growth),
                truncate: None,
                port,
                ingress_port: departure.ingress_port,
            };
            self.copy(clone, replication.sessions.get(&session), true, queues);
        }
        if phv.values[standard.egress_spec] as u16 == DROP_PORT {
            self.statistics.dropped += 1;
            return None;
        }
        let mut sent = self.run(&program, received, &bytes[taken..]).deparse(&mut phv);
        if let Some(length) = effects.truncate.into_iter().chain(departure.truncate).min() {
            sent.truncate(length);
        }
        if sent.len() > BYTES_MAX {
            self.statistics.too_long += 1;
            return None;
        }
        if effects.recirculate != 0 {
            let mut again = kept(&program, &phv, effects.recirculate);
            again.set(&program, standard.instance_type, instance::RECIRCULATED);
            again.set(&program, standard.packet_length, sent.len() as Word);
            let port = departure.ingress_port;
            queues.arrivals.push_back(Arrival {
                phv: again,
                bytes: sent.into(),
                port,
            });
            return None;
        }
        Some(Output { port, bytes: sent })
    }
}

/// A packet without headers, with the metadata of a field list.
fn kept(program: &Program, of: &Phv, list: u64) -> Phv {
    let mut phv = Phv::new(program);
    phv.keep(field_list(program, list), of);
    phv
}

fn field_list(program: &Program, number: u64) -> &[usize] {
    let found = program.field_lists.iter().find(|it| it.0 == number);
    found.map_or(&[], |it| it.1.as_slice())
}
