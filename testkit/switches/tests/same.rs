//! The simulator and BMv2 give the same outputs and the same codes, and the election is BMv2's.

use std::time::Duration;

use p4runtime::config::P4Info;
use p4runtime::v1::entity::Entity;
use p4runtime::v1::field_match::{Exact, FieldMatchType, Lpm, Ternary};
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, PacketMetadata, PacketOut, TableEntry};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use switch_sim::Options;
use switches::messages::{bytes, group, session};
use switches::{Controller, Output, Refused, Simulated, Switch, bmv2};
use tonic::Code;

const JSON: &str = include_str!("../../../backends/switch-sim/tests/data/small.json");
const INFO: &str = include_str!("../../../backends/switch-sim/tests/data/small.p4info.txtpb");

/// Packets that both switches get.
const PACKETS: usize = 400;

/// A switch and its controller.
struct Bench<S> {
    switch: S,
    controller: Controller,
}

impl<S: Switch> Bench<S> {
    fn new(switch: S) -> Self {
        let (mut controller, code) = Controller::connect(switch.address(), 1).unwrap();
        assert_eq!(code, Code::Ok);
        controller.push(JSON, INFO, 5).unwrap();
        Self { switch, controller }
    }

    /// The code of one update.
    fn write(&mut self, kind: Type, entity: Entity) -> Code {
        let update = v1::Update {
            r#type: kind as i32,
            entity: Some(v1::Entity { entity: Some(entity) }),
        };
        match self.controller.write(vec![update]) {
            Ok(()) => Code::Ok,
            Err(Refused::Updates(errors)) => errors[0].0,
            Err(Refused::Request(status)) => panic!("{status}"),
        }
    }

    /// The outputs in order, when so many are expected.
    fn packet(&mut self, port: u16, bytes: &[u8], expected: usize) -> Vec<Output> {
        let mut outputs = self.switch.packet_for(port, bytes, expected);
        outputs.sort_by(|a, b| (a.port, &a.bytes).cmp(&(b.port, &b.bytes)));
        outputs
    }
}

fn simulated() -> Bench<Simulated> {
    let options = Options {
        is_lenient: true,
        ..Options::default()
    };
    Bench::new(Simulated::start(options).unwrap())
}

fn exact(value: u128) -> FieldMatchType {
    FieldMatchType::Exact(Exact { value: bytes(value) })
}

fn entry(info: &P4Info, table: &str, keys: Vec<FieldMatchType>, action: &str, values: &[u128]) -> TableEntry {
    let is_named =
        |it: &Option<p4runtime::config::Preamble>, name: &str| it.as_ref().is_some_and(|it| it.alias == name);
    let table = info.tables.iter().find(|it| is_named(&it.preamble, table)).unwrap();
    let action = info.actions.iter().find(|it| is_named(&it.preamble, action)).unwrap();
    let fields = table.match_fields.iter().zip(keys);
    let params = action.params.iter().zip(values);
    let action = v1::Action {
        action_id: action.preamble.as_ref().unwrap().id,
        params: params
            .map(|(form, value)| v1::action::Param {
                param_id: form.id,
                value: bytes(*value),
            })
            .collect(),
    };
    TableEntry {
        table_id: table.preamble.as_ref().unwrap().id,
        r#match: fields
            .map(|(form, kind)| v1::FieldMatch {
                field_id: form.id,
                field_match_type: Some(kind),
            })
            .collect(),
        action: Some(v1::TableAction {
            r#type: Some(v1::table_action::Type::Action(action)),
        }),
        ..Default::default()
    }
}

/// Updates with good and bad parts.
fn updates(info: &P4Info) -> Vec<(Type, Entity)> {
    let mut all = Vec::new();
    let table = Entity::TableEntry;
    for (value, port) in [(1, 1), (0x81, 1), (0x55, 1), (0x66, 0)] {
        let keys = vec![exact(value), exact(port)];
        let action = if value == 0x55 { "replicate" } else { "forward" };
        all.push((
            Type::Insert,
            table(entry(info, "kinds", keys, action, &[if value == 0x55 { 5 } else { 2 }])),
        ));
    }
    all.push((Type::Insert, group(5, &[(1, 3), (2, 1), (2, 2)])));
    all.push((Type::Insert, session(7, &[(510, 0)])));
    for (value, prefix_len, port) in [(0xaa << 120, 8, 1), (0xaabb << 112, 16, 3)] {
        let key = FieldMatchType::Lpm(Lpm {
            value: bytes(value),
            prefix_len,
        });
        all.push((Type::Insert, table(entry(info, "routes", vec![key], "route", &[port]))));
    }
    for (value, mask, priority, action) in [(2, 2, 1, "number"), (3, 3, 2, "drop")] {
        let key = FieldMatchType::Ternary(Ternary {
            value: bytes(value),
            mask: bytes(mask),
        });
        let mut rule = entry(
            info,
            "rules",
            vec![key],
            action,
            &[1][..usize::from(action == "number")],
        );
        rule.priority = priority;
        all.push((Type::Insert, table(rule)));
    }
    // Bad ones.
    let good = entry(info, "kinds", vec![exact(1), exact(1)], "forward", &[2]);
    all.push((Type::Insert, table(good.clone())));
    all.push((
        Type::Insert,
        table(entry(info, "kinds", vec![exact(9), exact(9)], "forward", &[2])),
    ));
    all.push((
        Type::Modify,
        table(entry(info, "kinds", vec![exact(8), exact(1)], "forward", &[2])),
    ));
    all.push((
        Type::Delete,
        table(entry(info, "kinds", vec![exact(8), exact(1)], "forward", &[2])),
    ));
    all.push((
        Type::Insert,
        table(entry(info, "kinds", vec![exact(8)], "forward", &[2])),
    ));
    all.push((
        Type::Insert,
        table(entry(info, "kinds", vec![exact(256), exact(1)], "forward", &[2])),
    ));
    all.push((
        Type::Modify,
        table(entry(info, "kinds", vec![exact(1), exact(1)], "forward", &[512])),
    ));
    all.push((
        Type::Modify,
        table(entry(info, "kinds", vec![exact(1), exact(1)], "route", &[2])),
    ));
    all.push((Type::Insert, table(entry(info, "routes", vec![], "NoAction", &[]))));
    let mut wrong = good;
    wrong.priority = 1;
    all.push((Type::Modify, table(wrong)));
    all.push((Type::Insert, group(5, &[])));
    all.push((Type::Insert, group(0, &[])));
    all.push((Type::Insert, group(6, &[(1, 1), (1, 1)])));
    all.push((Type::Delete, group(6, &[])));
    all.push((Type::Modify, Entity::RegisterEntry(v1::RegisterEntry::default())));
    all
}

