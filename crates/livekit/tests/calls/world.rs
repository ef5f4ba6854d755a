//! A controller, a clock and what came out.

mod outputs;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{ApiKeys, Claims, VideoGrant, sign};
use controller::{
    AdminError, AdminReply, Config, ConnectionId, Controller, Counter, Event, PeerMode, RoomEvent, WallClock,
};
use livekit::{Admission, Frame, Front, HttpRequest, Inbox, Input, admit};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    AddTrackRequest, LeaveRequest, ParticipantInfo, SessionDescription, SignalRequest, SignalResponse, TrackInfo,
    TrackSource, TrackType, VideoLayer,
};
use prost::Message as _;
use southbound::{Command, Notice, Publication, Subscription, TransportId};
use wire::MediaKind;
use wire::srtp::SrtpProfile;

use crate::browser::Browser;
use crate::node::{NODE, node};

pub(crate) const UNIX: Duration = Duration::from_secs(1_800_000_000);

pub(crate) struct World {
    pub controller: Controller,
    front: Front,
    pub now: Instant,
    pub commands: Vec<Command>,
    pub counts: BTreeMap<Counter, usize>,
    pub events: Vec<Event>,
    pub room_events: Vec<RoomEvent>,
    replies: Vec<Result<AdminReply, AdminError>>,
    inbox: BTreeMap<ConnectionId, Vec<Message>>,
    inboxes: BTreeMap<ConnectionId, Inbox>,
    /// Messages and bytes each connection was sent.
    pub sent: BTreeMap<ConnectionId, (usize, usize)>,
    /// Bytes of the longest message each connection was sent.
    pub longest: BTreeMap<ConnectionId, usize>,
    pub closed: BTreeMap<ConnectionId, u16>,
    start: Instant,
    connections: u64,
    commands_seen: usize,
    identities: BTreeMap<ConnectionId, String>,
    opened: BTreeMap<TransportId, String>,
}

/// A client: its connection and its publishing, or only, peer connection.
pub(crate) struct Client {
    pub connection: ConnectionId,
    pub identity: String,
    pub sid: String,
    pub mode: PeerMode,
    pub browser: Browser,
    offers: u32,
}

impl Client {
    /// A client on a connection that was opened by hand.
    pub(crate) fn at(connection: ConnectionId, identity: &str, mode: PeerMode) -> Self {
        let browser = Browser::new(mode);
        Self {
            connection,
            identity: identity.to_owned(),
            sid: String::new(),
            mode,
            browser,
            offers: 0,
        }
    }
}

pub(crate) fn keys() -> ApiKeys {
    ApiKeys::default().with("devkey", "secret")
}

