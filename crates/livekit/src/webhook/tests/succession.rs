//! Messages that another process goes on with.

use super::*;

#[test]
fn a_message_is_done_once_for_each_receiver_whatever_becomes_of_it() {
    let other = "http://b.test/";
    let mut world = World::new(settings(&[URL, other]));
    for id in ["a1", "a2", "a3", "a4"] {
        let mut lines = 0;
        world.act(|queue, now, out| lines = queue.push(now, Duration::ZERO, message("a", id), out));
        assert_eq!(lines, 2);
    }
    assert_eq!(world.done, ["a4", "a4"], "only three may wait");
    world.answer("a1", 200);
    world.answer("a1", 404);
    assert_eq!(world.done[2..], ["a1", "a1"]);
    world.configure(settings(&[URL]));
    assert_eq!(world.done[4..], ["a2", "a3"]);
    world.answer("a2", 200);
    assert_eq!(world.done[6..], ["a2"]);
    let aged = Duration::from_secs(61);
    world.act(|queue, now, out| queue.push(now, aged, message("b", "b1"), out));
    assert_eq!(world.done[7..], ["b1"], "it is too old when it comes");
}

#[test]
fn a_room_that_somebody_else_tells_of_is_forgotten_but_for_the_message_that_is_being_sent() {
    let mut world = World::new(settings(&[URL]));
    for (room, id) in [("a", "a1"), ("a", "a2"), ("b", "b1")] {
        world.push(room, id);
    }
    world.act(|queue, _, _| queue.forget_room("a"));
    world.answer("a1", 200);
    assert_eq!(world.sent(), ["b1"]);
    world.push("a", "a3");
    world.finish("a3", Outcome::Failed);
    world.act(|queue, _, _| queue.forget_room("a"));
    world.push("a", "a4");
    assert_eq!(world.sent(), ["b1", "a4"]);
    world.wait();
    assert_eq!(
        world.sent(),
        ["b1", "a4"],
        "the wait for the message that was dropped starts nothing"
    );
    world.answer("a4", 200);
    world.answer("b1", 200);
    assert!(world.queue.is_empty() && world.lost.is_empty());
}

#[test]
fn a_message_survives_being_saved_and_restored() {
    let saved = message("Küche \"1\"", "EV_1").save();
    assert_eq!(Message::restore(&saved), Some(message("Küche \"1\"", "EV_1")));
    assert_eq!(Message::restore(b"{}"), None);
    let unknown = String::from_utf8_lossy(&saved).replace("room_started", "room_painted");
    assert_eq!(Message::restore(unknown.as_bytes()), None);
}
