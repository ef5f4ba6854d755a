//! Shares of the slots of sessions.

use slots::Limits;

use super::*;
use crate::limits::CONNECT_MIN;
use crate::session_slots::SessionSlots;

/// A world with a publisher, and so many slots for viewers without a token.
fn with_viewers(max: usize) -> World {
    let mut world = World::new();
    assert_eq!(world.publish("ada").status, 201);
    let viewers = SessionSlots::new(Limits::shared(max, CONNECT_MIN));
    world.front.viewers.insert("lobby".to_owned(), viewers);
    world
}

impl World {
    fn watch(&mut self, address: &str) -> Answer {
        self.address = Some(address.parse().unwrap());
        self.post("/whep/v1", "room=lobby", None, &played())
    }

    /// The status of a request about the session of an answer.
    fn delete(&mut self, opened: &Answer) -> u16 {
        let request = HttpRequest {
            method: "DELETE",
            path: header(opened, "location"),
            ..HttpRequest::default()
        };
        self.ask(request, "").status
    }

    /// The client that has asked last is connected.
    fn connect(&mut self) {
        let transports = self.out.iter().filter_map(|output| match output {
            controller::Output::Command {
                command: Command::Open(open),
                ..
            } => Some(open.transport),
            _ => None,
        });
        let transport = transports.last().expect("a transport");
        let connected = Input::Notice {
            node: NODE,
            notice: Notice::Connected { transport, srtp: None },
        };
        let mut outputs = Vec::new();
        self.controller.handle(self.now, connected, &mut outputs);
        drive(
            &mut self.front,
            &mut self.controller,
            self.now,
            Vec::new(),
            &mut outputs,
        );
    }

    fn watch_until_refused(&mut self, address: &str) -> Vec<Answer> {
        let mut opened = Vec::new();
        loop {
            let answer = self.watch(address);
            if answer.status != 201 {
                assert_eq!((answer.status, header(&answer, "retry-after")), (429, "5"));
                return opened;
            }
            opened.push(answer);
        }
    }
}

#[test]
fn viewers_of_one_address_leave_slots_to_others() {
    let mut world = with_viewers(9);
    let mut flood = world.watch_until_refused("192.0.2.1");
    assert_eq!(flood.len(), 8);
    assert_eq!(world.watch("192.0.2.2").status, 201);
    world.connect();
    assert_eq!(world.watch("192.0.2.3").status, 503, "all are new");
    assert_eq!(world.play("ben", "").status, 201, "a token needs no slot of viewers");
    world.now += CONNECT_MIN;
    assert_eq!(
        world.watch("192.0.2.3").status,
        201,
        "the oldest of the flood gives way"
    );
    let rest = flood.split_off(1);
    assert_eq!(world.delete(&flood[0]), 404);
    assert!(rest.iter().all(|opened| world.delete(opened) == 200));
}

#[test]
fn connected_viewers_stay() {
    let mut world = with_viewers(9);
    let mut held = Vec::new();
    for host in 0..9 {
        held.push(world.watch(&format!("192.0.2.{host}")));
        world.connect();
    }
    world.now += CONNECT_MIN;
    assert_eq!(world.watch("192.0.2.99").status, 503);
    assert!(held.iter().all(|opened| world.delete(opened) == 200));
    assert!(world.front.viewers.is_empty(), "nothing is left of them");
}

#[test]
fn publishers_of_one_network_leave_slots_to_others() {
    let mut world = World::new();
    world.front.set_limits(Limits::shared(9, CONNECT_MIN));
    world.address = Some("2001:db8::1".parse().unwrap());
    let opened = (0..12).filter(|host| world.publish(&format!("flood-{host}")).status == 201);
    assert_eq!(opened.count(), 8);
    world.address = Some("2001:db8:0:1::1".parse().unwrap());
    assert_eq!(world.publish("ada").status, 201);
}

#[test]
fn a_session_that_is_refused_takes_no_slot() {
    let mut world = World::new();
    let grant = VideoGrant {
        can_publish_sources: vec!["microphone".to_owned()],
        ..VideoGrant::default()
    };
    let authorization = world.authorization("ada", grant);
    let request = HttpRequest {
        method: "POST",
        path: "/whip/v1",
        authorization: Some(&authorization),
        content_type: Some("application/sdp"),
        ..HttpRequest::default()
    };
    assert_eq!(world.ask(request, &published()).status, 403);
    assert!(world.front.slots.is_empty());
}
