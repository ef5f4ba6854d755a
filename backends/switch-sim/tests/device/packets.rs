//! Packets through the small program: each construct, with the result that BMv2 gives.

use crate::support::{Bench, exact, group, masked, packet, prefix, session};
use switch_sim::Output;

fn out(port: u16, bytes: Vec<u8>) -> Output {
    Output { port, bytes }
}

/// A bench that sends packets of a kind from port 1 to port 2.
fn forwarding(kind: u8) -> Bench {
    let mut bench = Bench::new();
    let keys = [
        ("hdr.start.kind", exact(kind.into())),
        ("standard.ingress_port", exact(1)),
    ];
    let entry = bench.entry("kinds", &keys, "forward", &[2]);
    bench.insert(entry).unwrap();
    bench
}

#[test]
fn a_packet_without_an_entry_is_dropped() {
    let mut bench = Bench::new();
    assert_eq!(bench.packet(1, &packet(1, 0, 0, &[], b"x")), []);
    assert_eq!(bench.device.statistics().dropped, 1);
}

#[test]
fn elements_of_any_length_pass_unchanged() {
    let mut bench = forwarding(0x81);
    let sent = packet(0x81, 0, 5, &[&[0x13, 1, 2, 3], &[0x20], &[0x31, 9]], b"payload");
    assert_eq!(bench.packet(1, &sent), [out(2, sent.clone())]);
}

#[test]
fn a_parser_error_is_seen_by_the_program() {
    let mut bench = forwarding(0x81);
    // Too short, one element too many for the stack, and one that the program refuses.
    let short = packet(0x81, 0, 5, &[&[0x13, 1, 2]], b"");
    let four = packet(0x81, 0, 5, &[&[0x10], &[0x10], &[0x10], &[0x10]], b"");
    let refused = packet(0x81, 0, 5, &[&[0xf0]], b"");
    for sent in [short, four, refused] {
        assert_eq!(bench.packet(1, &sent), []);
    }
    assert_eq!(bench.device.counts().last().map(|it| (it.1, it.2)), Some((15, 3)));
}

#[test]
fn a_stack_is_moved_and_copied() {
    let mut bench = forwarding(0x81);
    let popped = packet(0x81, 0, 5, &[&[0x92, 1, 2], &[0x20]], b"rest");
    assert_eq!(
        bench.packet(1, &popped),
        [out(2, packet(0x81, 0, 5, &[&[0x20]], b"rest"))]
    );
    let copied = packet(0x81, 0, 5, &[&[0x12, 1, 2], &[0x81, 7]], b"rest");
    let expected = packet(0x81, 0, 5, &[&[0x81, 7], &[0x81, 7]], b"rest");
    assert_eq!(bench.packet(1, &copied), [out(2, expected)]);
}

#[test]
fn copies_of_a_group_know_their_number() {
    let mut bench = Bench::new();
    bench.insert(group(5, &[(3, 7), (2, 1), (2, 2)])).unwrap();
    let keys = [("hdr.start.kind", exact(9)), ("standard.ingress_port", exact(1))];
    let entry = bench.entry("kinds", &keys, "replicate", &[5]);
    bench.insert(entry).unwrap();
    let copy = |rid: u128| packet(9, 0, 0x100 ^ rid, &[], b"x");
    let expected = [out(2, copy(1)), out(2, copy(2)), out(3, copy(7))];
    assert_eq!(bench.packet(1, &packet(9, 0, 0x100, &[], b"x")), expected);
}

#[test]
fn a_packet_that_is_dropped_after_it_had_a_group_has_no_copies() {
    let mut bench = Bench::new();
    bench.insert(group(5, &[(3, 7), (2, 1)])).unwrap();
    let keys = [("hdr.start.kind", exact(0x33)), ("standard.ingress_port", exact(1))];
    let entry = bench.entry("kinds", &keys, "replicate", &[5]);
    bench.insert(entry).unwrap();
    assert_eq!(bench.packet(1, &packet(0x33, 0, 0x100, &[], b"x")), []);
    assert_eq!(bench.device.statistics().dropped, 1);
}

#[test]
fn a_clone_of_ingress_keeps_only_its_field_list() {
    let mut bench = Bench::new();
    bench.insert(session(7, &[(510, 0)])).unwrap();
    let keys = [("hdr.start.kind", exact(9)), ("standard.ingress_port", exact(4))];
    let entry = bench.entry("kinds", &keys, "report", &[1]);
    bench.insert(entry).unwrap();
    let sent = packet(9, 0, 1, &[], b"x");
    let outputs = bench.packet(4, &sent);
    let mut report = vec![0, 4];
    report.extend(&sent);
    assert_eq!(outputs, [out(510, report), out(3, sent.clone())]);
    let message = bench.device.packet_in(&outputs[0].bytes).unwrap();
    assert_eq!(message.payload, sent);
    let values: Vec<_> = message
        .metadata
        .iter()
        .map(|it| (it.metadata_id, it.value.clone()))
        .collect();
    assert_eq!(values, [(1, vec![0]), (2, vec![4])]);
}

#[test]
fn a_clone_of_egress_is_the_packet_as_it_is_then() {
    let mut bench = Bench::new();
    bench.insert(session(7, &[(510, 0)])).unwrap();
    bench.insert(group(5, &[(2, 3)])).unwrap();
    let keys = [("hdr.start.kind", exact(0x55)), ("standard.ingress_port", exact(1))];
    let entry = bench.entry("kinds", &keys, "replicate", &[5]);
    bench.insert(entry).unwrap();
    let sent = packet(0x55, 0, 0, &[], b"x");
    let changed = packet(0x55, 0, 3, &[], b"x");
    let mut report = vec![0, 3];
    report.extend(&changed);
    assert_eq!(bench.packet(1, &sent), [out(2, changed), out(510, report)]);
}

