//! Requests against a controller: publishers and players of one room.

mod encoder;
mod regions;
mod shares;
mod succession;
mod tokens;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant, sign};
use controller::{Config, Controller, WallClock};
use southbound::{Capabilities, Command, Fingerprint, HashFunction, Node, NodeId, Notice};

use super::*;
use crate::call::{Access, Request as HttpRequest, judge};
use crate::drive::drive;
use crate::offer::tests::sdp;
use crate::watch::Watch;

const UNIX: Duration = Duration::from_secs(1_800_000_000);
const NODE: NodeId = NodeId(1);
const PASSWORD: &str = "9876543210987654321098";

struct World {
    controller: Controller,
    front: Front,
    now: Instant,
    keys: ApiKeys,
    watch: Watch,
    connections: u64,
    /// Of the client that asks.
    address: Option<IpAddr>,
    region: Option<String>,
    /// The outputs of the last request.
    out: Vec<controller::Output>,
}

/// Has a node say where it is.
fn announce(controller: &mut Controller, now: Instant, node: NodeId) {
    let notice = Notice::Node(Node {
        node,
        addresses: vec![([192, 0, 2, node.0 as u8], 7882).into()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    });
    controller.handle(now, Input::Notice { node, notice }, &mut Vec::new());
}

impl World {
    fn new() -> Self {
        let (now, keys) = (Instant::now(), ApiKeys::default().with("devkey", "secret"));
        let clock = WallClock { now, unix: UNIX };
        let mut controller = Controller::new(Config::new(keys.clone()), clock, [7; 32]);
        controller.set_room_events(true);
        announce(&mut controller, now, NODE);
        Self {
            controller,
            front: Front::default(),
            now,
            keys,
            watch: Watch::new(vec!["lobby".to_owned()]),
            connections: 0,
            address: None,
            region: None,
            out: Vec::new(),
        }
    }

    fn authorization(&self, identity: &str, grant: VideoGrant) -> String {
        let claims = Claims {
            iss: "devkey".to_owned(),
            sub: identity.to_owned(),
            video: VideoGrant {
                room_join: true,
                room: "lobby".to_owned(),
                ..grant
            },
            ..Claims::default()
        };
        format!("Bearer {}", sign(&claims, &self.keys).unwrap())
    }

    fn ask(&mut self, request: HttpRequest<'_>, body: &str) -> Answer {
        self.out.clear();
        self.connections += 1;
        let access = Access {
            keys: &self.keys,
            watch: &self.watch,
            unix: UNIX,
            random: self.connections,
        };
        let mut call = match judge(request, access).and_then(|judged| judged.read(body.as_bytes())) {
            Ok(call) => call,
            Err(answer) => return answer,
        };
        if let Call::Open(open) = &mut call {
            (open.address, open.region) = (self.address, self.region.clone());
        }
        let connection = ConnectionId(self.connections);
        let call_id = CallId(self.connections);
        let mut out = Vec::new();
        let (front, controller) = (&mut self.front, &mut self.controller);
        front.handle(controller, self.now, call_id, connection, call, &mut out);
        let mut answers = drive(front, controller, self.now, out, &mut self.out);
        let (answered, answer) = answers.pop().expect("an answer to the call");
        assert_eq!((answered, answers.len()), (call_id, 0));
        assert!(self.front.pending.is_empty());
        answer
    }

    fn post(&mut self, path: &str, query: &str, identity: Option<&str>, body: &str) -> Answer {
        let authorization = identity.map(|identity| self.authorization(identity, VideoGrant::default()));
        let request = HttpRequest {
            method: "POST",
            path,
            query,
            authorization: authorization.as_deref(),
            content_type: Some("application/sdp"),
            ..HttpRequest::default()
        };
        self.ask(request, body)
    }

    fn publish(&mut self, identity: &str) -> Answer {
        self.post("/whip/v1", "", Some(identity), &published())
    }

    fn play(&mut self, identity: &str, query: &str) -> Answer {
        self.post("/whep/v1", query, Some(identity), &played())
    }

    fn on_session(&mut self, method: &str, path: &str, identity: &str, if_match: Option<&str>, body: &str) -> Answer {
        let authorization = self.authorization(identity, VideoGrant::default());
        let request = HttpRequest {
            method,
            path,
            authorization: Some(&authorization),
            content_type: Some("application/trickle-ice-sdpfrag"),
            if_match,
            ..HttpRequest::default()
        };
        self.ask(request, body)
    }

    fn subscriptions(&self) -> usize {
        let is_one = |output: &&controller::Output| {
            matches!(
                output,
                controller::Output::Command {
                    command: Command::Subscribe(_),
                    ..
                }
            )
        };
        self.out.iter().filter(is_one).count()
    }
}

fn published() -> String {
    sdp(&[("audio", "sendonly", ""), ("video", "sendonly", "")])
}

fn played() -> String {
    sdp(&[("audio", "recvonly", ""), ("video", "recvonly", "")])
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let found = answer.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

#[test]
fn a_publisher_is_played() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let media_type = header(&ada, "content-type");
    assert_eq!((ada.status, media_type), (201, "application/sdp"), "{}", ada.body);
    assert!(header(&ada, "location").starts_with("/whip/v1/bG9iYnk/PA_"));
    assert_eq!(ada.body.matches("a=recvonly").count(), 2, "{}", ada.body);
    assert!(ada.body.contains("a=setup:active"), "{}", ada.body);
    let ben = world.play("ben", "");
    assert_eq!(ben.status, 201, "{}", ben.body);
    assert_eq!(ben.body.matches("a=sendonly").count(), 2, "{}", ben.body);
    assert!(ben.body.contains("a=ssrc:"), "{}", ben.body);
    assert!(world.subscriptions() >= 2);
}

#[test]
fn a_player_may_get_a_track_that_is_not_published_yet() {
    let mut world = World::new();
    let video = sdp(&[("video", "sendonly", "")]);
    assert_eq!(world.post("/whip/v1", "", Some("ada"), &video).status, 201);
    let ben = world.play("ben", "");
    assert_eq!(ben.body.matches("a=sendonly").count(), 2, "{}", ben.body);
}

#[test]
fn a_player_has_to_wait_for_a_publisher() {
    let mut world = World::new();
    let early = world.play("ben", "");
    assert_eq!((early.status, header(&early, "retry-after")), (409, "2"));
    assert_eq!(world.controller.population().rooms, 0, "asking creates no room");
    assert_eq!(world.publish("ada").status, 201);
    assert_eq!(world.play("ben", "participant=cyd").status, 409);
    assert_eq!(world.play("ben", "participant=ada").status, 201);
}

#[test]
fn ice_is_restarted_once_for_each_tag() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let (path, tag) = (header(&ada, "location").to_owned(), header(&ada, "etag").to_owned());
    let candidate = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n\
                     a=candidate:1 1 udp 1 192.0.2.9 9 typ host\r\n";
    let mut status = |if_match: Option<&str>, body: &str| world.on_session("PATCH", &path, "ada", if_match, body);
    assert_eq!(status(None, candidate).status, 204, "clients leave the header out");
    assert_eq!(status(None, &restart()).status, 428);
    assert_eq!(status(Some("\"other\""), candidate).status, 412);
    assert_eq!(status(Some(&tag), candidate).status, 204);
    assert_eq!(status(Some(&tag), "hello").status, 400);
    let restarted = status(Some("*"), &restart());
    assert_eq!(restarted.status, 200, "{}", restarted.body);
    assert_ne!(header(&restarted, "etag"), tag);
    assert!(restarted.body.contains("a=candidate:"), "{}", restarted.body);
    assert_eq!(
        status(Some(&tag), candidate).status,
        412,
        "the tag is of the ICE session before"
    );
    assert_eq!(status(Some("*"), &restart()).status, 204, "it is the same ICE session");
}

