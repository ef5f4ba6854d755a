//! Our program on the simulator and on BMv2: random packets of relays and rooms, in three ways to
//! replicate, with the same outputs, the same packets to the controller and the same counters.

mod packets;

use std::net::IpAddr;
use std::time::Duration;

use p4runtime::config::{Counter, P4Info};
use p4runtime::v1::entity::Entity;
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, PacketIn};
use switch_sim::{Embedded, Options, PROGRAMS};
use switches::messages::{entry, group, packet_out, session, update};
use switches::{Controller, Output, Simulated, Switch, bmv2};

use packets::Sender;

/// Packets of each program.
const PACKETS: u16 = 250;

/// The cells of each counter that are looked at. The entries name the first ones.
const CELLS: i64 = 16;

/// An index of which there is no cell.
const NO_CELL: u128 = 0xff_ffff;

/// The host, and the clients behind the ports from 2.
const HOST: &str = "10.0.0.1";
const HOST_V6: &str = "fd00::1";

/// A switch and its controller.
struct Bench<S> {
    switch: S,
    controller: Controller,
}

impl<S: Switch> Bench<S> {
    fn new(switch: S) -> Self {
        let (controller, _) = Controller::connect(switch.address(), 1).unwrap();
        Self { switch, controller }
    }

    fn begin(&mut self, program: &Embedded, info: &P4Info, updates: &[v1::Update]) {
        self.controller.push(program.json, program.p4info, 1).unwrap();
        self.controller.write(updates.to_vec()).unwrap();
        // The lease: two minutes.
        self.controller
            .packet_out(packet_out(info, &[2, 0, 120_000_000], Vec::new()));
        std::thread::sleep(Duration::from_millis(50));
    }

    /// The outputs and the packets to the controller, of which so many are expected.
    fn packet(&mut self, port: u16, bytes: &[u8], expected: (usize, usize)) -> (Vec<Output>, Vec<PacketIn>) {
        let mut outputs = self.switch.packet_for(port, bytes, expected.0);
        outputs.sort_by(|a, b| (a.port, &a.bytes).cmp(&(b.port, &b.bytes)));
        let mut ins = self.controller.packet_ins(expected.1).unwrap();
        ins.sort_by_key(|it| format!("{it:?}"));
        (outputs, ins)
    }

    /// Cells that have counted something, of those that the entries name.
    fn counters(&mut self, info: &P4Info) -> Vec<v1::Entity> {
        let cell = |counter: &Counter, index: i64| {
            let entry = v1::CounterEntry {
                counter_id: counter.preamble.as_ref().unwrap().id,
                index: Some(v1::Index { index }),
                data: None,
            };
            v1::Entity {
                entity: Some(Entity::CounterEntry(entry)),
            }
        };
        let cells = |counter: &Counter| (0..CELLS.min(counter.size)).map(|index| cell(counter, index)).collect();
        let named = info.counters.iter().flat_map::<Vec<_>, _>(cells).collect();
        let is_used = |it: &v1::Entity| match &it.entity {
            Some(Entity::CounterEntry(it)) => it.data.is_some_and(|it| it.packet_count > 0),
            _ => false,
        };
        let mut cells = self.controller.read(named).unwrap();
        cells.retain(is_used);
        cells.sort_by_key(|it| format!("{it:?}"));
        cells
    }
}

impl Bench<Simulated> {
    /// Packets that the switch has sent to the controller.
    fn ins(&self) -> u64 {
        self.switch.server.packet_ins()
    }
}

fn address(text: &str) -> u128 {
    match text.parse().unwrap() {
        IpAddr::V4(it) => it.to_ipv6_mapped().to_bits(),
        IpAddr::V6(it) => it.to_bits(),
    }
}

fn client(port: u16, is_v6: bool) -> String {
    if is_v6 {
        format!("fd00::{port}")
    } else {
        format!("10.0.0.{port}")
    }
}