pub(crate) fn claims(identity: &str) -> Claims {
    Claims {
        iss: "devkey".to_owned(),
        sub: identity.to_owned(),
        name: identity.to_uppercase(),
        exp: Some(UNIX.as_secs() + 86_400),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            ..VideoGrant::default()
        },
        ..Claims::default()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Config::new(keys()))
    }

    pub(crate) fn with(config: Config) -> Self {
        let start = Instant::now();
        let controller = Controller::new(config, WallClock { now: start, unix: UNIX }, [7; 32]);
        let mut world = Self {
            controller,
            front: Front::default(),
            now: start,
            commands: Vec::new(),
            counts: BTreeMap::new(),
            events: Vec::new(),
            room_events: Vec::new(),
            replies: Vec::new(),
            inbox: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            sent: BTreeMap::new(),
            longest: BTreeMap::new(),
            closed: BTreeMap::new(),
            start,
            connections: 0,
            commands_seen: 0,
            identities: BTreeMap::new(),
            opened: BTreeMap::new(),
        };
        world.notice(Notice::Node(node(false, false)));
        world
    }

    pub(crate) fn admission(&self, claims: &Claims, mode: PeerMode, query: &str) -> Admission {
        let path = if mode == PeerMode::Single { "/rtc/v1" } else { "/rtc" };
        let query = format!(
            "access_token={}&protocol=17&sdk=js&{query}",
            sign(claims, &keys()).unwrap()
        );
        let request = HttpRequest {
            path,
            query: &query,
            authorization: None,
            user_agent: None,
        };
        admit(request, &keys(), UNIX + (self.now - self.start)).unwrap()
    }

    pub(crate) fn open(&mut self, admission: Admission) -> ConnectionId {
        self.connections += 1;
        let connection = ConnectionId(self.connections);
        self.handle(Input::Open {
            connection,
            admission: Box::new(admission),
        });
        connection
    }

    /// Opens a connection for a client that was here before.
    pub(crate) fn resume(&mut self, client: &Client) -> ConnectionId {
        self.resume_as(&claims(&client.identity), client)
    }

    /// The same, with another token.
    pub(crate) fn resume_as(&mut self, claims: &Claims, client: &Client) -> ConnectionId {
        let query = format!("reconnect=1&sid={}", client.sid);
        let mut admission = self.admission(claims, client.mode, &query);
        if let Some(resume) = &mut admission.resume {
            resume.sid.clone_from(&client.sid);
        }
        self.open(admission)
    }

    /// Joins, negotiates as `livekit-client` does and gets media connected.
    pub(crate) fn join(&mut self, identity: &str, mode: PeerMode) -> Client {
        self.join_as(&claims(identity), mode)
    }

    pub(crate) fn join_as(&mut self, claims: &Claims, mode: PeerMode) -> Client {
        let mut client = self.join_unconnected(claims, mode);
        self.negotiate(&mut client);
        self.connect(&client);
        client
    }

    /// Only joins.
    pub(crate) fn join_unconnected(&mut self, claims: &Claims, mode: PeerMode) -> Client {
        let admission = self.admission(claims, mode, "");
        self.enter(admission, mode)
    }

    /// Joins as an admission says.
    pub(crate) fn enter(&mut self, admission: Admission, mode: PeerMode) -> Client {
        let connection = self.open(admission);
        let joined = self.expect(connection, "join", |message| match message {
            Message::Join(join) => Some(join.clone()),
            _ => None,
        });
        let info = joined.participant.unwrap();
        let mut client = Client::at(connection, &info.identity, mode);
        client.sid = info.sid;
        client
    }

    /// One round: the client offers, or, on two connections, answers what it was offered; then
    /// again while there is something to do.
    pub(crate) fn negotiate(&mut self, client: &mut Client) {
        self.offer(client);
        self.settle(client);
    }

    /// The client does what the server asks for until it asks for nothing.
    pub(crate) fn settle(&mut self, client: &mut Client) {
        for _ in 0..20 {
            let mut asked = false;
            for message in self.take(client.connection, |message| {
                matches!(message, Message::Offer(_) | Message::MediaSectionsRequirement(_))
            }) {
                asked = true;
                match message {
                    Message::Offer(offer) => {
                        let answer = described("answer", Browser::answer(&offer.sdp), offer.id);
                        self.say(client.connection, Said::Answer(answer));
                    }
                    Message::MediaSectionsRequirement(wanted) => {
                        client.browser.listen(wanted.num_audios, wanted.num_videos)
                    }
                    _ => unreachable!(),
                }
            }
            if !asked {
                return;
            }
            if client.mode == PeerMode::Single {
                self.offer(client);
            }
        }
        panic!("negotiation does not come to an end");
    }

    /// Offers and returns the answer, after looking for what a browser would refuse.
    pub(crate) fn offer(&mut self, client: &mut Client) -> (wire::sdp::SessionDescription, SessionDescription) {
        client.offers += 1;
        let offer = described("offer", client.browser.offer(), client.offers);
        self.say(client.connection, Said::Offer(offer));
        let id = client.offers;
        let answer = self.expect(client.connection, "answer", |message| match message {
            Message::Answer(answer) if answer.id == id => Some(answer.clone()),
            _ => None,
        });
        (client.browser.take_answer(&answer.sdp), answer)
    }

    /// Announces a track and offers it.
    pub(crate) fn publish(&mut self, client: &mut Client, kind: MediaKind, source: TrackSource) -> TrackInfo {
        let cid = format!("{}-{source:?}", client.identity);
        let track = self.announce(client, kind, source, &cid);
        client.browser.publish(kind, &cid);
        self.negotiate(client);
        track
    }

    pub(crate) fn announce(&mut self, client: &Client, kind: MediaKind, source: TrackSource, cid: &str) -> TrackInfo {
        self.say(client.connection, Said::AddTrack(add_track(kind, source, cid)));
        self.expect(client.connection, "track_published", |message| match message {
            Message::TrackPublished(published) if published.cid == cid => published.track.clone(),
            _ => None,
        })
    }

    /// The agent reports that all of a client's transports are connected, with the data channels
    /// the client uses.
    pub(crate) fn connect(&mut self, client: &Client) {
        for transport in self.transports_of(client) {
            self.notice(Notice::Connected {
                transport,
                srtp: Some(SrtpProfile::AeadAes128Gcm),
            });
            for label in ["_reliable", "_lossy"] {
                self.notice(Notice::ChannelOpened {
                    transport,
                    label: Arc::from(label),
                });
            }
        }
    }

    /// The transports that were opened for a client and still are.
    pub(crate) fn transports_of(&self, client: &Client) -> Vec<TransportId> {
        let opened = self
            .opened
            .iter()
            .filter(|(_, identity)| **identity == client.identity)
            .map(|(transport, _)| *transport);
        opened.filter(|transport| !self.is_closed(*transport)).collect()
    }

    fn is_closed(&self, transport: TransportId) -> bool {
        self.commands
            .iter()
            .any(|command| matches!(command, Command::Close { transport: closed } if *closed == transport))
    }

    pub(crate) fn say(&mut self, connection: ConnectionId, message: Said) {
        let bytes = SignalRequest { message: Some(message) }.encode_to_vec();
        self.frame(connection, &Frame::Binary(bytes.into()));
    }

    /// A frame arrives.
    pub(crate) fn frame(&mut self, connection: ConnectionId, frame: &Frame) {
        let inbox = self.inboxes.entry(connection).or_insert_with(|| Inbox::new(self.now));
        let message = Box::new(inbox.read(self.now, frame));
        self.handle(Input::Message { connection, message });
    }

    pub(crate) fn notice(&mut self, notice: Notice) {
        self.pass(livekit::notice_input(NODE, notice), None);
    }

    pub(crate) fn hang_up(&mut self, connection: ConnectionId) {
        self.handle(Input::Closed { connection });
    }

    pub(crate) fn handle(&mut self, input: Input) {
        let about = match &input {
            Input::Open { connection, admission } => {
                self.identities.insert(*connection, admission.identity().to_owned());
                *connection
            }
            Input::Message { connection, .. } | Input::Closed { connection } => *connection,
        };
        let mut out = Vec::new();
        self.front.handle(input, &mut out);
        self.collect(out, self.identities.get(&about).cloned());
    }

    /// Passes an input to the controller, which is about this identity.
    fn pass(&mut self, input: controller::Input, identity: Option<String>) {
        let mut outputs = Vec::new();
        self.controller.handle(self.now, input, &mut outputs);
        self.take_outputs(outputs, identity);
    }

    /// Takes the messages that fit out of a client's inbox, and with them all that came before the
    /// last of them.
    pub(crate) fn take(&mut self, connection: ConnectionId, fits: impl Fn(&Message) -> bool) -> Vec<Message> {
        let inbox = self.inbox.entry(connection).or_default();
        let (taken, kept) = std::mem::take(inbox).into_iter().partition(|message| fits(message));
        *inbox = kept;
        taken
    }

    /// The first message that fits, which must have come.
    pub(crate) fn expect<T>(
        &mut self,
        connection: ConnectionId,
        what: &str,
        fits: impl Fn(&Message) -> Option<T>,
    ) -> T {
        let inbox = self.inbox.entry(connection).or_default();
        let Some(position) = inbox.iter().position(|message| fits(message).is_some()) else {
            panic!(
                "no {what} among {inbox:#?}; closed: {:?}; {:?}",
                self.closed.get(&connection),
                self.events
            );
        };
        fits(&inbox.remove(position)).unwrap()
    }

    pub(crate) fn expect_leave(&mut self, connection: ConnectionId) -> LeaveRequest {
        self.expect(connection, "leave", |message| match message {
            Message::Leave(leave) => Some(leave.clone()),
            _ => None,
        })
    }

    /// How a client sees another now, by the updates that came; the last word counts. The updates
    /// are consumed.
    pub(crate) fn seen(&mut self, connection: ConnectionId, identity: &str) -> Option<ParticipantInfo> {
        let updates = self.take(connection, |message| matches!(message, Message::Update(_)));
        let infos = updates.into_iter().flat_map(|message| match message {
            Message::Update(update) => update.participants,
            _ => unreachable!(),
        });
        infos
            .filter(|info| info.identity == identity)
            .max_by_key(|info| info.version)
    }

    /// Forgets what came so far.
    pub(crate) fn clear(&mut self) {
        self.inbox.clear();
        self.commands_seen = self.commands.len();
    }

    pub(crate) fn new_commands(&self) -> &[Command] {
        &self.commands[self.commands_seen..]
    }

    pub(crate) fn publications(&self) -> Vec<Publication> {
        self.new_commands()
            .iter()
            .filter_map(|command| match command {
                Command::Publish(publication) => Some(publication.clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn subscriptions(&self) -> Vec<Subscription> {
        self.new_commands()
            .iter()
            .filter_map(|command| match command {
                Command::Subscribe(subscription) => Some(subscription.clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn count(&self, counter: Counter) -> usize {
        self.counts.get(&counter).copied().unwrap_or(0)
    }
}

fn decode(frame: &Frame) -> Message {
    let response = match frame {
        Frame::Text(text) => serde_json::from_slice(text).unwrap(),
        frame => SignalResponse::decode(frame.to_bytes()).unwrap(),
    };
    response.message.expect("the server says something")
}

pub(crate) fn described(kind: &str, sdp: String, id: u32) -> SessionDescription {
    SessionDescription {
        r#type: kind.to_owned(),
        sdp,
        id,
        ..SessionDescription::default()
    }
}

pub(crate) fn add_track(kind: MediaKind, source: TrackSource, cid: &str) -> AddTrackRequest {
    let r#type = if kind == MediaKind::Audio {
        TrackType::Audio
    } else {
        TrackType::Video
    };
    let layers = [(0, 160, 90), (1, 320, 180), (2, 640, 360)];
    AddTrackRequest {
        cid: cid.to_owned(),
        name: "a track".to_owned(),
        r#type: r#type.into(),
        source: source.into(),
        width: 640,
        height: 360,
        layers: layers
            .map(|(quality, width, height)| VideoLayer {
                quality,
                width,
                height,
                ..VideoLayer::default()
            })
            .to_vec(),
        ..AddTrackRequest::default()
    }
}
