//! A controller, its clock and what came out.

use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant};
use controller::{
    AddTrack, AdminError, AdminReply, AdminRequest, AdminRequestId, ClientTraits, Config, ConnectionId, Controller,
    CreateRoom, Description, Input, Join, Notification, Output, PeerMode, Request, TrackInfo, TrackSource, WallClock,
};
use southbound::{Capabilities, Fingerprint, HashFunction, Node, NodeId, Notice};
use wire::MediaKind;

pub(crate) const UNIX: Duration = Duration::from_secs(1_800_000_000);

pub(crate) struct World {
    pub controller: Controller,
    pub now: Instant,
    /// The outputs of the last input, in order.
    pub out: Vec<Output>,
    /// Those of the inputs before it.
    pub said: Vec<Output>,
    connections: u64,
}

pub(crate) fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

pub(crate) fn claims(identity: &str) -> Claims {
    Claims {
        iss: "devkey".to_owned(),
        sub: identity.to_owned(),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

/// The node of all worlds.
pub(crate) const NODE: NodeId = NodeId(1);

/// A node at an address of its own.
pub(crate) fn node(id: NodeId) -> Node {
    Node {
        node: id,
        addresses: vec![([192, 0, 2, id.0 as u8], 7882).into()],
        tcp_addresses: Vec::new(),
        fingerprint: Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![0xab; 32],
        },
        clear_rtp: false,
        clear_trunks: false,
        capabilities: Capabilities::ALL,
    }
}

/// An offer of one section that sends audio of this track.
pub(crate) fn offer(track: &str) -> Description {
    offer_by(track, "abcd")
}

/// The same under this ICE user fragment.
pub(crate) fn offer_by(track: &str, ufrag: &str) -> Description {
    let fingerprint = ["AB"; 32].join(":");
    let sdp = format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:{ufrag}\r\n\
         a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {fingerprint}\r\na=setup:actpass\r\n\
         a=sendonly\r\na=rtcp-mux\r\na=msid:- {track}\r\na=rtpmap:111 opus/48000/2\r\n"
    );
    Description::read(1, &sdp)
}

/// An answer to an offer that receives everything that is offered.
fn answer(offer: &str) -> Description {
    let fingerprint = ["AB"; 32].join(":");
    let mut sdp = String::from("v=0\r\no=- 2 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
    let kept = ["a=group:", "m=", "a=mid:", "a=rtpmap:", "a=sctp-port:"];
    for line in offer
        .lines()
        .filter(|line| kept.iter().any(|kind| line.starts_with(kind)))
    {
        sdp += &format!("{line}\r\n");
        if line.starts_with("m=") {
            sdp += &format!(
                "c=IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
                 a=fingerprint:sha-256 {fingerprint}\r\na=setup:active\r\na=recvonly\r\na=rtcp-mux\r\n"
            );
        }
    }
    Description::read(1, &sdp)
}

pub(crate) fn joining(identity: &str) -> Join {
    Join {
        claims: claims(identity),
        mode: PeerMode::Dual,
        traits: ClientTraits::default(),
        auto_subscribe: true,
        auto_subscribe_data: false,
        attributes: Default::default(),
        metadata: String::new(),
        tracks: Vec::new(),
        offer: None,
        room: CreateRoom::default(),
        region: None,
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Config::new(keys()))
    }

    pub(crate) fn with(config: Config) -> Self {
        let now = Instant::now();
        let mut world = Self {
            controller: Controller::new(config, WallClock { now, unix: UNIX }, [7; 32]),
            now,
            out: Vec::new(),
            said: Vec::new(),
            connections: 0,
        };
        world.notice(NODE, Notice::Node(node(NODE)));
        world
    }

    pub(crate) fn notice(&mut self, node: NodeId, notice: Notice) {
        self.handle(Input::Notice { node, notice });
    }

    pub(crate) fn join(&mut self, identity: &str, mode: PeerMode) -> ConnectionId {
        self.join_with(Join {
            mode,
            ..joining(identity)
        })
    }

    /// Joins with a token that sets up the room.
    pub(crate) fn join_to(&mut self, identity: &str, room: CreateRoom) -> ConnectionId {
        self.join_with(Join {
            room,
            ..joining(identity)
        })
    }

    pub(crate) fn join_with(&mut self, join: Join) -> ConnectionId {
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        let join = Box::new(join);
        self.handle(Input::Join { connection, join });
        connection
    }

    pub(crate) fn request(&mut self, connection: ConnectionId, request: Request) {
        let request = Box::new(request);
        self.handle(Input::Request { connection, request });
    }

    /// Announces a microphone and offers it.
    pub(crate) fn publish(&mut self, connection: ConnectionId) -> TrackInfo {
        self.request(
            connection,
            Request::AddTrack(AddTrack {
                cid: "microphone".to_owned(),
                kind: Some(MediaKind::Audio),
                source: TrackSource::Microphone,
                ..AddTrack::default()
            }),
        );
        let told = self.told(connection).into_iter().find_map(|told| match told {
            Notification::TrackPublished { track, .. } => Some(track),
            _ => None,
        });
        self.request(connection, Request::Offer(offer("microphone")));
        told.expect("an announced track is answered")
    }

    /// Answers the last offer on a connection.
    pub(crate) fn answer(&mut self, to: ConnectionId) {
        let offers = self.said.iter().chain(&self.out).filter_map(|output| match output {
            Output::Notify {
                connection,
                notification: Notification::Offer(offer),
            } if *connection == to => Some(offer),
            _ => None,
        });
        let offer = offers.last().expect("there was an offer");
        let answer = Description {
            id: offer.id,
            ..answer(&offer.sdp)
        };
        self.request(to, Request::Answer(answer));
    }

    pub(crate) fn handle(&mut self, input: Input) {
        self.said.append(&mut self.out);
        self.controller.handle(self.now, input, &mut self.out);
    }

    pub(crate) fn ask(&mut self, request: AdminRequest) -> Result<AdminReply, AdminError> {
        let request_id = AdminRequestId(7);
        self.handle(Input::Admin { request_id, request });
        let replies = self.out.iter().filter_map(|output| match output {
            Output::Reply { request_id, reply } => Some((*request_id, reply.clone())),
            _ => None,
        });
        let replies: Vec<_> = replies.collect();
        let [(AdminRequestId(7), reply)] = &replies[..] else {
            panic!("one answer under the name of the request, and not {replies:?}");
        };
        reply.clone()
    }

    /// Lets time pass, waking the controller when it wants to be.
    pub(crate) fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        self.out.clear();
        while let Some(at) = self.controller.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.controller.handle_timeout(self.now, &mut self.out);
        }
        self.now = end;
    }

    /// Notifications of the last input to one participant.
    pub(crate) fn told(&self, connection: ConnectionId) -> Vec<Notification> {
        let told = self.out.iter().filter_map(|output| match output {
            Output::Notify {
                connection: to,
                notification,
            } if *to == connection => Some(notification.clone()),
            Output::NotifyMany {
                connections,
                notification,
            } if connections.contains(&connection) => Some(notification.clone()),
            _ => None,
        });
        told.collect()
    }
}
