//! Legs that share a pair of addresses.

use dataplane::Reason;

use super::*;

/// A leg at the address of leg 1, told apart by this SSRC.
fn beside(ssrc: u32) -> Leg {
    Leg {
        shared: Some(Ssrc(ssrc)),
        ..leg(1)
    }
}

/// The legs 1 and 3 at one address, and leg 2.
fn bench() -> Bench {
    let mut bench = Bench::new();
    for (id, leg) in [(1, beside(0x901)), (2, leg(2)), (3, beside(0x903))] {
        bench
            .rooms(|rooms, context| rooms.set_leg(context, LegId(id), leg))
            .unwrap();
    }
    bench
}

#[test]
fn streams_of_one_address_are_told_apart_by_their_ssrcs() {
    let mut bench = bench();
    bench.stream(key(1, 10), opus());
    bench.stream(key(3, 12), opus());
    bench.moved(6, replica(2, 60, key(1, 10), AUDIO), false);
    bench.moved(7, replica(2, 61, key(3, 12), AUDIO), false);
    let sender = |(key, data): (&[u128], &[u128])| (key[..4].to_vec(), key[4], data[0]);
    let senders: Vec<_> = bench.switch.of(Table::Sender).into_iter().map(sender).collect();
    let [(one, 10, first), (other, 12, second)] = &senders[..] else {
        panic!("{senders:?}");
    };
    assert_eq!(one, other);
    assert_ne!(first, second);

    // The address is looked at as long as one of them is there.
    bench.rooms(|rooms, context| rooms.remove_leg(context, LegId(1)));
    bench.switch.work(&mut bench.core);
    assert!(!bench.sends(6) && bench.sends(7));
    assert_eq!(bench.switch.of(Table::Sender).len(), 1);
    assert_eq!(bench.switch.of(Table::Service).len(), 1);
    bench.rooms(|rooms, context| rooms.remove_leg(context, LegId(3)));
    bench.switch.work(&mut bench.core);
    assert!(bench.switch.of(Table::Sender).is_empty());
    assert!(bench.switch.of(Table::Service).is_empty());
}

#[test]
fn a_stream_goes_to_both_legs_of_one_address() {
    let mut bench = bench();
    bench.stream(key(2, 10), opus());
    bench.moved(6, replica(1, 60, key(2, 10), AUDIO), false);
    bench.moved(7, replica(3, 61, key(2, 10), AUDIO), false);
    let receivers = bench.switch.of(Table::Receiver);
    let [(one, to), (other, to_other)] = &receivers[..] else {
        panic!("{receivers:?}");
    };
    assert_ne!(one, other);
    assert_eq!(to, to_other);
    assert_ne!(bench.send(6)[2], bench.send(7)[2], "the SSRCs");
}

#[test]
fn feedback_of_a_leg_that_shares_its_address_is_the_hosts() {
    let mut bench = bench();
    let mut set = |from, to| bench.rooms(|rooms, context| rooms.set_feedback(context, LegId(from), Some(LegId(to))));
    assert_eq!(set(1, 2), Err(Refused::Unsupported(Reason::Addresses)));
    assert_eq!(set(2, 1), Ok(()));
    bench.switch.work(&mut bench.core);
    assert_eq!(bench.switch.of(Table::Feedback).len(), 1);
}
