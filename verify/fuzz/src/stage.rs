//! A call that nobody else may disturb: a publisher by WHIP and a player by WHEP, with media.

use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant, sign};
use controller::{
    AdminError, AdminReply, AdminRequest, AdminRequestId, Config, ConnectionId, Controller, Input, Output, WallClock,
};
use southbound::{Command, Notice, SubscriptionId, TrackId, TransportId};
use whip::{Access, Answer, CallId, Front, Request, Watch, drive, judge};

use crate::signalling::node;

/// The time since 1970.
pub(crate) const UNIX: Duration = Duration::from_secs(1_800_000_000);
/// The connections of the publisher and of the player.
const BYSTANDERS: [ConnectionId; 2] = [ConnectionId(1), ConnectionId(2)];
const QUESTION: AdminRequestId = AdminRequestId(1);

/// The controller, the front end of both protocols, and the call.
pub(crate) struct Stage {
    controller: Controller,
    front: Front,
    /// The time of everything that happens.
    pub(crate) now: Instant,
    keys: ApiKeys,
    watch: Watch,
    connections: u64,
    call: Call,
    /// The paths of the sessions of the publisher and of the player.
    pub(crate) sessions: Vec<String>,
    /// Everything that followed from the requests since the call was set up.
    pub(crate) out: Vec<Output>,
}

/// The names of the parts of the call.
#[derive(Default)]
struct Call {
    transports: Vec<TransportId>,
    tracks: Vec<TrackId>,
    subscriptions: Vec<SubscriptionId>,
}

impl Stage {
    /// The call in a room of this name, which anybody may watch.
    pub(crate) fn new(room: &str) -> Self {
        #[allow(clippy::disallowed_methods, reason = "some instant to begin at")]
        let now = Instant::now();
        let keys = keys();
        let clock = WallClock { now, unix: UNIX };
        let mut stage = Self {
            controller: Controller::new(Config::new(keys.clone()), clock, [7; 32]),
            front: Front::default(),
            now,
            keys,
            watch: Watch::new(vec![room.to_owned()]),
            connections: 0,
            call: Call::default(),
            sessions: Vec::new(),
            out: Vec::new(),
        };
        let notice = Input::Notice {
            node: node().node,
            notice: Notice::Node(node()),
        };
        stage.controller.handle(now, notice, &mut stage.out);
        for (path, identity, direction) in [("/whip/v1", "ben", "sendonly"), ("/whep/v1", "cyd", "recvonly")] {
            let answer = stage.open(path, identity, room, &offer(direction));
            stage.sessions.push(header(&answer, "location").to_owned());
        }
        stage.call = Call::of(&stage.out);
        assert!(!stage.call.subscriptions.is_empty(), "the player plays the publisher");
        stage.out.clear();
        stage
    }

