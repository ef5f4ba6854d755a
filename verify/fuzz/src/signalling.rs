//! Requests of a client on HTTP and on its WebSocket.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant, sign};
use controller::{Config, ConnectionId, Controller, WallClock};
use livekit::{Admission, Frame, Front, HttpRequest, Inbox, Input, Output, admit};
use southbound::{Capabilities, Fingerprint, HashFunction, Node, NodeId, Notice};

const UNIX: Duration = Duration::from_secs(1_800_000_000);
const ATTACKER: ConnectionId = ConnectionId(1);
const BYSTANDER: ConnectionId = ConnectionId(2);

fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

fn token(identity: &str) -> String {
    let claims = Claims {
        iss: "devkey".to_owned(),
        sub: identity.to_owned(),
        exp: Some(UNIX.as_secs() + 600),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    sign(&claims, &keys()).expect("the key is there")
}

fn admission(identity: &str) -> Box<Admission> {
    let token = format!("Bearer {}", token(identity));
    let request = HttpRequest {
        path: "/rtc",
        query: "protocol=16&auto_subscribe=1",
        authorization: Some(&token),
        user_agent: None,
    };
    Box::new(admit(request, &keys(), UNIX).expect("the token is good"))
}

pub(crate) fn node() -> Node {
    Node {
        node: NodeId(1),
        addresses: vec![([192, 0, 2, 1], 7882).into()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: true,
        clear_trunks: false,
        capabilities: Capabilities {
            copies: true,
            ..Capabilities::ALL
        },
    }
}

/// A request's query, with a good token: only then is the packed join request unpacked.
pub fn admission_query(data: &[u8]) {
    static TOKEN: OnceLock<String> = OnceLock::new();
    let token = TOKEN.get_or_init(|| format!("Bearer {}", token("ada")));
    let query = String::from_utf8_lossy(data);
    for path in ["/rtc", "/rtc/v1"] {
        let request = HttpRequest {
            path,
            query: &query,
            authorization: Some(token),
            user_agent: None,
        };
        if let Err(refusal) = admit(request, &keys(), UNIX) {
            assert!((400..500).contains(&refusal.status), "{refusal}");
        }
    }
}

/// A token without a good signature admits nobody.
pub fn token_forged(data: &[u8]) {
    let token = format!("Bearer {}", String::from_utf8_lossy(data));
    let request = HttpRequest {
        path: "/rtc",
        query: "",
        authorization: Some(&token),
        user_agent: None,
    };
    let refusal = admit(request, &keys(), UNIX).expect_err("nobody signed this");
    assert_eq!(refusal.status, 401);
}

/// A query with all that is read of it before the controller sees it: a packed join request, with a
/// description in it.
pub fn join_request(data: &[u8]) {
    static TOKEN: OnceLock<String> = OnceLock::new();
    let token = TOKEN.get_or_init(|| format!("Bearer {}", token("ada")));
    let query = String::from_utf8_lossy(data);
    let request = HttpRequest {
        path: "/rtc/v1",
        query: &query,
        authorization: Some(token),
        user_agent: None,
    };
    if let Ok(mut admission) = admit(request, &keys(), UNIX) {
        admission.read_offer();
        let mut world = World::new(&["bob"]);
        let connection = ATTACKER;
        let admission = Box::new(admission);
        world.handle(Input::Open { connection, admission });
        world.end();
    }
}

/// Messages of a joined client do not close any other's connection.
pub fn signal(data: &[u8]) {
    say(&Frame::Binary(data.to_vec().into()));
}

/// The same as JSON.
pub fn signal_json(data: &[u8]) {
    say(&Frame::Text(String::from_utf8_lossy(data).into_owned().into()));
}

fn say(frame: &Frame) {
    let mut world = World::new(&["bob", "mallory"]);
    let mut inbox = Inbox::new(world.now);
    let (connection, message) = (ATTACKER, Box::new(inbox.read(world.now, frame)));
    world.handle(Input::Message { connection, message });
    world.end();
}

/// A room with the bystander in it, and maybe others.
struct World {
    controller: Controller,
    front: Front,
    now: Instant,
    out: Vec<Output>,
}

impl World {
    fn new(identities: &[&str]) -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "a clock needs one instant to start from; which does not matter"
        )]
        let now = Instant::now();
        let clock = WallClock { now, unix: UNIX };
        let controller = Controller::new(Config::new(keys()), clock, [7; 32]);
        let mut world = World {
            controller,
            front: Front::default(),
            now,
            out: Vec::new(),
        };
        world.pass(controller::Input::Notice {
            node: node().node,
            notice: Notice::Node(node()),
        });
        for (connection, identity) in [BYSTANDER, ATTACKER].into_iter().zip(identities) {
            let admission = admission(identity);
            world.handle(Input::Open { connection, admission });
        }
        world
    }

    fn handle(&mut self, input: Input) {
        let mut out = Vec::new();
        self.front.handle(input, &mut out);
        for output in out {
            match output {
                Output::Input(input) => self.pass(input),
                other => self.out.push(other),
            }
        }
    }

    fn pass(&mut self, input: controller::Input) {
        let mut outputs = Vec::new();
        self.controller.handle(self.now, input, &mut outputs);
        self.take(outputs);
    }

    fn take(&mut self, outputs: Vec<controller::Output>) {
        for output in outputs {
            self.front.output(output, &mut self.out);
        }
    }

    fn end(mut self) {
        let later = self.now + Duration::from_secs(1);
        let mut outputs = Vec::new();
        self.controller.handle_timeout(later, &mut outputs);
        self.take(outputs);
        let closed = |output: &&Output| matches!(output, Output::Close { connection, .. } if *connection == BYSTANDER);
        assert!(
            !self.out.iter().any(|output| closed(&output)),
            "another client was closed"
        );
    }
}
