//! Tests of each rewriter's guarantees, under any loss and any order of arrival.

mod stream;

use std::collections::BTreeMap;

use proptest::prelude::*;
use rewriting::{Cadence, Exact, FramePacket, LowMemory, LowRetransmission, Rewriter};
use stream::{Arrival, Stream};

/// Numbers under which packets went out, by source number, each relative to the first.
type Sent = BTreeMap<u64, u64>;

/// Lets all packets arrive, and checks that a packet that arrives twice has one number.
fn play<R: Rewriter>(stream: &mut Stream, arrivals: &[Arrival]) -> Sent {
    let first = stream.first();
    let sequence = 65_000;
    let mut rewriter = R::start(&first, sequence, stream.cadence());
    let mut sent = Sent::new();
    for arrival in arrivals {
        if let Some((cadence, from)) = stream.change(arrival) {
            rewriter.change_cadence(cadence, from);
        }
        let packet: FramePacket = stream.arrive(arrival);
        if let Some(number) = rewriter.rewrite(&packet) {
            assert!(packet.forwarded, "a packet left out was sent");
            let number = u64::from(number.wrapping_sub(sequence));
            assert_eq!(
                *sent.entry(packet.number).or_insert(number),
                number,
                "one packet, two numbers"
            );
        }
    }
    sent
}

/// Type-1 errors: two packets with less room between them than the replica needs.
fn masked(stream: &Stream, sent: &Sent) -> Vec<(u64, u64)> {
    pairs(sent)
        .filter(|(older, newer)| room(sent[older], sent[newer]) <= stream.needed_between(*older, *newer) as i64)
        .collect()
}

/// From one number to a later one, in numbers; negative when the order is wrong.
fn room(older: u64, newer: u64) -> i64 {
    newer as i64 - older as i64
}

/// Type-2 errors: the count of numbers reserved in vain.
fn unneeded(stream: &Stream, sent: &Sent) -> u64 {
    let spare = |(older, newer)| sent[&newer] - sent[&older] - 1 - stream.needed_between(older, newer);
    pairs(sent).map(spare).sum()
}

fn pairs(sent: &Sent) -> impl Iterator<Item = (u64, u64)> {
    sent.keys().copied().zip(sent.keys().copied().skip(1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Any loss, reordering, repetition, key frames out of turn and changes of cadence.
    #[test]
    fn no_loss_is_masked((stream, arrivals) in stream::any()) {
        for (name, play) in [
            ("exact", play::<Exact> as fn(&mut Stream, &[Arrival]) -> Sent),
            ("low memory", play::<LowMemory>),
            ("low retransmission", play::<LowRetransmission>),
        ] {
            let mut stream = stream.clone();
            let sent = play(&mut stream, &arrivals);
            prop_assert_eq!(masked(&stream, &sent), vec![], "{} masks", name);
        }
    }

    /// A number is reserved for a packet left out exactly when that arrived after a newer one or
    /// never.
    #[test]
    fn exact_keeps_numbers_only_for_packets_out_of_order((mut stream, arrivals) in stream::any()) {
        let sent = play::<Exact>(&mut stream, &arrivals);
        for (older, newer) in pairs(&sent) {
            let spare = sent[&newer] - sent[&older] - 1 - stream.needed_between(older, newer);
            prop_assert_eq!(spare, stream.left_out_of_order_between(older, newer));
        }
    }

    /// They differ only in history: every packet that S-LM sends, S-LR sends under the same number.
    #[test]
    fn low_retransmission_sends_all_that_low_memory_sends((stream, arrivals) in stream::any()) {
        let little = play::<LowMemory>(&mut stream.clone(), &arrivals);
        let more = play::<LowRetransmission>(&mut stream.clone(), &arrivals);
        for (source, number) in little {
            prop_assert_eq!(more.get(&source), Some(&number));
        }
    }

    /// Without losses and late packets there is no error at all.
    #[test]
    fn a_clean_stream_has_no_gap((mut stream, arrivals) in stream::clean()) {
        let exact = play::<Exact>(&mut stream, &arrivals);
        prop_assert_eq!(unneeded(&stream, &exact), 0);
        let sent = play::<LowRetransmission>(&mut stream, &arrivals);
        prop_assert_eq!(sent, exact);
    }
}

#[test]
fn states_are_as_small_as_said() {
    assert_eq!(size_of::<LowMemory>(), 14);
    assert_eq!(size_of::<LowRetransmission>(), 26);
    assert_eq!(size_of::<Exact>(), 152);
}

/// Figure 14 of the paper: packets 1 to 5, of which 2 and 3 are a frame left out.
fn figure_14(number: u64) -> FramePacket {
    FramePacket {
        number,
        frame: [0, 0, 1, 1, 2, 2][number as usize],
        start_of_frame: [1, 2, 4].contains(&number),
        end_of_frame: [1, 3, 5].contains(&number),
        key_frame: number == 1,
        forwarded: ![2, 3].contains(&number),
    }
}

fn numbers<R: Rewriter>(arrivals: &[u64]) -> Vec<Option<u16>> {
    let mut rewriter = R::start(&figure_14(1), 1, Cadence::Second);
    arrivals
        .iter()
        .map(|number| rewriter.rewrite(&figure_14(*number)))
        .collect()
}

#[test]
fn packets_left_out_close_up() {
    let expected = [Some(1), None, None, Some(2), Some(3)];
    assert_eq!(numbers::<Exact>(&[1, 2, 3, 4, 5]), expected);
    assert_eq!(numbers::<LowMemory>(&[1, 2, 3, 4, 5]), expected);
    assert_eq!(numbers::<LowRetransmission>(&[1, 2, 3, 4, 5]), expected);
}

/// The start of frame 2 is lost. The number of frames left out of 2, 3 and 4 is known only to a
/// rewriter that saw them; otherwise it is one or more.
#[test]
fn lost_packets_leave_a_gap() {
    assert_eq!(numbers::<Exact>(&[1, 2, 3, 5]), [Some(1), None, None, Some(3)]);
    assert_eq!(numbers::<LowMemory>(&[1, 2, 3, 5]), [Some(1), None, None, Some(4)]);
    assert_eq!(
        numbers::<LowRetransmission>(&[1, 2, 3, 5]),
        [Some(1), None, None, Some(4)]
    );
}

/// A packet of the previous frame arrives after the next frame.
#[test]
fn late_packets_find_their_number_in_history() {
    let late = FramePacket {
        number: 0,
        end_of_frame: false,
        ..figure_14(1)
    };
    let mut exact = Exact::start(&late, 0, Cadence::Second);
    let mut little = LowMemory::start(&late, 0, Cadence::Second);
    let mut more = LowRetransmission::start(&late, 0, Cadence::Second);
    for (number, expected) in [(4, [Some(4), Some(3), Some(3)]), (1, [Some(1), None, Some(1)])] {
        let packet = FramePacket {
            start_of_frame: number == 4,
            ..figure_14(number)
        };
        assert_eq!(
            [exact.rewrite(&packet), little.rewrite(&packet), more.rewrite(&packet)],
            expected
        );
    }
}
