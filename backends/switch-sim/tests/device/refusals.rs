//! Every refusal of the P4Runtime device, with its code.

use crate::support::{Bench, bytes, exact, group, masked, prefix, session};
use p4runtime::v1::entity::Entity;
use p4runtime::v1::set_forwarding_pipeline_config_request::Action as Push;
use p4runtime::v1::update::Type;
use p4runtime::v1::{self, TableEntry};
use switch_sim::{Options, Refusal};
use tonic::Code;

fn code(result: Result<(), Refusal>) -> Code {
    result.expect_err("it was to be refused").code
}

fn kind(bench: &Bench, value: u128, port: u128) -> TableEntry {
    let keys = [("hdr.start.kind", exact(value)), ("standard.ingress_port", exact(port))];
    bench.entry("kinds", &keys, "forward", &[2])
}

fn table_entry(entry: TableEntry) -> Entity {
    Entity::TableEntry(entry)
}

#[test]
fn entries_are_inserted_once_and_changed_only_where_they_are() {
    let mut bench = Bench::new();
    let entry = kind(&bench, 1, 1);
    assert_eq!(
        code(bench.update(Type::Modify, table_entry(entry.clone()))),
        Code::NotFound
    );
    assert_eq!(
        code(bench.update(Type::Delete, table_entry(entry.clone()))),
        Code::NotFound
    );
    bench.insert(entry.clone()).unwrap();
    assert_eq!(code(bench.insert(entry.clone())), Code::AlreadyExists);
    bench.update(Type::Modify, table_entry(entry.clone())).unwrap();
    bench.update(Type::Delete, table_entry(entry.clone())).unwrap();
    assert_eq!(
        code(bench.update(Type::Unspecified, table_entry(entry))),
        Code::InvalidArgument
    );
}

#[test]
fn a_table_has_a_size() {
    let mut bench = Bench::new();
    for value in 0..4 {
        let entry = kind(&bench, value, 1);
        bench.insert(entry).unwrap();
    }
    let entry = kind(&bench, 9, 1);
    assert_eq!(code(bench.insert(entry.clone())), Code::ResourceExhausted);
    let gone = kind(&bench, 3, 1);
    bench.update(Type::Delete, table_entry(gone)).unwrap();
    bench.insert(entry).unwrap();
}

