use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

const ADA: TransportId = TransportId(1);
const BOB: TransportId = TransportId(2);

#[test]
fn a_sender_waits_for_the_slowest_receiver_until_half_is_taken() {
    let mut ledger = Ledger::new(NodeId(0));
    let len = SENDER_WINDOW / 4;
    let messages: Vec<_> = (0..4).map(|_| ledger.open(ADA, len, false)).collect();
    for message in &messages {
        ledger.copied(*message);
        ledger.copied(*message);
        ledger.handled(*message);
        ledger.taken(*message);
    }
    assert!(!ledger.admits(ADA) && ledger.admits(BOB));
    assert!(ledger.wants(ADA) && !ledger.wants(ADA), "said once");
    assert_eq!(ledger.next(), None);
    ledger.taken(messages[0]);
    ledger.taken(messages[1]);
    assert_eq!(ledger.next(), None);
    ledger.taken(messages[2]);
    assert_eq!((ledger.next(), ledger.next()), (Some(ADA), None));
    ledger.taken(messages[3]);
    assert!(ledger.is_empty());
}

#[test]
fn a_busy_sender_leaves_others_their_turn() {
    let mut ledger = Ledger::new(NodeId(0));
    ledger.wants(ADA);
    ledger.wants(BOB);
    assert_eq!(ledger.next(), Some(ADA));
    ledger.wants(ADA);
    assert_eq!((ledger.next(), ledger.next()), (Some(BOB), Some(ADA)));
}

#[test]
fn no_sender_is_read_while_the_controller_is_behind() {
    let mut ledger = Ledger::new(NodeId(0));
    let messages: Vec<_> = (0..WITH_CONTROLLER_MAX).map(|_| ledger.open(ADA, 1, false)).collect();
    assert!(!ledger.admits(BOB) && !ledger.wants(BOB));
    assert_eq!(ledger.next(), None);
    ledger.handled(messages[7]);
    assert_eq!(ledger.next(), Some(BOB));
}

#[test]
fn messages_whose_controller_is_away_hold_back_their_own_sender_alone() {
    let mut ledger = Ledger::new(NodeId(0));
    let mut messages = Vec::new();
    while ledger.admits(ADA) {
        let message = ledger.open(ADA, 100, false);
        ledger.park(message);
        messages.push(message);
    }
    assert!(messages.len() > 2 * WITH_CONTROLLER_MAX && messages.len() * 164 >= SENDER_WINDOW);
    assert!(ledger.wants(ADA) && ledger.admits(BOB) && !ledger.wants(BOB));
    assert_eq!(ledger.next(), Some(BOB));
    ledger.forget(BOB);
    for message in &messages {
        ledger.park(*message);
        ledger.handled(*message);
    }
    assert_eq!(ledger.next(), Some(ADA));
    ledger.forget(ADA);
    assert!(ledger.is_empty());
}

#[test]
fn messages_that_a_controller_has_let_go_of_make_room_for_others() {
    let mut ledger = Ledger::new(NodeId(0));
    let messages: Vec<_> = (0..WITH_CONTROLLER_MAX).map(|_| ledger.open(ADA, 1, false)).collect();
    assert!(!ledger.admits(BOB) && !ledger.wants(BOB));
    messages.iter().for_each(|message| ledger.park(*message));
    assert_eq!(ledger.next(), Some(BOB));
    ledger.forget(BOB);
    messages.iter().for_each(|message| ledger.handled(*message));
    assert!(ledger.is_empty());
}

#[test]
fn messages_are_parked_up_to_a_limit() {
    let mut ledger = Ledger::new(NodeId(0));
    let mut bytes = 0;
    for from in 0..10_000 {
        let from = TransportId(from);
        while ledger.admits(from) {
            let message = ledger.open(from, 60_000, false);
            ledger.park(message);
            bytes += 60_000;
        }
    }
    let most = PARKED_BYTES_MAX + WITH_CONTROLLER_BYTES_MAX;
    assert!((PARKED_BYTES_MAX..=most).contains(&bytes), "{bytes}");
}

#[test]
fn lossy_messages_do_not_hold_their_sender() {
    let mut ledger = Ledger::new(NodeId(0));
    while ledger.admits_lossy(ADA) {
        ledger.open(ADA, 10_000, true);
    }
    assert!(ledger.admits(ADA) && ledger.admits_lossy(BOB));
}