/// A fragment that restarts ICE.
fn restart() -> String {
    format!("a=ice-ufrag:efgh\r\na=ice-pwd:{PASSWORD}\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n")
}

#[test]
fn a_restart_that_is_not_answered_leaves_the_ice_session_as_it_is() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let (path, tag) = (header(&ada, "location").to_owned(), header(&ada, "etag").to_owned());
    // A controller that does not know the participant answers no offer.
    let clock = WallClock {
        now: world.now,
        unix: UNIX,
    };
    let other = Controller::new(Config::new(world.keys.clone()), clock, [8; 32]);
    let known = std::mem::replace(&mut world.controller, other);
    let refused = world.on_session("PATCH", &path, "ada", Some("*"), &restart());
    assert_eq!(
        (refused.status, header(&refused, "etag")),
        (422, ""),
        "{}",
        refused.body
    );
    world.controller = known;
    let candidates = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n";
    let candidates = world.on_session("PATCH", &path, "ada", Some(&tag), candidates);
    assert_eq!(
        candidates.status, 204,
        "it is the ICE session with the client's first credentials"
    );
    let restarted = world.on_session("PATCH", &path, "ada", Some(&tag), &restart());
    assert_eq!(restarted.status, 200, "{}", restarted.body);
    assert_ne!(header(&restarted, "etag"), tag);
}