fn random_packet(random: &mut StdRng) -> (u16, Vec<u8>) {
    let kinds = [0x01, 0x81, 0x55, 0x66, 0x77, 0x88];
    let kind = kinds[random.random_range(0..kinds.len())];
    let count = random.random_range(0..5u8);
    let mut bytes = vec![kind, random.random::<u8>() << 4 | count, 0, random.random::<u8>() & 1];
    let addresses: [u128; 3] = [0xaa << 120, 0xaabb << 112, 0x77 << 120];
    bytes.extend(addresses[random.random_range(0..3)].to_be_bytes());
    for _ in 0..count {
        let length = random.random_range(0..6u8);
        let ids = [1, 2, 8, 9, 15];
        bytes.push(ids[random.random_range(0..ids.len())] << 4 | length);
        bytes.extend((0..length).map(|_| random.random::<u8>()));
    }
    bytes.extend(std::iter::repeat_n(7, random.random_range(0..40)));
    if random.random_range(0..10) == 0 {
        bytes.truncate(random.random_range(14..bytes.len()));
    }
    (random.random_range(1..4), bytes)
}

#[test]
fn the_simulator_is_as_bmv2() {
    let Some(real) = bmv2(&[1, 2, 3]) else { return };
    let mut real = Bench::new(real);
    let mut simulated = simulated();
    let info = p4runtime::p4info(INFO).unwrap();
    for (kind, entity) in updates(&info) {
        let codes = (real.write(kind, entity.clone()), simulated.write(kind, entity.clone()));
        assert_eq!(codes.0, codes.1, "{kind:?} {entity:?}");
    }
    let mut random = StdRng::seed_from_u64(30);
    for number in 0..PACKETS {
        let (port, bytes) = random_packet(&mut random);
        let expected = simulated.packet(port, &bytes, 0);
        let sent = real.packet(port, &bytes, expected.len());
        assert_eq!(sent, expected, "packet {number} to port {port}: {bytes:02x?}");
    }
    let counters = vec![v1::Entity {
        entity: Some(Entity::CounterEntry(v1::CounterEntry::default())),
    }];
    let both = (
        real.controller.read(counters.clone()).unwrap(),
        simulated.controller.read(counters).unwrap(),
    );
    assert_eq!(both.0, both.1);
}

#[test]
fn a_backup_becomes_primary_and_a_packet_goes_out() {
    let switch = Simulated::start(Options::default()).unwrap();
    let mut bench = Bench::new(switch);
    let address = bench.switch.address();
    let (mut backup, code) = Controller::connect(address, 0).unwrap();
    assert_eq!(code, Code::AlreadyExists);
    assert!(
        matches!(backup.write(Vec::new()), Err(Refused::Request(status)) if status.code() == Code::PermissionDenied)
    );
    assert_eq!(
        Controller::connect(address, 1).err().map(|it| it.code()),
        Some(Code::InvalidArgument)
    );
    let (mut higher, code) = Controller::connect(address, 2).unwrap();
    assert_eq!(code, Code::Ok);
    assert_eq!(bench.controller.arbitration().unwrap(), Code::AlreadyExists);
    higher.write(Vec::new()).unwrap();
    drop(higher);
    assert_eq!(bench.controller.arbitration().unwrap(), Code::Ok);
    let metadata = |id: u32, value: u8| PacketMetadata {
        metadata_id: id,
        value: vec![value],
    };
    let payload = vec![0; 20];
    let metadata = vec![metadata(1, 0), metadata(2, 3)];
    bench.controller.packet_out(PacketOut {
        payload: payload.clone(),
        metadata,
    });
    let sent = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        bench.switch.sent().pop()
    });
    assert_eq!(
        sent,
        Some(Output {
            port: 3,
            bytes: payload
        })
    );
}
