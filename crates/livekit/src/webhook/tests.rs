//! Order, repetition and bounds of deliveries, and the token.

mod succession;

use std::time::{Duration, Instant};

use access::{ApiKeys, verify};
use base64::Engine as _;

use super::*;
use crate::limits::{WEBHOOK_ATTEMPTS_MAX, WEBHOOK_BYTES_MAX, WEBHOOK_MESSAGES_MAX};

const URL: &str = "http://a.test/";

fn settings(urls: &[&str]) -> Settings {
    let receivers = urls.iter().map(|url| Receiver {
        url: (*url).to_owned(),
        key: "key".to_owned(),
    });
    Settings {
        receivers: receivers.collect(),
        age_max: Duration::from_secs(60),
        depth_max: 3,
        ..Settings::default()
    }
}

fn message(room: &str, id: &str) -> Message {
    Message {
        event: "room_started",
        id: id.to_owned(),
        room: room.to_owned(),
        at: Duration::from_secs(1_800_000_000),
        body: "{\"a\": 1}".into(),
    }
}

/// A queue, a clock and what came out.
struct World {
    queue: Queue,
    now: Instant,
    sent: Vec<Delivery>,
    counts: Counters,
    lost: Vec<(String, Counter)>,
    done: Vec<String>,
}

impl World {
    fn new(settings: Settings) -> Self {
        let mut world = World {
            queue: Queue::default(),
            now: Instant::now(),
            sent: Vec::new(),
            counts: Counters::default(),
            lost: Vec::new(),
            done: Vec::new(),
        };
        world.configure(settings);
        world
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Queue, Instant, &mut Vec<Output>) -> T) {
        let mut out = Vec::new();
        act(&mut self.queue, self.now, &mut out);
        for output in out {
            match output {
                Output::Send(delivery) => self.sent.push(delivery),
                Output::Count(counter) => self.counts.count(counter),
                Output::Done(message) => self.done.push(message.id.clone()),
                Output::Lost(lost) => self.lost.push((lost.message.id.clone(), lost.why)),
            }
        }
    }

    fn push(&mut self, room: &str, id: &str) {
        self.act(|queue, now, out| queue.push(now, Duration::ZERO, message(room, id), out));
    }

    /// The ids of the messages that are being sent.
    fn sent(&self) -> Vec<&str> {
        self.sent.iter().map(|delivery| delivery.message.id.as_str()).collect()
    }

    fn configure(&mut self, settings: Settings) {
        self.act(|queue, _, out| queue.configure(settings, out));
    }

    fn finish(&mut self, id: &str, outcome: Outcome) {
        let at = self.sent.iter().position(|delivery| delivery.message.id == id);
        let delivery = self.sent.remove(at.expect("it was sent"));
        self.act(|queue, now, out| queue.finish(now, delivery.id, outcome, out));
    }

    fn answer(&mut self, id: &str, status: u16) {
        let retry_after = None;
        self.finish(id, Outcome::Answered { status, retry_after });
    }

    /// Lets time pass until the queue wants to be called; returns how long.
    fn wait(&mut self) -> Duration {
        let until = self.queue.poll_timeout().expect("a message waits");
        let waited = until - self.now;
        self.now = until;
        self.act(|queue, now, out| queue.handle_timeout(now, out));
        waited
    }
}

#[test]
fn messages_of_a_room_are_sent_one_after_another_and_rooms_beside_each_other() {
    let mut world = World::new(settings(&[URL]));
    for (room, id) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")] {
        world.push(room, id);
    }
    assert_eq!(world.sent(), ["a1", "b1"]);
    world.answer("a1", 200);
    assert_eq!(world.sent(), ["b1", "a2"]);
    world.answer("a2", 204);
    world.answer("a3", 200);
    world.answer("b1", 200);
    assert!(world.queue.is_empty() && world.queue.poll_timeout().is_none());
    assert_eq!(world.counts[Counter::Delivered], 4);
}

#[test]
fn a_failed_attempt_is_repeated_later_and_later_and_keeps_the_order() {
    let mut world = World::new(settings(&[URL]));
    world.push("a", "a1");
    world.push("a", "a2");
    for seconds in [1, 2, 4, 8, 16] {
        world.finish("a1", Outcome::Failed);
        assert!(world.sent().is_empty());
        assert_eq!(world.wait(), Duration::from_secs(seconds));
        assert_eq!(world.sent(), ["a1"]);
    }
    world.answer("a1", 503);
    assert_eq!(world.wait(), Duration::from_secs(30));
    assert!(world.sent().is_empty(), "both are older than a minute");
    let lost = ["a1", "a2"].map(|id| (id.to_owned(), Counter::TooOld));
    assert_eq!(world.lost, lost);
    let counts = [Counter::Failed, Counter::TooOld].map(|counter| world.counts[counter]);
    assert_eq!(counts, [6, 2]);
    assert!(world.queue.is_empty());
}

