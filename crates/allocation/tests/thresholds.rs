//! Scallop's policy, to compare with: an equal share for each video, and fixed rates.

mod support;

use allocation::{BitRate, Grant, Key, PerStream, Policy, Request, Subscription, Thresholds};
use support::*;

#[test]
fn thresholds_give_each_stream_an_equal_share() {
    let mut policy = PerStream::new(Thresholds::frame_rates(BitRate::kilo(500)));
    let layers = encodings(&[500]);
    let subscriptions = [1, 2].map(|key| Subscription {
        key: Key(key),
        request: Request::VIDEO,
        offers: &layers,
    });
    let mut now = Receiver::of([]).now;
    let mut sent = |kilo, ticks| {
        for _ in 0..ticks {
            now += TICK;
            policy.allocate(now, BitRate::kilo(kilo).into(), &subscriptions);
        }
        let allocation = policy.allocate(now, BitRate::kilo(kilo).into(), &subscriptions);
        let temporal = |grant: &Grant| grant.target().unwrap().layer.temporal;
        (
            allocation.grants.iter().map(temporal).collect::<Vec<_>>(),
            allocation.used,
        )
    };
    assert_eq!(sent(1_200, 30), (vec![2, 2], BitRate::kilo(1_000)));
    assert_eq!(sent(800, 1), (vec![1, 1], BitRate::kilo(600)));
    assert_eq!(sent(500, 1), (vec![0, 0], BitRate::kilo(400)));
}

#[test]
fn to_thresholds_a_size_is_an_encoding_or_a_layer() {
    let sizes = [150, 500, 1_700].map(BitRate::kilo);
    let (encodings, layers, sound) = (simulcast(), scalable(), voice());
    let small = Request {
        encoding_max: 0,
        ..Request::VIDEO
    };
    let of = |key, request, offers| Subscription {
        key: Key(key),
        request,
        offers,
    };
    let subscriptions = [
        of(1, Request::VIDEO, &encodings[..]),
        of(2, Request::VIDEO, &layers),
        of(3, small, &encodings),
        of(4, Request::AUDIO, &sound),
    ];
    let mut policy = PerStream::new(Thresholds::sizes(&sizes));
    let mut now = Receiver::of([]).now;
    let mut sent = |kilo| {
        for _ in 0..30 {
            now += TICK;
            policy.allocate(now, BitRate::kilo(kilo).into(), &subscriptions);
        }
        let allocation = policy.allocate(now, BitRate::kilo(kilo).into(), &subscriptions);
        let target = |grant: &Grant| {
            let target = grant.target().unwrap();
            (target.encoding, target.layer.spatial, target.layer.temporal)
        };
        allocation.grants[..3].iter().map(target).collect::<Vec<_>>()
    };
    // Shares of 2,000, of 1,100, of 490 and of 80 kbit/s.
    assert_eq!(sent(6_032), [(2, 0, 2), (0, 2, 2), (0, 0, 2)]);
    assert_eq!(sent(3_332), [(2, 0, 1), (0, 2, 1), (0, 0, 2)]);
    assert_eq!(sent(1_502), [(1, 0, 1), (0, 1, 1), (0, 0, 2)]);
    assert_eq!(sent(272), [(0, 0, 0), (0, 0, 0), (0, 0, 0)]);
}