#[test]
fn keys_are_of_their_kind_and_width_and_there_once() {
    let mut bench = Bench::new();
    let mut refused = |change: &dyn Fn(&mut TableEntry)| {
        let mut entry = kind(&bench, 1, 1);
        change(&mut entry);
        assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    };
    refused(&|it| it.table_id = 0x0200_ffff);
    refused(&|it| it.priority = 1);
    refused(&|it| drop(it.r#match.pop()));
    refused(&|it| it.r#match[0].field_id = 9);
    refused(&|it| it.r#match[1] = it.r#match[0].clone());
    refused(&|it| it.r#match[0].field_match_type = Some(masked(1, 1)));
    refused(&|it| it.r#match[0].field_match_type = Some(exact(256)));
    refused(&|it| it.r#match[1].field_match_type = Some(exact(512)));
    let raw = |value: &[u8]| {
        Some(v1::field_match::FieldMatchType::Exact(v1::field_match::Exact {
            value: value.to_vec(),
        }))
    };
    refused(&|it| it.r#match[1].field_match_type = raw(&[0, 1]));
    refused(&|it| it.r#match[1].field_match_type = raw(&[]));
}

#[test]
fn prefixes_and_masks_are_in_their_canonical_form() {
    let mut bench = Bench::new();
    for key in [prefix(0, 0), prefix(0, 129), prefix(1, 8), prefix(0, -1)] {
        let entry = bench.entry("routes", &[("hdr.start.address", key)], "route", &[1]);
        assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    }
    for (key, priority) in [
        (masked(0, 0), 1),
        (masked(2, 1), 1),
        (masked(1, 1), 0),
        (masked(1, 1), -1),
    ] {
        let mut entry = bench.entry("rules", &[("hdr.start.high", key)], "number", &[1]);
        entry.priority = priority;
        assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    }
    let everything = bench.entry("routes", &[], "route", &[1]);
    bench.insert(everything).unwrap();
}

#[test]
fn actions_are_those_of_the_table_with_their_parameters() {
    let mut bench = Bench::new();
    let mut refused = |expected: Code, change: &dyn Fn(&mut v1::Action)| {
        let mut entry = kind(&bench, 1, 1);
        if let Some(v1::table_action::Type::Action(action)) = entry.action.as_mut().and_then(|it| it.r#type.as_mut()) {
            change(action);
        }
        assert_eq!(code(bench.insert(entry)), expected);
    };
    refused(Code::InvalidArgument, &|it| it.action_id = 0x0100_ffff);
    refused(Code::InvalidArgument, &|it| it.params.clear());
    refused(Code::InvalidArgument, &|it| it.params.push(it.params[0].clone()));
    refused(Code::InvalidArgument, &|it| it.params[0].param_id = 2);
    refused(Code::InvalidArgument, &|it| it.params[0].value = bytes(512));
    refused(Code::InvalidArgument, &|it| it.params[0].value = vec![0, 1]);
    let mut entry = kind(&bench, 1, 1);
    entry.action = None;
    assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    // An action of another table, and one that is only for misses.
    let foreign = bench.entry("kinds", &[("hdr.start.kind", exact(1))], "route", &[1]);
    let mut entry = kind(&bench, 1, 1);
    entry.action = foreign.action;
    assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    let entry = bench.entry("routes", &[], "NoAction", &[]);
    assert_eq!(code(bench.insert(entry)), Code::PermissionDenied);
}

#[test]
fn parts_that_a_table_does_not_have_are_refused() {
    let mut bench = Bench::new();
    let mut refused = |change: &dyn Fn(&mut TableEntry)| {
        let mut entry = kind(&bench, 1, 1);
        change(&mut entry);
        assert_eq!(code(bench.insert(entry)), Code::InvalidArgument);
    };
    refused(&|it| it.idle_timeout_ns = 1);
    refused(&|it| it.meter_config = Some(v1::MeterConfig::default()));
    refused(&|it| it.counter_data = Some(v1::CounterData::default()));
    refused(&|it| it.is_const = true);
    let constant = bench.entry("constants", &[("hdr.start.kind", exact(1))], "number", &[1]);
    assert_eq!(code(bench.insert(constant)), Code::PermissionDenied);
}

#[test]
fn a_default_action_is_modified_where_it_is_not_constant() {
    let mut bench = Bench::new();
    let mut default = bench.entry("kinds", &[], "forward", &[6]);
    default.is_default_action = true;
    assert_eq!(code(bench.insert(default.clone())), Code::InvalidArgument);
    bench.update(Type::Modify, table_entry(default.clone())).unwrap();
    assert_eq!(bench.packet(1, &crate::support::packet(1, 0, 0, &[], b""))[0].port, 6);
    default.action = None;
    bench.update(Type::Modify, table_entry(default.clone())).unwrap();
    assert_eq!(bench.packet(1, &crate::support::packet(1, 0, 0, &[], b"")), []);
    default.priority = 1;
    assert_eq!(
        code(bench.update(Type::Modify, table_entry(default))),
        Code::InvalidArgument
    );
    let mut constant = bench.entry("routes", &[], "NoAction", &[]);
    constant.is_default_action = true;
    assert_eq!(
        code(bench.update(Type::Modify, table_entry(constant))),
        Code::PermissionDenied
    );
}

#[test]
fn groups_have_numbers_and_distinct_replicas() {
    let mut bench = Bench::new();
    assert_eq!(code(bench.insert(group(0, &[]))), Code::InvalidArgument);
    assert_eq!(code(bench.insert(group(1 << 15, &[]))), Code::OutOfRange);
    assert_eq!(code(bench.insert(group(1, &[(1, 1), (1, 1)]))), Code::InvalidArgument);
    assert_eq!(code(bench.insert(group(1, &[(512, 1)]))), Code::InvalidArgument);
    assert_eq!(code(bench.insert(group(1, &[(1, 65_536)]))), Code::InvalidArgument);
    assert_eq!(code(bench.update(Type::Modify, group(1, &[]))), Code::NotFound);
    assert_eq!(code(bench.update(Type::Delete, group(1, &[]))), Code::NotFound);
    bench.insert(group(1, &[(1, 1), (1, 2)])).unwrap();
    assert_eq!(code(bench.insert(group(1, &[]))), Code::AlreadyExists);
    assert_eq!(code(bench.insert(session(0, &[]))), Code::InvalidArgument);
    assert_eq!(code(bench.insert(session(1 << 15, &[]))), Code::InvalidArgument);
    assert_eq!(code(bench.update(Type::Delete, session(3, &[]))), Code::NotFound);
    bench.insert(session(3, &[(510, 0)])).unwrap();
    assert_eq!(code(bench.insert(session(3, &[]))), Code::AlreadyExists);
}

#[test]
fn replicas_have_a_budget_over_all_groups() {
    let mut bench = Bench::with(Options {
        replicas_max: 5,
        ..Options::default()
    });
    bench.insert(group(1, &[(1, 1), (1, 2), (1, 3)])).unwrap();
    assert_eq!(
        code(bench.insert(group(2, &[(1, 1), (1, 2), (1, 3)]))),
        Code::ResourceExhausted
    );
    bench.insert(group(2, &[(1, 1), (1, 2)])).unwrap();
    bench.update(Type::Modify, group(1, &[(2, 1), (2, 2), (2, 3)])).unwrap();
    assert_eq!(
        code(bench.update(Type::Modify, group(1, &[(2, 1), (2, 2), (2, 3), (2, 4)]))),
        Code::ResourceExhausted
    );
    bench.update(Type::Delete, group(1, &[])).unwrap();
    bench.insert(session(1, &[(1, 1), (1, 2), (1, 3)])).unwrap();
}

#[test]
fn an_entry_that_names_a_missing_group_is_refused_unless_lenient() {
    for is_lenient in [false, true] {
        let mut bench = Bench::with(Options {
            is_lenient,
            ..Options::default()
        });
        let keys = [("hdr.start.kind", exact(1)), ("standard.ingress_port", exact(1))];
        let entry = bench.entry("kinds", &keys, "replicate", &[5]);
        if is_lenient {
            bench.insert(entry).unwrap();
        } else {
            assert_eq!(code(bench.insert(entry.clone())), Code::NotFound);
            bench.insert(group(5, &[(1, 1)])).unwrap();
            bench.insert(entry).unwrap();
        }
    }
}

#[test]
fn a_push_forgets_entries_and_leaves_groups_behind() {
    for is_lenient in [false, true] {
        let mut bench = Bench::with(Options {
            is_lenient,
            ..Options::default()
        });
        bench.insert(group(5, &[(2, 1)])).unwrap();
        let entry = kind(&bench, 1, 1);
        bench.insert(entry.clone()).unwrap();
        bench.push(Push::VerifyAndCommit).unwrap();
        bench.insert(entry).unwrap();
        assert_eq!(code(bench.update(Type::Delete, group(5, &[]))), Code::NotFound);
        let again = bench.insert(group(5, &[(2, 1)]));
        if !is_lenient {
            assert_eq!(code(again), Code::AlreadyExists);
            continue;
        }
        // As in BMv2, each packet now leaves twice.
        again.unwrap();
        let keys = [("hdr.start.kind", exact(9)), ("standard.ingress_port", exact(1))];
        let entry = bench.entry("kinds", &keys, "replicate", &[5]);
        bench.insert(entry).unwrap();
        assert_eq!(bench.packet(1, &crate::support::packet(9, 0, 0, &[], b"")).len(), 2);
    }
}

#[test]
fn a_pipeline_is_verified_saved_committed_and_reconciled() {
    let mut bench = Bench::new();
    let entry = kind(&bench, 1, 1);
    bench.insert(entry.clone()).unwrap();
    bench.push(Push::Verify).unwrap();
    assert_eq!(code(bench.push(Push::Commit)), Code::FailedPrecondition);
    assert_eq!(code(bench.push(Push::Unspecified)), Code::InvalidArgument);
    bench.push(Push::ReconcileAndCommit).unwrap();
    assert_eq!(code(bench.insert(entry.clone())), Code::AlreadyExists);
    bench.push(Push::VerifyAndSave).unwrap();
    assert_eq!(code(bench.insert(entry.clone())), Code::AlreadyExists);
    bench.push(Push::Commit).unwrap();
    bench.insert(entry).unwrap();
    let request = v1::GetForwardingPipelineConfigRequest {
        device_id: 1,
        response_type: 1,
    };
    let config = bench.device.get_pipeline(&request).unwrap();
    assert_eq!(config.cookie.map(|it| it.cookie), Some(77));
    assert_eq!((config.p4info, config.p4_device_config.len()), (None, 0));
    bench.info.tables[0].match_fields[0].bitwidth = 9;
    assert_eq!(code(bench.push(Push::Verify)), Code::InvalidArgument);
}

#[test]
fn whole_requests_are_refused() {
    let mut bench = Bench::new();
    let request = |device_id, atomicity, role: &str| v1::WriteRequest {
        device_id,
        atomicity,
        role: role.to_owned(),
        ..Default::default()
    };
    let mut refused = |request: v1::WriteRequest| bench.device.write(&request).unwrap_err().code;
    assert_eq!(refused(request(2, 0, "")), Code::NotFound);
    assert_eq!(refused(request(1, 1, "")), Code::Unimplemented);
    assert_eq!(refused(request(1, 2, "")), Code::Unimplemented);
    assert_eq!(refused(request(1, 0, "other")), Code::Unimplemented);
    let mut empty = switch_sim::Device::new(Options::default());
    assert_eq!(
        empty.write(&request(1, 0, "")).unwrap_err().code,
        Code::FailedPrecondition
    );
}

#[test]
fn registers_and_value_sets_are_not_implemented() {
    let mut bench = Bench::new();
    for entity in [
        Entity::RegisterEntry(v1::RegisterEntry::default()),
        Entity::ValueSetEntry(v1::ValueSetEntry::default()),
        Entity::DigestEntry(v1::DigestEntry::default()),
        Entity::MeterEntry(v1::MeterEntry::default()),
    ] {
        assert_eq!(code(bench.update(Type::Modify, entity.clone())), Code::Unimplemented);
        assert_eq!(bench.read(entity).unwrap_err().code, Code::Unimplemented);
    }
}

#[test]
fn everything_is_read_as_it_was_written() {
    let mut bench = Bench::new();
    bench.insert(group(5, &[(2, 2), (2, 1)])).unwrap();
    bench.insert(session(7, &[(510, 0)])).unwrap();
    let mut route = bench.entry(
        "routes",
        &[("hdr.start.address", prefix(0xaa << 120, 8))],
        "route",
        &[4],
    );
    route.metadata = b"note".to_vec();
    bench.insert(route.clone()).unwrap();
    bench.packet(1, &crate::support::packet(1, 0, 0xaa << 120, &[], b""));
    assert_eq!(bench.read(group(0, &[])).unwrap(), [group(5, &[(2, 1), (2, 2)])]);
    assert_eq!(bench.read(session(7, &[])).unwrap(), [session(7, &[(510, 0)])]);
    assert_eq!(bench.read(group(6, &[])).unwrap_err().code, Code::NotFound);
    let all = TableEntry {
        counter_data: Some(v1::CounterData::default()),
        ..TableEntry::default()
    };
    let read = bench.read(table_entry(all)).unwrap();
    // The route, and the program's own entry.
    assert_eq!(read.len(), 2);
    route.counter_data = Some(v1::CounterData {
        byte_count: 20,
        packet_count: 1,
    });
    assert!(read.contains(&table_entry(route)));
    let cells = bench.read(Entity::CounterEntry(v1::CounterEntry::default())).unwrap();
    assert_eq!(cells.len(), 16);
}