/// The answer of a receiver that takes a message.
const TAKEN: Outcome = Outcome::Answered {
    status: 200,
    retry_after: None,
};

#[test]
fn only_answers_about_the_moment_lead_to_another_attempt() {
    for status in [408, 429, 500, 502, 503, 504] {
        let mut world = World::new(settings(&[URL]));
        world.push("a", "a1");
        world.answer("a1", status);
        assert_eq!(world.counts[Counter::Failed], 1, "{status}");
        assert_eq!(world.wait(), Duration::from_secs(1), "{status}");
        assert_eq!(world.sent(), ["a1"], "{status}");
    }
    for status in [100, 301, 302, 307, 400, 401, 404, 501, 999] {
        let mut world = World::new(settings(&[URL]));
        world.push("a", "a1");
        world.push("a", "a2");
        world.answer("a1", status);
        assert_eq!(world.lost, [("a1".to_owned(), Counter::Refused)], "{status}");
        assert_eq!(world.sent(), ["a2"], "{status}");
    }
}

#[test]
fn a_receiver_that_asks_for_time_gets_up_to_half_a_minute() {
    for (asked, waited) in [(0, 1), (7, 7), (3600, 30)] {
        let mut world = World::new(settings(&[URL]));
        world.push("a", "a1");
        let outcome = Outcome::Answered {
            status: 503,
            retry_after: Some(Duration::from_secs(asked)),
        };
        world.finish("a1", outcome);
        assert_eq!(world.wait(), Duration::from_secs(waited));
    }
}

#[test]
fn a_success_ends_the_growth_of_waits() {
    let mut world = World::new(settings(&[URL]));
    world.push("a", "a1");
    world.push("a", "a2");
    world.finish("a1", Outcome::Failed);
    world.wait();
    world.finish("a1", Outcome::Failed);
    assert_eq!(world.wait(), Duration::from_secs(2));
    world.answer("a1", 200);
    world.finish("a2", Outcome::Failed);
    assert_eq!(world.wait(), Duration::from_secs(1));
}

#[test]
fn a_receiver_that_hangs_delays_no_other_one_and_has_a_bounded_number_of_attempts() {
    let other = "http://b.test/";
    let mut world = World::new(settings(&[URL, other]));
    for room in 0..2 * WEBHOOK_ATTEMPTS_MAX {
        world.push(&format!("room {room}"), "x");
        let to_other = world.sent.iter().position(|delivery| delivery.receiver.url == other);
        let delivery = world.sent.remove(to_other.expect("the other gets each at once"));
        world.act(|queue, now, out| queue.finish(now, delivery.id, TAKEN, out));
    }
    assert_eq!(world.counts[Counter::Delivered], 2 * WEBHOOK_ATTEMPTS_MAX as u64);
    assert_eq!(world.sent.len(), WEBHOOK_ATTEMPTS_MAX);
    world.answer("x", 200);
    assert_eq!(world.sent.len(), WEBHOOK_ATTEMPTS_MAX, "the next room has its turn");
}

#[test]
fn a_full_queue_drops_the_newest_message_and_counts_it() {
    let mut world = World::new(settings(&[URL]));
    for id in ["a1", "a2", "a3", "a4"] {
        world.push("a", id);
    }
    assert_eq!(world.lost, [("a4".to_owned(), Counter::QueueFull)]);
    world.push("b", "b1");
    assert_eq!(world.sent(), ["a1", "b1"]);

    let mut world = World::new(settings(&[URL]));
    for room in 0..=WEBHOOK_MESSAGES_MAX {
        world.push(&format!("room {room}"), "x");
    }
    assert_eq!(world.counts[Counter::QueueFull], 1);

    let mut world = World::new(settings(&[URL]));
    for room in ["a", "b", "c"] {
        let large = Message {
            body: vec![b'x'; WEBHOOK_BYTES_MAX / 2].into(),
            ..message(room, room)
        };
        world.act(|queue, now, out| queue.push(now, Duration::ZERO, large, out));
    }
    assert_eq!(world.lost, [("c".to_owned(), Counter::QueueFull)]);
    world.answer("a", 200);
    world.push("d", "d");
    assert_eq!(world.sent(), ["b", "d"], "there is room again");
}

