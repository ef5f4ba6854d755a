//! Encodings for which no other is sent, as on the way to another node.

mod support;

use allocation::{BitRate, Grant, Request};
use support::*;

#[test]
fn only_the_wanted_encoding_is_sent_where_no_other_may_be() {
    let middle = Request {
        encoding_max: 1,
        encoding_exact: true,
        ..Request::VIDEO
    };
    let without_it = simulcast().into_iter().filter(|offer| offer.target.encoding != 1);
    let mut receiver = Receiver::of([(middle, simulcast()), (middle, without_it.collect())]);
    receiver.steady(10_000, 1);
    assert_eq!(receiver.sent(0), Some((1, 0, 2)));
    assert_eq!(receiver.grants[1], Grant::Idle);
    receiver.steady(100, 3);
    assert_eq!(
        receiver.grants[0],
        Grant::Paused,
        "a smaller one does not take its place"
    );
}

#[test]
fn encodings_that_are_sent_exactly_come_whole_and_in_their_order() {
    let exactly = |encoding_max: u8| Request {
        encoding_max,
        encoding_exact: true,
        priority: 2 - encoding_max,
        ..Request::VIDEO
    };
    let mut receiver = Receiver::of([0, 1, 2].map(|encoding| (exactly(encoding), simulcast())));
    receiver.steady(10_000, 3);
    let all = [0, 1, 2].map(|encoding| Some((encoding, 0, 2)));
    assert_eq!([0, 1, 2].map(|index| receiver.sent(index)), all);
    let whole = simulcast()
        .iter()
        .take(6)
        .map(|offer| offer.rate)
        .fold(BitRate(0), BitRate::plus);
    receiver.steady(whole.0 / 900, 3);
    assert_eq!([0, 1].map(|index| receiver.sent(index)), all[..2]);
    assert_eq!(receiver.grants[2], Grant::Paused);
    receiver.steady(10_000, 30);
    assert_eq!(receiver.sent(2), all[2]);
}
