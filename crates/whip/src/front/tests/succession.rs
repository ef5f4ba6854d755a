//! Sessions that another controller goes on with.

use super::*;

/// Has another controller go on with the room and its sessions.
fn succeeded(before: &mut World) -> World {
    let mut after = World::new();
    // Its ids are others than those of the first.
    after.connections = 100;
    let takeover = before.controller.takeover();
    let (room, people) = (takeover.room("lobby").unwrap(), takeover.participants("lobby"));
    let mut outputs = Vec::new();
    let mut takeover = after.controller.takeover();
    takeover
        .restore(after.now, "lobby", room, people, &mut outputs)
        .unwrap();
    let saved: Vec<_> = before.front.sessions.values().map(Session::save).collect();
    for saved in saved {
        after.restore(&saved);
    }
    after
}

impl World {
    fn restore(&mut self, saved: &[u8]) {
        self.connections += 1;
        let (connection, mut out) = (ConnectionId(self.connections), Vec::new());
        let (front, controller) = (&mut self.front, &mut self.controller);
        front.restore(controller, self.now, connection, "lobby", saved, &mut out);
        drive(front, controller, self.now, out, &mut self.out);
    }

    /// The content that is to be kept of sessions now; `None` for those that are over.
    fn kept(&mut self) -> Vec<bool> {
        let mut out = Vec::new();
        self.front.save(&mut out);
        let kept = out.iter().map(|output| match output {
            Output::Keep { content, .. } => content.is_some(),
            other => panic!("{other:?}"),
        });
        kept.collect()
    }
}

#[test]
fn a_session_is_changed_and_ended_at_the_next_controller() {
    let mut before = World::new();
    let ada = before.publish("ada");
    let (path, tag) = (header(&ada, "location").to_owned(), header(&ada, "etag").to_owned());
    assert_eq!(before.play("ben", "").status, 201);
    let mut after = succeeded(&mut before);
    assert_eq!(after.controller.population().participants, 2);
    let restarted = after.on_session("PATCH", &path, "ada", Some(&tag), &restart());
    assert_eq!(restarted.status, 200, "{}", restarted.body);
    assert_eq!(after.on_session("DELETE", &path, "ben", None, "").status, 401);
    assert_eq!(after.on_session("DELETE", &path, "ada", None, "").status, 200);
    assert_eq!(after.controller.population().participants, 1);
    // The player that the first controller let in follows its publisher.
    assert_eq!(after.publish("ada").status, 201);
    assert!(after.subscriptions() >= 2);
}

#[test]
fn a_session_stays_although_its_client_does_not_come_back() {
    let mut before = World::new();
    assert_eq!(before.publish("ada").status, 201);
    let mut after = succeeded(&mut before);
    let later = after.now + controller::limits::RESUME_TIMEOUT;
    after.controller.handle_timeout(later, &mut Vec::new());
    // Its media never connected here. One that had is removed by its transport alone.
    let connection = ConnectionId(101);
    assert!(after.front.is_open(connection));
    assert!(after.controller.population().participants <= 1);
}

#[test]
fn content_that_is_no_session_is_left_out() {
    let mut before = World::new();
    assert_eq!(before.publish("ada").status, 201);
    let mut after = succeeded(&mut before);
    let saved = before.front.sessions.values().next().unwrap().save();
    after.restore(b"{}");
    after.restore(&saved[..saved.len() / 2]);
    let text = String::from_utf8(saved).unwrap();
    after.restore(text.replace("v=0", "x=0").as_bytes());
    // A participant that is not there any more has no session.
    after.restore(text.replace("PA_", "PA_x").as_bytes());
    assert_eq!(after.front.sessions.len(), 1);
}

#[test]
fn a_session_is_kept_when_it_changes_and_no_longer_when_it_is_over() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let path = header(&ada, "location").to_owned();
    world.front.unsaved = Unsaved::default();
    assert_eq!(
        world.on_session("PATCH", &path, "ada", Some("*"), &restart()).status,
        200
    );
    world.front.unsaved.changed(ConnectionId(1));
    assert_eq!(world.kept(), [true]);
    let mut out = Vec::new();
    world.front.end(ConnectionId(1), &mut out);
    assert_eq!(world.kept(), [false]);
    assert!(world.kept().is_empty());
}
