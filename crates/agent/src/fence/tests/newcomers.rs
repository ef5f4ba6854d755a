//! Messages for somebody who joins, and messages of a room whose owner is away.

use super::endpoints::{arrives, chatting, endpoint, sent, set, told};
use super::*;

/// Somebody joins whose endpoint is set while an earlier message is with the owner.
fn joining() -> (World, MessageId) {
    let mut world = chatting();
    world
        .command(OLD, 1, Command::SetElsewhere { elsewhere: true })
        .unwrap();
    let earlier = arrives(&mut world, 1, "_reliable", "1", 1);
    assert_eq!(told(&world), Some(Some(3)));
    world.command(OLD, 1, open(4)).unwrap();
    world.command(OLD, 1, set(endpoint(4, "dan", 4))).unwrap();
    (world, earlier)
}

#[test]
fn messages_for_a_newcomer_wait_for_what_went_by_the_owner() {
    let (mut world, earlier) = joining();
    let later = arrives(&mut world, 1, "_reliable", "2", 2);
    let at_once = sent(&[2, 3], "_reliable", "ada: 2", Some(later));
    assert_eq!((&world.out[..], &world.held[..]), (&[at_once][..], &[later][..]));
    let lossy = arrives(&mut world, 1, "_lossy", "0", 3);
    assert_eq!(world.out, [sent(&[2, 3, 4], "_lossy", "ada: 0", Some(lossy))]);
    let alone = arrives(&mut world, 1, "_reliable", "3 dan", 4);
    assert_eq!(world.out, [Command::MessageHandled { message: alone }]);
    let first = sent(&[4], "_reliable", "ada: 1", Some(earlier));
    world.command(OLD, 1, first.clone()).unwrap();
    assert_eq!(world.out, [first]);
    let handled = Command::MessageHandled { message: earlier };
    world.command(OLD, 1, handled.clone()).unwrap();
    let waited = [("ada: 2", later), ("ada: 3 dan", alone)];
    let waited = waited.map(|(text, message)| sent(&[4], "_reliable", text, Some(message)));
    assert_eq!((&world.out[0], &world.out[1..]), (&handled, &waited[..]));
    assert_eq!(world.released, [later, alone]);
    let next = arrives(&mut world, 1, "_reliable", "4", 5);
    assert_eq!(world.out, [sent(&[2, 3, 4], "_reliable", "ada: 4", Some(next))]);
}

#[test]
fn messages_for_a_newcomer_wait_for_the_next_owner() {
    let (mut world, earlier) = joining();
    let later = arrives(&mut world, 1, "_reliable", "2 dan", 2);
    world.disconnect(OLD);
    assert_eq!((&world.out[..], &world.parked[..]), (&[][..], &[earlier][..]));
    assert_eq!(world.released, [later], "its sender does not wait for that");
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    assert_eq!(notices_of(&world).len(), 1);
    let handled = Command::MessageHandled { message: earlier };
    world.command(NEW, 2, handled.clone()).unwrap();
    assert_eq!(world.out, [handled, sent(&[4], "_reliable", "ada: 2 dan", Some(later))]);
    assert_eq!(world.released, []);
}

#[test]
fn nobody_waits_for_a_newcomer_without_an_owner() {
    let (mut world, earlier) = joining();
    world.disconnect(OLD);
    let long = "x".repeat(60_000);
    for number in 2..102 {
        arrives(&mut world, 1, "_reliable", &format!("{number} dan {long}"), number);
        assert_eq!(world.held, []);
    }
    let full = world.fence.counters()[Counter::LinkFull];
    assert!((30..40).contains(&full), "{full}");
    world.connect(NEW);
    world.say(NEW, 2, RoomContent::Claim).unwrap();
    world
        .command(NEW, 2, Command::MessageHandled { message: earlier })
        .unwrap();
    assert_eq!(world.out.len() as u64, 1 + 100 - full, "the first ones");
    let next = arrives(&mut world, 1, "_reliable", "200 dan", 200);
    assert!(world.out.contains(&sent(&[4], "_reliable", "ada: 200 dan", Some(next))));
}

#[test]
fn nobody_waits_for_a_newcomer_that_has_left() {
    let (mut world, _) = joining();
    let later = arrives(&mut world, 1, "_reliable", "2 dan", 2);
    world.command(OLD, 1, close(4)).unwrap();
    assert_eq!(world.released, [later]);
    let (mut world, earlier) = joining();
    let later = arrives(&mut world, 1, "_reliable", "2 dan", 2);
    world.say(OLD, 1, RoomContent::End).unwrap();
    assert!(world.out.contains(&Command::MessageHandled { message: earlier }));
    assert_eq!(world.released, [later]);
}

fn notices_of(world: &World) -> Vec<&Notice> {
    let notices = world.messages.iter().filter_map(|(_, message)| match message {
        NodeMessage::Notice { notice, .. } => Some(notice),
        _ => None,
    });
    notices.collect()
}

#[test]
fn messages_that_wait_for_an_absent_owner_are_parked() {
    let mut world = chatting();
    world
        .command(OLD, 1, Command::SetElsewhere { elsewhere: true })
        .unwrap();
    let with_owner = arrives(&mut world, 1, "_reliable", "1", 1);
    assert_eq!(world.parked, []);
    world.disconnect(OLD);
    assert_eq!(world.parked, [with_owner]);
    let kept = arrives(&mut world, 1, "_reliable", "2", 2);
    assert_eq!(world.parked, [kept]);
    let lossy = arrives(&mut world, 1, "_lossy", "0", 3);
    assert!(world.parked.is_empty() && world.out.contains(&Command::MessageHandled { message: lossy }));
}
