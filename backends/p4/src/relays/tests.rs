use std::time::Duration;

use dataplane::{Accept, Hop, Path, RelayProtection};

use super::*;
use crate::cells::Cells;
use crate::config::tests::config;
use crate::entry::{Op, Refusal, Table, Write};
use crate::services::Services;
use crate::table_writer::TableWriter;

/// Relays, and a switch that answers when it is told to.
struct Bench {
    relays: Relays,
    writer: TableWriter,
    services: Services,
    cells: Cells,
    now: Instant,
    away_since: Option<Instant>,
    writes: u64,
}

impl Bench {
    fn new(counters: u32) -> Self {
        Bench {
            relays: Relays::new(counters),
            writer: TableWriter::default(),
            services: Services::default(),
            cells: Cells::default(),
            now: Instant::now(),
            away_since: None,
            writes: 0,
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Relays, &mut Context<'_>) -> T) -> T {
        let config = config();
        let mut context = Context {
            now: self.now,
            config: &config,
            writer: &mut self.writer,
            services: &mut self.services,
            cells: &mut self.cells,
            away_since: self.away_since,
            is_leased: false,
        };
        act(&mut self.relays, &mut context)
    }

    fn set(&mut self, at: &str, relay: &Relay) -> (WriteId, Answer) {
        self.writes += 1;
        let write = WriteId(self.writes);
        let at = at.parse().unwrap();
        (
            write,
            self.with(|relays, context| relays.set(context, write, at, relay)),
        )
    }

    fn remove(&mut self, at: &str) -> (WriteId, Answer) {
        self.writes += 1;
        let write = WriteId(self.writes);
        let at = at.parse().unwrap();
        (write, self.with(|relays, context| relays.remove(context, write, at)))
    }

    /// The switch does all it is asked for, or as it is told. Returns its writes to relays.
    fn switch(&mut self, answer: impl Fn(&Write) -> Result<(), Refusal>) -> Vec<(Op, Key)> {
        let mut done = Vec::new();
        loop {
            let mut settled = Vec::new();
            let batch = self.writer.next_batch(self.now, &mut settled).to_vec();
            if batch.is_empty() && settled.is_empty() {
                return done;
            }
            if !batch.is_empty() {
                let outcomes: Vec<_> = batch.iter().map(&answer).collect();
                self.writer.answered(&outcomes, &mut settled);
            }
            for settled in &settled {
                self.with(|relays, context| relays.settled(context, settled));
            }
            let relays = batch
                .into_iter()
                .filter(|write| write.key.table() == Some(Table::Relay));
            done.extend(relays.map(|write| (write.op, write.key)));
        }
    }

    fn tick(&mut self, after: Duration) -> Vec<Written> {
        self.now += after;
        self.with(Relays::tick);
        self.written()
    }

    fn written(&mut self) -> Vec<Written> {
        std::iter::from_fn(|| self.relays.next_written()).collect()
    }

    fn read(&mut self, index: u16, packets: u64, bytes: u64) {
        self.cells.begin_reading();
        self.cells.read(self.now, [(Cell::Relayed(index), packets, bytes)]);
    }
}

fn relay(accept: &str, from: &str, to: &str) -> Relay {
    let path = Path {
        local: from.parse().unwrap(),
        remote: to.parse().unwrap(),
    };
    Relay {
        accept: Accept::Only(accept.parse().unwrap()),
        ingress_protection: RelayProtection::Clear,
        terminated: false,
        rtp: Some(Hop {
            path,
            egress_protection: RelayProtection::Clear,
            tos: None,
        }),
        rtcp: None,
    }
}

const A: &str = "10.0.1.9:30000";
const B: &str = "10.0.1.9:30002";
const ALICE: &str = "10.0.2.5:4000";
const BOB: &str = "10.0.3.5:5000";

/// Two relays that are one call, on the switch.
fn call(bench: &mut Bench) -> (WriteId, WriteId) {
    let (first, answer) = bench.set(A, &relay(ALICE, B, BOB));
    assert_eq!(
        answer,
        Answer::Taken,
        "its other port is not there yet, and it has nothing to do"
    );
    let (second, answer) = bench.set(B, &relay(BOB, A, ALICE));
    assert_eq!(answer, Answer::Pending);
    let done = bench.switch(|_| Ok(()));
    assert_eq!(done.len(), 2);
    assert!(bench.writer.is_written(&service(A.parse().unwrap())));
    let expected = Written {
        write: second,
        outcome: Ok(()),
        traffic: None,
    };
    assert_eq!(bench.written(), [expected]);
    (first, second)
}

#[test]
fn a_call_is_on_the_switch_and_leaves_it_with_its_counts() {
    let mut bench = Bench::new(16);
    call(&mut bench);
    bench.read(0, 10, 10 * (160 + 12 + 42));
    let traffic = bench.with(|relays, context| relays.traffic(context, A.parse().unwrap()).unwrap().0);
    assert_eq!((traffic.packets, traffic.bytes), (10, 1_720));

    let (write, answer) = bench.remove(A);
    assert_eq!(answer, Answer::Pending);
    assert_eq!(
        bench.switch(|_| Ok(())).len(),
        2,
        "the other direction has no port to send from"
    );
    assert_eq!(bench.tick(Duration::ZERO), [], "its counts are yet to be read");
    bench.read(0, 12, 12 * (160 + 12 + 42));
    let [written] = bench.tick(Duration::ZERO).try_into().unwrap();
    let (traffic, last) = written.traffic.unwrap();
    assert_eq!((written.write, written.outcome), (write, Ok(())));
    assert_eq!((traffic.packets, traffic.bytes, last), (12, 2_064, Some(bench.now)));
}

#[test]
fn a_changed_source_replaces_the_entry() {
    let mut bench = Bench::new(16);
    call(&mut bench);
    let (write, answer) = bench.set(A, &relay("10.0.2.6:4000", B, BOB));
    assert_eq!(answer, Answer::Pending);
    let ops: Vec<Op> = bench.switch(|_| Ok(())).into_iter().map(|(op, _)| op).collect();
    assert_eq!(ops, [Op::Insert, Op::Delete]);
    assert_eq!(bench.written()[0].write, write);
    let (_, answer) = bench.set(A, &relay("10.0.2.6:4000", B, BOB));
    assert_eq!(answer, Answer::Taken, "it is there");
}

#[test]
fn a_value_that_is_refused_takes_the_earlier_one_away() {
    let mut bench = Bench::new(16);
    call(&mut bench);
    let mut learning = relay(ALICE, B, BOB);
    learning.accept = Accept::Nobody;
    let (_, answer) = bench.set(A, &learning);
    assert_eq!(answer, Answer::Refused(Refused::Unsupported(Reason::Sources)));
    let ops: Vec<Op> = bench.switch(|_| Ok(())).into_iter().map(|(op, _)| op).collect();
    assert_eq!(ops, [Op::Delete]);
}

#[test]
fn a_full_table_is_said_to_be_full() {
    let mut bench = Bench::new(16);
    bench.set(A, &relay(ALICE, B, BOB));
    let (write, _) = bench.set(B, &relay(BOB, A, ALICE));
    let full = |write: &Write| match write.key.table() {
        Some(Table::Relay) => Err(Refusal::Full),
        _ => Ok(()),
    };
    bench.switch(full);
    let written = bench.written();
    assert!(written.contains(&Written {
        write,
        outcome: Err(Refused::Full),
        traffic: None
    }));
    assert_eq!(written.len(), 2, "the other direction is lost, too");
    assert_eq!(bench.relays.len(), 0);
    assert!(bench.writer.used(Some(Table::Service)) == 0);
}

#[test]
fn counters_that_are_all_used_are_a_full_table() {
    let mut bench = Bench::new(1);
    bench.set(A, &relay(ALICE, B, BOB));
    let (_, answer) = bench.set(B, &relay(BOB, A, ALICE));
    assert_eq!(answer, Answer::Refused(Refused::Full));
}

#[test]
fn a_write_that_is_not_answered_is_gone() {
    let mut bench = Bench::new(16);
    bench.set(A, &relay(ALICE, B, BOB));
    let (write, answer) = bench.set(B, &relay(BOB, A, ALICE));
    assert_eq!(answer, Answer::Pending);
    assert_eq!(bench.tick(ANSWER_MAX / 2), []);
    let expected = Written {
        write,
        outcome: Err(Refused::Gone),
        traffic: None,
    };
    assert_eq!(bench.tick(ANSWER_MAX / 2), [expected]);
    assert_eq!(
        bench.switch(|_| Ok(())),
        [(Op::Insert, bench.relays_key(A))],
        "the first is still wanted"
    );
}

impl Bench {
    fn relays_key(&self, at: &str) -> Key {
        let at = at.parse().unwrap();
        self.relays.rows[&at].planned.as_ref().unwrap().key.clone()
    }
}

#[test]
fn relays_stay_wanted_while_the_switch_is_away_and_new_ones_are_not_taken() {
    let mut bench = Bench::new(16);
    call(&mut bench);
    bench.writer.lost();
    bench.away_since = Some(bench.now);
    assert_eq!(bench.tick(ANSWER_MAX), []);
    let (_, answer) = bench.set("10.0.1.9:30004", &relay(ALICE, B, BOB));
    assert_eq!(answer, Answer::Refused(Refused::Gone));
    bench.writer.found(Default::default());
    assert_eq!(bench.switch(|_| Ok(())).len(), 2, "it gets them again");
    assert_eq!(bench.written(), []);
}

#[test]
fn a_relay_that_comes_to_send_from_a_port_that_is_not_there_leaves_the_switch() {
    let mut bench = Bench::new(8);
    call(&mut bench);
    let (_, answer) = bench.set(A, &relay(ALICE, "10.0.1.9:30004", BOB));
    assert_eq!(answer, Answer::Taken, "it has nothing to do");
    let done = bench.switch(|_| Ok(()));
    assert_eq!(done.iter().map(|(op, _)| *op).collect::<Vec<_>>(), [Op::Delete]);
    bench.set(A, &relay(ALICE, B, BOB));
    assert_eq!(bench.switch(|_| Ok(())).len(), 1, "it is there again");
}