#[test]
fn a_recirculated_packet_loses_its_ingress_port() {
    let mut bench = forwarding(0x44);
    let keys = [("hdr.start.kind", exact(0x44)), ("standard.ingress_port", exact(0))];
    let entry = bench.entry("kinds", &keys, "forward", &[3]);
    bench.insert(entry).unwrap();
    // The second round knows neither the port nor that it is one: BMv2 sets the instance type of
    // unicast packets to zero before egress. So it goes round until the limit.
    assert_eq!(bench.packet(1, &packet(0x44, 0, 0, &[], b"x")), []);
    assert_eq!(bench.device.statistics().too_many_rounds, 1);
}

#[test]
fn a_resubmitted_packet_is_parsed_again() {
    let mut bench = Bench::new();
    let keys = [("hdr.start.kind", exact(0x66)), ("standard.ingress_port", exact(0))];
    let entry = bench.entry("kinds", &keys, "forward", &[3]);
    bench.insert(entry).unwrap();
    let expected = out(3, packet(0x66, 0, 0x6666, &[], b"x"));
    assert_eq!(bench.packet(1, &packet(0x66, 0, 0, &[], b"x")), [expected]);
}

#[test]
fn prefixes_rules_and_registers_decide() {
    let mut bench = Bench::new();
    let route = |bench: &mut Bench, value: u128, length: i32, port: u128| {
        let entry = bench.entry(
            "routes",
            &[("hdr.start.address", prefix(value, length))],
            "route",
            &[port],
        );
        bench.insert(entry).unwrap();
    };
    route(&mut bench, 0xaa << 120, 8, 4);
    route(&mut bench, 0xaabb << 112, 16, 5);
    let mut low = bench.entry("rules", &[("hdr.start.high", masked(2, 2))], "number", &[1]);
    low.priority = 1;
    let mut high = bench.entry("rules", &[("hdr.start.high", masked(3, 3))], "drop", &[]);
    high.priority = 2;
    bench.insert(low).unwrap();
    bench.insert(high).unwrap();

    let address = 0xaabb << 112;
    assert_eq!(bench.packet(1, &packet(1, 0, address, &[], b""))[0].port, 5);
    assert_eq!(bench.packet(1, &packet(1, 0, 0xaa << 120, &[], b""))[0].port, 4);
    assert_eq!(bench.packet(1, &packet(1, 3, address, &[], b"")), []);
    // The register counts to 3; then the signed comparison is true twice, and it begins again.
    for number in [1, 2, 3, 100, 101] {
        let expected = out(5, packet(1, 2, address | number, &[], b""));
        assert_eq!(bench.packet(1, &packet(1, 2, address, &[], b"")), [expected]);
    }
    let register: Vec<_> = bench.device.register("Inward.numbers").unwrap().to_vec();
    assert_eq!(register, [0, 101, 0, 0]);
}

#[test]
fn constant_entries_are_there_from_the_start() {
    let mut bench = forwarding(1);
    bench.packet(1, &packet(0x77, 0, 0, &[], b""));
    assert_eq!(bench.device.register("Inward.numbers").unwrap(), [0, 0, 0, 1]);
}

#[test]
fn a_wrong_checksum_is_seen_by_the_program_where_its_condition_holds() {
    for (kind, is_verified) in [(0x99, true), (0x98, false)] {
        let mut bench = forwarding(kind);
        let mut right = packet(kind, 0, 5, &[], b"odd");
        // The sum of what is covered, without the checksum itself.
        let covered = [&right[..2], &right[4..], &[0]].concat();
        let words = covered
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum = words.sum::<u32>();
        let checksum = !((sum >> 16) + (sum & 0xffff)) as u16;
        right[2..4].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(bench.packet(1, &right).len(), 1, "{kind:#x}");
        let mut wrong = right;
        wrong[3] ^= 1;
        let copies = bench.packet(1, &wrong).len();
        assert_eq!(copies, usize::from(!is_verified), "{kind:#x}");
    }
}

#[test]
fn a_checksum_covers_headers_and_payload() {
    let mut bench = forwarding(1);
    let mut sent = packet(1, 0, 0, &[], &[1, 2, 3]);
    sent[2] = 0xff;
    let outputs = bench.packet(1, &sent);
    // 0x0100 + 0x0102 + 0x0300, complemented.
    assert_eq!(outputs[0].bytes[2..4], (!0x0502u16).to_be_bytes());
}

#[test]
fn a_packet_of_the_controller_goes_to_its_port() {
    let mut bench = Bench::new();
    let payload = packet(1, 0, 0, &[], b"x");
    let metadata = |id: u32, value: u8| p4runtime::v1::PacketMetadata {
        metadata_id: id,
        value: vec![value],
    };
    let message = p4runtime::v1::PacketOut {
        payload: payload.clone(),
        metadata: vec![metadata(1, 0), metadata(2, 9)],
    };
    let now = std::time::Duration::ZERO;
    assert_eq!(
        bench.device.packet_out(now, &message).unwrap(),
        [out(9, payload.clone())]
    );
    let incomplete = p4runtime::v1::PacketOut {
        payload,
        metadata: vec![metadata(1, 0)],
    };
    assert!(bench.device.packet_out(now, &incomplete).is_err());
}