#[test]
fn a_room_with_long_messages_leaves_bytes_to_others() {
    let deep = Settings {
        depth_max: 10_000,
        ..settings(&[URL])
    };
    let mut world = World::new(deep);
    let long = |room: &str| Message {
        body: vec![b'x'; 64 << 10].into(),
        ..message(room, "long")
    };
    while world.lost.is_empty() {
        world.act(|queue, now, out| queue.push(now, Duration::ZERO, long("a"), out));
    }
    for _ in 0..20 {
        world.act(|queue, now, out| queue.push(now, Duration::ZERO, long("b"), out));
    }
    assert_eq!(world.lost.len(), 1, "only the first room lost a message");
}

#[test]
fn other_settings_keep_the_messages_of_receivers_that_stay() {
    let removed = "http://b.test/";
    let other_key = || {
        let mut changed = settings(&[URL]);
        changed.receivers[0].key = "other".to_owned();
        changed
    };
    let mut world = World::new(settings(&[URL, removed]));
    world.push("a", "a1");
    world.push("a", "a2");
    let [first, of_removed] = [URL, removed].map(|url| {
        let mut sent = world.sent.iter().filter(|delivery| delivery.receiver.url == url);
        sent.next().expect("each has the first message").id
    });
    world.sent.clear();
    world.configure(other_key());
    let lost = ["a1", "a2"].map(|id| (id.to_owned(), Counter::ReceiverRemoved));
    assert_eq!(world.lost, lost);

    // The receiver is there again before its attempt is over. That attempt no longer counts.
    world.configure(settings(&[URL, removed]));
    world.act(|queue, now, out| queue.finish(now, of_removed, Outcome::Failed, out));
    assert!(world.sent.is_empty() && world.queue.poll_timeout().is_none());

    world.configure(other_key());
    world.act(|queue, now, out| queue.finish(now, first, TAKEN, out));
    assert_eq!(world.sent(), ["a2"]);
    assert_eq!(world.sent[0].receiver.key, "other");
}

#[test]
fn events_are_filtered_by_name() {
    let sent = |include: &[&str], exclude: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut world = World::new(Settings {
            include: names(include),
            exclude: names(exclude),
            ..settings(&[URL])
        });
        for event in EVENTS {
            let message = Message {
                event,
                ..message(event, event)
            };
            world.act(|queue, now, out| queue.push(now, Duration::ZERO, message, out));
        }
        world.sent.len()
    };
    assert_eq!(sent(&[], &[]), EVENTS.len());
    assert_eq!(sent(&["room_started", "room_finished"], &["room_started"]), 2);
    assert_eq!(sent(&[], &["room_started", "track_published"]), EVENTS.len() - 2);
}

#[test]
fn a_token_has_the_hash_of_the_body_and_expires() {
    let unix = Duration::from_secs(1_800_000_000);
    let keys = ApiKeys::default().with("key", "secret");
    let token = sign(b"{}", "key", &keys, unix).expect("the key is there");
    let claims = verify(&token, &keys, unix).expect("the token is good");
    assert_eq!(claims.iss, "key");
    // echo -n '{}' | openssl dgst -sha256 -binary | base64
    assert_eq!(claims.sha256, "RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=");
    let (from, until) = (unix.as_secs(), unix.as_secs() + 300);
    assert_eq!((claims.nbf, claims.exp), (Some(from), Some(until)));
    let payload = token.split('.').nth(1).expect("three parts");
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload);
    let payload: serde_json::Value = serde_json::from_slice(&payload.expect("base64")).expect("JSON");
    let names: Vec<_> = payload.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(names, ["exp", "iss", "nbf", "sha256"], "as LiveKit signs");
    assert!(verify(&token, &keys, unix + Duration::from_secs(600)).is_err());
    assert_eq!(sign(b"{}", "other", &keys, unix), None);
}

#[test]
fn a_receiver_is_told_of_the_rooms_of_its_key() {
    let mut world = World::new(settings(&[URL]));
    let rooms = access::RoomNames::new(vec!["shop-*".to_owned()]);
    world
        .queue
        .set_keys(ApiKeys::default().with("key", "secret").with_rooms("key", rooms));
    world.push("school", "EV_1");
    world.push("shop-1", "EV_2");
    assert_eq!(world.sent(), ["EV_2"]);
}