/// Entries of two relays and of a room with three participants.
fn updates(info: &P4Info, mode: &str) -> Vec<v1::Update> {
    let mut all = Vec::new();
    let mut add = |entity| all.push(update(Type::Insert, entity));
    let table = |name: &str, keys: &[u128], action: &str, values: &[u128]| {
        Entity::TableEntry(entry(info, name, keys, action, values))
    };
    add(session(1, &[(510, 0)]));
    add(session(2, &[(1, 0)]));
    // Two branches share each tree. Stream 1 names the exclusion id of the other one.
    let other = |rid: u32| rid | 1 << 15;
    add(group(7, &[(2, 12), (3, 13), (4, 14), (3, other(13))]));
    add(group(8, &[(2, other(12)), (3, other(13)), (4, 14)]));
    let (branches, first) = match mode {
        "recirculation" => (3, 0),
        "tree" => (2, 0),
        _ => (0, 0),
    };
    for (position, port) in (first..).zip([2, 3, 4]) {
        add(table("participant", &[7, position], "member", &[10 + port, port]));
    }
    for is_v6 in [false, true] {
        let host = address(if is_v6 { HOST_V6 } else { HOST });
        add(table(
            "service",
            &[host, 5004],
            "serve",
            &[0x0200_0000_0001, 0x0200_0000_00ff],
        ));
        add(table(
            "nexthop",
            &[host],
            "route",
            &[1, 0x0200_0000_0001, 0x0200_0000_00ff],
        ));
        for port in [2, 3, 4] {
            let values = [u128::from(port), 0x0200_0000_0001, 0x0200_0000_0000 | u128::from(port)];
            add(table("nexthop", &[address(&client(port, is_v6))], "route", &values));
        }
        let (a, b) = (address(&client(2, is_v6)), address(&client(3, is_v6)));
        let index = u128::from(is_v6);
        add(table(
            "relay",
            &[a, 4000, host, 6000],
            "forward",
            &[index, host, 6001, b, 4001, index, 0xb8],
        ));
        let leg = [a, 5000, host, 5004];
        let sender = |ssrc: u128| [leg[0], leg[1], leg[2], leg[3], ssrc];
        // Stream 1 is described, 2 is not; both families share them.
        add(table("sender", &sender(0x1111), "media", &[1, 7, branches, 2, 1, 3]));
        add(table("sender", &sender(0x2222), "media", &[2, 7, branches, 0, 0, 0]));
        add(table("feedback", &leg, "proxy", &[host, 5004, b, 5001]));
    }
    add(table("format", &[1, 96], "known", &[]));
    add(table("format", &[2, 111], "known", &[]));
    for template in 0..6 {
        let (temporal, up) = (template % 3, if template < 3 { 2 } else { 0 });
        let (enters, is_key, back) = (temporal > 0, template == 0, temporal.min(1));
        // spatial, temporal, top, up, enters, above, key_frame, back, chain
        let values = [0, temporal, 2, up, enters.into(), 0, is_key.into(), back, 0];
        add(table("template_layer", &[1, template], "layer", &values));
    }
    for (rid, port, is_v6) in [(12, 2, false), (13, 3, false), (14, 4, true)] {
        let host = address(if is_v6 { HOST_V6 } else { HOST });
        let to = address(&client(port, is_v6));
        let macs = [0x0200_0000_0001, 0x0200_0000_0000 | u128::from(port)];
        add(table(
            "receiver",
            &[u128::from(port), rid],
            "to",
            &[macs[0], macs[1], host, 5004, to, 5001],
        ));
    }
    // index, epoch, ssrc, start, newest, next, timestamp, frame, method, spatial, temporal, mid_id,
    // mid_len, mid, time_id, ids
    let replicas: [[u128; 18]; 5] = [
        [13, 1, 1, 1, 0xa001, 1, 0, 100, 77, 5, 1, 3, 7, 4, 2, 0x6162, 0, 0x1060],
        [14, 1, 2, 1, 0xa002, 1, 0, 200, 88, 6, 2, 3, 1, 0, 0, 0, 0, 0x3210],
        [12, 2, NO_CELL, 1, 0xa005, 0, 1000, 300, 99, 0, 0, 3, 7, 0, 0, 0, 0, 0],
        [13, 2, 3, 1, 0xa003, 0, 1000, 300, 99, 0, 0, 3, 7, 0, 0, 0, 0, 0x0120],
        [
            14,
            2,
            4,
            1,
            0xa004,
            0,
            1005,
            7,
            11,
            0,
            0,
            3,
            7,
            5,
            1,
            0x63,
            0,
            0xfedc_ba98_7654_3210,
        ],
    ];
    for [rid, stream, values @ ..] in replicas {
        add(table("replica", &[rid - 10, rid, stream], "send", &values));
        let payload_type = if stream == 1 { 96 } else { 111 };
        add(table(
            "payload_type",
            &[values[0], payload_type],
            "map",
            &[payload_type + 1],
        ));
    }
    // Layer 2 of stream 1 is copied for one receiver.
    add(table("participant", &[8, 0], "member", &[13, 3]));
    let branches = u128::from(mode == "recirculation");
    add(table("layer_group", &[1, 2], "use_group", &[8, branches, 1]));
    all
}

fn counter(info: &P4Info, name: &str) -> u32 {
    let preambles = info.counters.iter().filter_map(|counter| counter.preamble.as_ref());
    let mut named = preambles.filter(|preamble| preamble.alias == name);
    named.next().unwrap().id
}

fn id(cell: &v1::Entity) -> Option<u32> {
    match &cell.entity {
        Some(Entity::CounterEntry(it)) => Some(it.counter_id),
        _ => None,
    }
}

#[test]
fn all_modes_are_as_on_bmv2() {
    let Some(real) = bmv2(&[1, 2, 3, 4]) else { return };
    let mut real = Bench::new(real);
    for program in PROGRAMS {
        let mut simulated = Bench::new(Simulated::start(Options::default()).unwrap());
        let info = p4runtime::p4info(program.p4info).unwrap();
        let updates = updates(&info, program.name);
        simulated.begin(&program, &info, &updates);
        real.begin(&program, &info, &updates);
        let mut sender = Sender::new(5);
        let mut copies = 0;
        for number in 0..PACKETS {
            let (port, bytes) = sender.next();
            let ins = simulated.ins();
            let mut expected = simulated.packet(port, &bytes, (0, 0));
            let missing = usize::try_from(simulated.ins() - ins).unwrap() - expected.1.len();
            expected.1.extend(simulated.controller.packet_ins(missing).unwrap());
            expected.1.sort_by_key(|it| format!("{it:?}"));
            let sent = real.packet(port, &bytes, (expected.0.len(), expected.1.len()));
            assert_eq!(sent, expected, "{}, packet {number}: {bytes:02x?}", program.name);
            copies += expected.0.len();
        }
        assert!(
            copies > usize::from(PACKETS),
            "{}: only {copies} packets were sent",
            program.name
        );
        let counters = simulated.counters(&info);
        assert_eq!(real.counters(&info), counters, "{}", program.name);
        let no_cell = counter(&info, "no_cell");
        assert!(
            counters.iter().any(|cell| id(cell) == Some(no_cell)),
            "{}",
            program.name
        );
        // A push leaves groups behind.
        for entity in [group(7, &[]), group(8, &[]), session(1, &[]), session(2, &[])] {
            real.controller.write(vec![update(Type::Delete, entity)]).unwrap();
        }
    }
}