#[test]
fn a_session_that_ends_by_a_restart_is_gone() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let path = header(&ada, "location").to_owned();
    // The controller ends a connection whose offers have fewer media sections than before.
    let session = world.front.sessions.get_mut(&ConnectionId(1)).unwrap();
    session.offer.sections.truncate(1);
    let answer = world.on_session("PATCH", &path, "ada", Some("*"), &restart());
    assert_eq!(answer.status, 404, "{}", answer.body);
    assert!(!world.front.is_open(ConnectionId(1)));
    assert_eq!(world.controller.population().participants, 0);
    assert_eq!(world.publish("ada").status, 201);
}

#[test]
fn a_session_ends_once_and_only_by_its_token() {
    let mut world = World::new();
    let ada = world.publish("ada");
    let path = header(&ada, "location").to_owned();
    assert_eq!(world.on_session("DELETE", &path, "ben", None, "").status, 401);
    assert_eq!(
        world
            .on_session("DELETE", &path.replace("whip", "whep"), "ada", None, "")
            .status,
        404
    );
    assert_eq!(world.on_session("PUT", &path, "ada", None, "").status, 405);
    assert_eq!(world.on_session("DELETE", &path, "ada", None, "").status, 200);
    assert!(!world.front.is_open(ConnectionId(1)));
    assert_eq!(world.on_session("DELETE", &path, "ada", None, "").status, 404);
    assert_eq!(world.controller.population().participants, 0);
}

#[test]
fn a_second_request_with_a_token_takes_the_place_of_the_first() {
    let mut world = World::new();
    let first = header(&world.publish("ada"), "location").to_owned();
    assert_eq!(world.publish("ada").status, 201);
    assert_eq!(world.on_session("DELETE", &first, "ada", None, "").status, 404);
    assert_eq!(world.controller.population().participants, 1);
}

#[test]
fn anybody_may_watch_a_room_that_allows_it() {
    let mut world = World::new();
    assert_eq!(world.publish("ada").status, 201);
    let viewer = world.post("/whep/v1", "room=lobby", None, &played());
    assert_eq!(viewer.status, 201, "{}", viewer.body);
    assert_eq!(world.post("/whep/v1", "room=attic", None, &played()).status, 401);
    assert_eq!(world.post("/whep/v1", "", None, &played()).status, 401);
    assert_eq!(world.post("/whip/v1", "room=lobby", None, &published()).status, 401);
    let path = header(&viewer, "location").to_owned();
    let request = HttpRequest {
        method: "DELETE",
        path: &path,
        ..HttpRequest::default()
    };
    assert_eq!(world.ask(request, "").status, 200);
}

#[test]
fn a_player_follows_a_publisher_that_comes_back() {
    let mut world = World::new();
    let ada = header(&world.publish("ada"), "location").to_owned();
    assert_eq!(world.play("ben", "participant=ada").status, 201);
    assert_eq!(world.on_session("DELETE", &ada, "ada", None, "").status, 200);
    assert_eq!(world.publish("ada").status, 201);
    assert!(world.subscriptions() >= 2);
}