    /// Opens a session with a good token and a good offer.
    pub(crate) fn open(&mut self, path: &str, identity: &str, room: &str, offer: &str) -> Answer {
        let token = authorization(identity, room);
        let request = Request {
            method: "POST",
            path,
            authorization: Some(&token),
            content_type: Some("application/sdp"),
            ..Request::default()
        };
        let answer = self.ask(request, offer.as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer
    }

    /// The answer to any request. A body that is too long is cut.
    pub(crate) fn ask(&mut self, request: Request<'_>, body: &[u8]) -> Answer {
        self.connections += 1;
        let access = Access {
            keys: &self.keys,
            watch: &self.watch,
            unix: UNIX,
            random: self.connections,
        };
        let call = judge(request, access).and_then(|judged| {
            let len = body.len().min(judged.body_max());
            judged.read(&body[..len])
        });
        let connection = ConnectionId(self.connections);
        let call = match call {
            Ok(call) => call,
            Err(answer) => return answer,
        };
        let (call_id, mut out) = (CallId(self.connections), Vec::new());
        let (front, rooms) = (&mut self.front, &self.controller);
        front.handle(rooms, self.now, call_id, connection, call, &mut out);
        let mut answers = drive(front, &mut self.controller, self.now, out, &mut self.out);
        let (_, answer) = answers.pop().expect("an answer to the call");
        assert!(answers.is_empty(), "a call has more than one answer");
        answer
    }

    /// Whether the last request opened a session that is still there.
    pub(crate) fn is_open(&self) -> bool {
        self.front.is_open(ConnectionId(self.connections))
    }

    /// The answer to an administrator's request, if there is one at once.
    pub(crate) fn administer(&mut self, request: AdminRequest) -> Option<Result<AdminReply, AdminError>> {
        let request_id = QUESTION;
        let mut outputs = Vec::new();
        self.controller
            .handle(self.now, Input::Admin { request_id, request }, &mut outputs);
        drive(
            &mut self.front,
            &mut self.controller,
            self.now,
            Vec::new(),
            &mut outputs,
        );
        let at = outputs.iter().position(|output| {
            matches!(
                output,
                Output::Reply {
                    request_id: QUESTION,
                    ..
                }
            )
        });
        let reply = at.map(|at| outputs.remove(at));
        self.out.append(&mut outputs);
        match reply {
            Some(Output::Reply { reply, .. }) => Some(reply),
            _ => None,
        }
    }

    /// A second passes. After it the call is as it was.
    pub(crate) fn end(mut self) {
        let later = self.now + Duration::from_secs(1);
        let mut outputs = Vec::new();
        self.controller.handle_timeout(later, &mut outputs);
        drive(&mut self.front, &mut self.controller, later, Vec::new(), &mut outputs);
        self.out.append(&mut outputs);
        let is_open = BYSTANDERS.map(|connection| self.front.is_open(connection));
        assert_eq!(is_open, [true; 2], "a session of the call has ended");
        let harm = self.out.iter().find(|output| self.call.is_harmed_by(output));
        assert_eq!(harm, None, "the call is disturbed");
    }
}

impl Call {
    /// The parts that were announced to the agent.
    fn of(outputs: &[Output]) -> Self {
        let mut call = Self::default();
        for output in outputs {
            let Output::Command { command, .. } = output else {
                continue;
            };
            match command {
                Command::Open(open) => call.transports.push(open.transport),
                Command::Publish(publication) => call.tracks.push(publication.track),
                Command::Subscribe(subscription) => call.subscriptions.push(subscription.subscription),
                _ => {}
            }
        }
        call
    }

    /// Whether an output ends or restarts a part of the call.
    fn is_harmed_by(&self, output: &Output) -> bool {
        match output {
            Output::End { connection, .. } => BYSTANDERS.contains(connection),
            Output::Command { command, .. } => self.is_ended_by(command),
            _ => false,
        }
    }

    fn is_ended_by(&self, command: &Command) -> bool {
        match command {
            Command::Open(open) => self.transports.contains(&open.transport),
            Command::Connect { transport, .. } | Command::Close { transport } => self.transports.contains(transport),
            Command::Unpublish { track } => self.tracks.contains(track),
            Command::Unsubscribe { subscription } => self.subscriptions.contains(subscription),
            _ => false,
        }
    }
}

/// Whether an output tells one of the call's participants something.
pub(crate) fn tells_bystanders(output: &Output) -> bool {
    match output {
        Output::Notify { connection, .. } => BYSTANDERS.contains(connection),
        Output::NotifyMany { connections, .. } => BYSTANDERS.iter().any(|known| connections.contains(known)),
        _ => false,
    }
}

/// The keys that sign good tokens.
pub(crate) fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

/// The `Authorization` header of somebody who may publish into a room and play from it.
pub(crate) fn authorization(identity: &str, room: &str) -> String {
    let claims = Claims {
        iss: "devkey".to_owned(),
        sub: identity.to_owned(),
        video: VideoGrant {
            room_join: true,
            room: room.to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    format!("Bearer {}", sign(&claims, &keys()).expect("the key is there"))
}

/// An offer of one audio and one video.
pub(crate) fn offer(direction: &str) -> String {
    let fingerprint = ["AB"; 32].join(":");
    let section = |mid: u8, media: &str, format: &str| {
        format!(
            "m={media}\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
             a=fingerprint:sha-256 {fingerprint}\r\na=setup:actpass\r\na={direction}\r\na=rtcp-mux\r\n\
             a=rtpmap:{format}\r\n"
        )
    };
    let audio = section(0, "audio 9 UDP/TLS/RTP/SAVPF 111", "111 opus/48000/2");
    let video = section(1, "video 9 UDP/TLS/RTP/SAVPF 96", "96 VP8/90000");
    format!("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n{audio}{video}")
}

/// The value of an answer's header; empty where there is none.
pub(crate) fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    let found = answer.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}
