//! BMv2 as a switch of the device, with the interpreter beside it.
//!
//! Both get the same writes and frames. The interpreter tells how many frames and packets for the
//! controller are to be waited for. Driver and base run by the virtual time; of BMv2's own clock
//! only the lease and the times of sending depend, so a lease is renewed by the real time as well.

#![allow(clippy::disallowed_methods, reason = "BMv2 runs by the machine's clock")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use backend_p4::Switch;
use conformance::device::{Interpreter, Ports};
use p4runtime::v1;
use p4runtime::v1::entity::Entity;
use p4runtime::v1::update::Type;
use switches::{Bmv2, Controller, Refused, Switch as _, bmv2};
use tonic::{Code, Status};

/// The ports of the device.
const PORTS: [u16; 3] = [1, 2, 3];

/// A lease of one second is renewed after this time.
const RENEW: Duration = Duration::from_millis(250);

/// How long BMv2 may take to apply a lease.
const LEASE_APPLIED: Duration = Duration::from_millis(20);

/// BMv2, which is started once: devices use it one after the other.
#[derive(Clone)]
pub(crate) struct Real(Rc<RefCell<Both>>);

struct Both {
    bmv2: Bmv2,
    controller: Controller,
    twin: Interpreter,
    packet_ins: VecDeque<v1::PacketIn>,
    /// The newest lease, and when it was sent.
    lease: Option<(v1::PacketOut, Instant)>,
    /// Groups and clone sessions, which a new program would not remove.
    engine: Vec<v1::Entity>,
}

impl Real {
    /// `None`, with the reason on standard error, if there is no BMv2.
    pub(crate) fn or_skip() -> Option<Self> {
        let mut bmv2 = bmv2(&PORTS)?;
        bmv2.further = Duration::from_millis(3);
        let (controller, code) = Controller::connect(bmv2.address(), 1).expect("it listens");
        assert_eq!(code, Code::Ok);
        Some(Real(Rc::new(RefCell::new(Both {
            bmv2,
            controller,
            twin: Interpreter::new(Instant::now()),
            packet_ins: VecDeque::new(),
            lease: None,
            engine: Vec::new(),
        }))))
    }

    /// For a device whose time begins here.
    pub(crate) fn at(&self, start: Instant) -> Self {
        self.0.borrow_mut().twin = Interpreter::new(start);
        self.clone()
    }
}

impl Both {
    fn renew(&mut self) {
        let is_old = |(_, sent): &(v1::PacketOut, Instant)| sent.elapsed() >= RENEW;
        if let Some((lease, _)) = self.lease.clone().filter(is_old) {
            self.send_lease(lease);
        }
    }

    fn send_lease(&mut self, lease: v1::PacketOut) {
        let has_one = self.lease.as_ref().is_some_and(|(_, sent)| sent.elapsed() < 3 * RENEW);
        self.controller.packet_out(lease.clone());
        self.lease = Some((lease, Instant::now()));
        if !has_one {
            std::thread::sleep(LEASE_APPLIED);
        }
    }

    /// Receives as many packets for the controller as the interpreter has.
    fn collect(&mut self) {
        let expected = std::iter::from_fn(|| self.twin.next_packet_in()).count();
        let found = self.controller.packet_ins(expected).expect("the stream is there");
        assert_eq!(found.len(), expected, "packets for the controller");
        self.packet_ins.extend(found);
    }
}

impl Switch for Real {
    fn install(&mut self, config: v1::ForwardingPipelineConfig) {
        let both = &mut *self.0.borrow_mut();
        let delete = |entity: v1::Entity| v1::Update {
            r#type: Type::Delete.into(),
            entity: Some(entity),
        };
        let old: Vec<v1::Update> = both.engine.drain(..).map(delete).collect();
        if !old.is_empty() {
            // Some are gone already.
            let _ = both.controller.write(old);
        }
        both.twin.install(config.clone());
        both.controller.install(config).expect("the program is accepted");
        (both.lease, both.packet_ins) = (None, VecDeque::new());
    }

    fn write(&mut self, updates: Vec<v1::Update>) -> Vec<Result<(), Status>> {
        let both = &mut *self.0.borrow_mut();
        let inserted = updates.iter().filter(|update| update.r#type == Type::Insert as i32);
        let entities = inserted.filter_map(|update| update.entity.clone());
        let of_engine = |entity: &v1::Entity| matches!(entity.entity, Some(Entity::PacketReplicationEngineEntry(_)));
        both.engine.extend(entities.filter(of_engine));
        let expected = both.twin.write(updates.clone());
        let outcomes: Vec<Result<(), Status>> = match both.controller.write(updates) {
            Ok(()) => expected.iter().map(|_| Ok(())).collect(),
            Err(Refused::Updates(codes)) => codes
                .into_iter()
                .map(|(code, text)| {
                    if code == Code::Ok {
                        Ok(())
                    } else {
                        Err(Status::new(code, text))
                    }
                })
                .collect(),
            Err(Refused::Request(status)) => panic!("{status}"),
        };
        let taken = |outcomes: &[Result<(), Status>]| -> Vec<bool> { outcomes.iter().map(Result::is_ok).collect() };
        assert_eq!(taken(&outcomes), taken(&expected), "the interpreter's answers");
        outcomes
    }

    fn read(&mut self, entities: Vec<v1::Entity>) -> Vec<v1::Entity> {
        self.0
            .borrow_mut()
            .controller
            .read(entities)
            .expect("counters can be read")
    }

    fn packet_out(&mut self, packet: v1::PacketOut) {
        let both = &mut *self.0.borrow_mut();
        both.twin.packet_out(packet.clone());
        both.send_lease(packet);
    }

    fn next_packet_in(&mut self) -> Option<v1::PacketIn> {
        self.0.borrow_mut().packet_ins.pop_front()
    }
}

impl Ports for Real {
    fn name(&self) -> String {
        "BMv2".into()
    }

    fn frame(&mut self, now: Instant, port: u16, bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let both = &mut *self.0.borrow_mut();
        both.renew();
        let expected = both.twin.frame(now, port, bytes).len();
        let outputs = both.bmv2.packet_for(port, bytes, expected);
        both.collect();
        outputs.into_iter().map(|output| (output.port, output.bytes)).collect()
    }

    fn at(&mut self, now: Instant) {
        self.0.borrow_mut().twin.at(now);
    }

    fn stamps_virtual_time(&self) -> bool {
        false
    }
}
