use std::collections::BTreeSet;

use super::*;
use crate::Replication;
use crate::program::Program;

const ALL: [Replication; 3] = [Replication::Multicast, Replication::Recirculation, Replication::Tree];

fn schema(replication: Replication) -> Schema {
    Schema::new(&Program::of(replication).unwrap().info).unwrap()
}

#[test]
fn the_compiled_programs_have_all_that_is_written() {
    let cookies: BTreeSet<u64> = ALL
        .iter()
        .map(|replication| Program::of(*replication).unwrap().cookie)
        .collect();
    assert_eq!(cookies.len(), 3, "each is another program");
    for replication in ALL {
        let sizes = schema(replication).sizes();
        assert_eq!(
            (sizes.relays, sizes.replicas, sizes.streams),
            (65_536, 1 << 19, 1 << 24)
        );
    }
}

#[test]
fn missing_parts_are_named() {
    let whole = Program::of(Replication::Multicast).unwrap().info;
    let without = |change: fn(&mut P4Info)| {
        let mut info = whole.clone();
        change(&mut info);
        Schema::new(&info).unwrap_err().to_string()
    };
    let error = without(|info| {
        info.tables
            .retain(|table| table.preamble.as_ref().unwrap().alias != "sender")
    });
    assert_eq!(error, "the program has no table sender");
    let error = without(|info| {
        info.actions
            .iter_mut()
            .for_each(|action| action.params.retain(|it| it.name != "epoch"))
    });
    assert_eq!(error, "the program has no parameter send.epoch");
    let error = without(|info| info.counters.clear());
    assert_eq!(error, "the program has no counter relayed");
    let error = without(|info| info.controller_packet_metadata[0].metadata.truncate(2));
    assert_eq!(error, "the program has no field packet_in.index");
    let error = without(|info| {
        for table in &mut info.tables {
            table.match_fields.truncate(1);
        }
    });
    assert_eq!(error, "the program has no key field service.dst_port");
}

#[test]
fn entries_are_read_as_they_are_written() {
    let schema = schema(Replication::Tree);
    let mut entries = vec![
        (Key::Group(7), Value::Copies([(1, 2), (3, 4)].into())),
        (Key::Session(2), Value::Copies([(1, 1)].into())),
        (Key::Entry(Table::Nexthop, vec![0, 0]), Value::Data(vec![1, 2, 3])),
    ];
    for table in Table::ALL.iter().filter(|table| !is_prefix(**table)) {
        let numbers = |count: usize| (1..=count as u128).map(|value| value % 2).collect::<Vec<_>>();
        let key = Key::Entry(*table, numbers(table.fields().len()));
        entries.push((key, Value::Data(numbers(table.action().fields().len()))));
    }
    for (key, value) in entries {
        let entity = schema.entity(&key, Some(&value));
        assert_eq!(schema.entry(&entity), Some((key, value)));
    }
    assert_eq!(schema.entry(&v1::Entity::default()), None);
    let foreign = v1::TableEntry {
        table_id: 1,
        ..Default::default()
    };
    let foreign = v1::Entity {
        entity: Some(v1::entity::Entity::TableEntry(foreign)),
    };
    assert_eq!(schema.entry(&foreign), None);
}

#[test]
fn values_are_not_wider_than_their_fields() {
    let schema = schema(Replication::Multicast);
    for action in Action::ALL {
        for field in &schema.actions[action].fields {
            assert!((1..=128).contains(&field.width), "{}", action.name());
        }
    }
    let send = &schema.actions[&Action::Send].fields;
    let widths: Vec<u32> = send.iter().map(|field| field.width).collect();
    assert_eq!(widths, [24, 8, 32, 1, 16, 16, 32, 16, 2, 2, 3, 4, 2, 24, 4, 64]);
}

#[test]
fn packets_carry_the_metadata_of_the_program() {
    let schema = schema(Replication::Multicast);
    let lease = schema.lease(1_000_000);
    let values: Vec<&[u8]> = lease.metadata.iter().map(|metadata| &metadata.value[..]).collect();
    assert_eq!(values, [&[2][..], &[0], &[0x0f, 0x42, 0x40]]);
    let metadata = (0..9).map(|place| v1::PacketMetadata {
        metadata_id: schema.packet_in[place].id,
        value: vec![place as u8 + 1],
    });
    let mut packet = v1::PacketIn {
        payload: vec![9],
        metadata: metadata.collect(),
    };
    let read = schema.packet_in(packet.clone()).unwrap();
    assert_eq!(
        (read.reason, read.port, read.index, read.epoch, read.stream),
        (1, 2, 3, 4, 9)
    );
    packet.metadata[2].value = vec![1, 0, 0];
    assert_eq!(schema.packet_in(packet.clone()).unwrap().index, 1 << 16);
    packet.metadata[3].value = vec![1, 0];
    assert_eq!(schema.packet_in(packet.clone()), None, "an epoch has eight bits");
    packet.metadata.pop();
    assert_eq!(schema.packet_in(packet), None);
}

fn counter_entry(entity: &mut v1::Entity) -> &mut v1::CounterEntry {
    match &mut entity.entity {
        Some(v1::entity::Entity::CounterEntry(entry)) => entry,
        other => panic!("{other:?} is no counter"),
    }
}

#[test]
fn cells_are_read_by_their_counters() {
    let schema = schema(Replication::Multicast);
    for cell in [
        Cell::Relayed(60_000),
        Cell::Sent(3),
        Cell::Sent(1 << 20),
        Cell::Verdict("ttl"),
    ] {
        let mut entity = schema.counter(cell);
        assert_eq!(schema.counted(&entity), None, "it has no data yet");
        counter_entry(&mut entity).data = Some(v1::CounterData {
            byte_count: 700,
            packet_count: 7,
        });
        assert_eq!(schema.counted(&entity), Some((cell, 7, 700)));
    }
    let mut negative = schema.counter(Cell::Sent(3));
    counter_entry(&mut negative).data = Some(v1::CounterData {
        byte_count: -1,
        packet_count: -1,
    });
    assert_eq!(schema.counted(&negative), None);
}