#[test]
fn in_no_history_does_anything_stay_open() {
    for seed in 0..200 {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut ledger = Ledger::new(NodeId(0));
        let (mut open, mut buffered) = (Vec::new(), 0);
        for _ in 0..300 {
            let from = TransportId(rng.random_range(0..4));
            match rng.random_range(0..6) {
                0 | 1 if ledger.admits(from) => {
                    open.push((ledger.open(from, rng.random_range(0..70_000), false), 0, true))
                }
                2 => drop(ledger.wants(from)),
                3 => ledger.forget(from),
                4 => {
                    let now = rng.random_range(0..1_000_000);
                    ledger.buffered(buffered, now);
                    buffered = now;
                }
                _ if !open.is_empty() => {
                    let index = rng.random_range(0..open.len());
                    let (message, copies, with_controller) = &mut open[index];
                    match rng.random_range(0..4) {
                        3 => ledger.park(*message),
                        0 if *with_controller => {
                            ledger.copied(*message);
                            *copies += 1;
                        }
                        1 => {
                            ledger.handled(*message);
                            *with_controller = false;
                        }
                        _ if *copies > 0 => {
                            ledger.taken(*message);
                            *copies -= 1;
                        }
                        _ => {}
                    }
                    open.retain(|(_, copies, with_controller)| *with_controller || *copies > 0);
                }
                _ => drop(ledger.next()),
            }
        }
        for (message, copies, _) in open {
            ledger.handled(message);
            (0..copies).for_each(|_| ledger.taken(message));
        }
        ledger.buffered(buffered, 0);
        // Every sender with a waiting message gets its turn.
        while ledger.next().is_some() {}
        (0..4).for_each(|from| ledger.forget(TransportId(from)));
        assert!(ledger.is_empty(), "seed {seed}");
    }
}

#[test]
fn receivers_that_take_nothing_leave_room_to_others() {
    let mut ledger = Ledger::new(NodeId(0));
    assert_eq!(ledger.receiver_share(), SCTP_BUFFER_MAX);
    for _ in 0..2_000 {
        ledger.buffered(0, ledger.receiver_share());
    }
    assert!(!ledger.is_full() && ledger.admits(ADA));
    assert!(ledger.receiver_share() > 8 << 10, "{}", ledger.receiver_share());
}

#[test]
fn messages_whose_senders_cannot_wait_are_bounded() {
    const LEN: usize = 60_000;
    let mut ledger = Ledger::new(NodeId(0));
    let send = |ledger: &mut Ledger| {
        let message = ledger.open_unpaced(LEN)?;
        ledger.copied(message);
        ledger.copied(message);
        ledger.handled(message);
        Some(message)
    };
    let mut share = ledger.unpaced_share();
    let mut waiting = Vec::new();
    while let Some(message) = send(&mut ledger) {
        assert!(
            ledger.unpaced_share() < share,
            "receivers that do not read leave room to others"
        );
        share = ledger.unpaced_share();
        waiting.push(message);
    }
    assert_eq!(waiting.len(), UNPACED_MAX / (LEN + MESSAGE_COST));
    assert!(ledger.admits(ADA), "messages of participants have a limit of their own");
    for message in waiting {
        ledger.taken(message);
        ledger.taken(message);
    }
    assert!(ledger.is_empty());
    assert_eq!(ledger.unpaced_share(), UNPACED_MAX / UNPACED_SHARED);
}

#[test]
fn a_link_holds_a_sender_back_as_a_receiver_does() {
    let mut ledger = Ledger::new(NodeId(0));
    let message = ledger.open(ADA, SENDER_WINDOW, false);
    ledger.copied(message);
    ledger.handled(message);
    assert!(ledger.wants(ADA));
    assert_eq!(ledger.next(), None);
    ledger.taken(message);
    assert_eq!(ledger.next(), Some(ADA));
    ledger.forget(ADA);
    assert!(ledger.is_empty() && ledger.take_delivered().is_empty());
}

#[test]
fn a_message_of_a_link_is_delivered_when_all_receivers_have_it() {
    let mut ledger = Ledger::new(NodeId(0));
    let message = |number| MessageId {
        node: NodeId(9),
        number,
    };
    ledger.open_linked(message(1), 1_000);
    ledger.open_linked(message(2), 1_000);
    ledger.copied(message(1));
    ledger.handled(message(1));
    ledger.handled(message(2));
    assert_eq!(ledger.take_delivered(), [message(2)], "it has no receivers");
    ledger.taken(message(1));
    assert_eq!(ledger.take_delivered(), [message(1)]);
    assert!(ledger.is_empty() && ledger.unpaced_share() == UNPACED_MAX / UNPACED_SHARED);
}
