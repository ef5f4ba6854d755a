//! A light client: joins a room, publishes and subscribes as told, and counts what it receives.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use livekit_protocol::{
    AddTrackRequest, LeaveRequest, MediaSectionsRequirement, Ping, SessionDescription, SignalTarget, TrackSource,
    TrackType, TrickleRequest, VideoLayer, VideoQuality, signal_request, signal_response,
};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::offer;
use super::sdp::{Description, Kind, Media, SdpError, Setup};
use super::signal::{Server, Signal, SignalError};
use super::transport::{Identity, Incoming, Transport, TransportError};
use crate::clock;
use crate::media::{FeedbackCounts, Inbound, Meter, PublishPlan, Publisher, Reporter, Totals};
use crate::net::Inbox;

/// Which of the protocol's two forms a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `/rtc`: one peer connection to publish, one to subscribe.
    V0,
    /// `/rtc/v1`: one peer connection, offered by the client.
    V1,
}

/// What a participant is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its number in the run; its sources are [`video_source`](Self::video_source) and `audio_source`.
    pub number: u32,
    /// The room to join.
    pub room: String,
    /// What it publishes.
    pub publish: Option<PublishPlan>,
    /// The sources it is to hear.
    pub hears: Vec<u32>,
    /// How it speaks to the server.
    pub mode: Mode,
    /// Whether it takes the DTLS client's part where it may choose, as browsers do.
    pub dtls_client: bool,
    /// When in each frame interval its frames are due, so that publishers do not send all at once.
    pub phase: Duration,
}

impl Plan {
    /// The source number of the participant's camera.
    pub fn video_source(&self) -> u32 {
        2 * self.number
    }

    /// The source number of the participant's microphone.
    pub fn audio_source(&self) -> u32 {
        2 * self.number + 1
    }
}

/// Why a participant is out. All are final for it.
#[derive(Debug)]
pub enum ParticipantError {
    /// Signalling failed.
    Signal(SignalError),
    /// A transport failed.
    Transport(TransportError),
    /// The server's description cannot be used.
    Description(SdpError),
    /// The server refused a published track.
    TrackRefused,
    /// The server sent the participant away, for this reason.
    SentAway(String),
    /// The machine refused to wait on another socket.
    Wait(nix::Error),
}

/// What participants share.
pub struct Joining<'a> {
    /// The server.
    pub server: &'a Server,
    /// The certificate.
    pub identity: &'a Arc<Identity>,
    /// Where sockets are bound.
    pub local_ip: IpAddr,
    /// What waits on sockets. A socket's event carries [`Participant::SOCKETS`] times the participant's number, plus which.
    pub epoll: &'a Epoll,
}

/// Between two pings: what servers tell their clients to keep.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PUBLISHER: usize = SignalTarget::Publisher as usize;
const SUBSCRIBER: usize = SignalTarget::Subscriber as usize;
/// Receiving sections of each kind that a `/rtc/v1` client offers at first.
const FIRST_SECTIONS: u32 = 3;
const CHANNELS: [(&str, bool); 3] = [("_lossy", false), ("_reliable", true), ("_data_track", false)];

/// One client.
pub struct Participant {
    plan: Plan,
    signal: Signal,
    identity: Arc<Identity>,
    local_ip: IpAddr,
    transports: [Option<Transport>; 2],
    sections: Vec<Media>,
    offer_id: u32,
    offer_open: bool,
    offer_wanted: bool,
    unconfirmed_tracks: usize,
    answer: Option<Description>,
    sending: Reporter,
    receiving: Reporter,
    publisher: Publisher,
    inbound: Inbound,
    meter: Meter,
    ping_at: Instant,
    began_at: Instant,
    ready_at: Option<Instant>,
}

impl Participant {
    /// Sockets of one participant: signalling and two transports.
    pub const SOCKETS: u64 = 3;

    /// Connects its signalling; blocks until the server has accepted.
    pub fn join(plan: Plan, joining: &Joining<'_>, now: Instant) -> Result<Self, ParticipantError> {
        let identity = format!("bench-{}", plan.number);
        let (path, query) = signalling_path(&plan);
        let signal = Signal::connect(joining.server, path, &query, &plan.room, &identity)?;
        let token = u64::from(plan.number) * Self::SOCKETS;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, token);
        joining
            .epoll
            .add(signal.stream(), event)
            .map_err(ParticipantError::Wait)?;
        let mut meter = Meter::default();
        plan.hears.iter().for_each(|&source| meter.allow(source));
        Ok(Self {
            signal,
            identity: joining.identity.clone(),
            local_ip: joining.local_ip,
            transports: [None, None],
            sections: Vec::new(),
            offer_id: 0,
            offer_open: false,
            offer_wanted: false,
            unconfirmed_tracks: 0,
            answer: None,
            sending: Reporter::new(2 * plan.number, now),
            receiving: Reporter::new(2 * plan.number + 1, now),
            publisher: Publisher::default(),
            inbound: Inbound::default(),
            meter,
            ping_at: now + PING_INTERVAL,
            began_at: now,
            ready_at: None,
            plan,
        })
    }

    /// What it is doing.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What it sends.
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// What it has received.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// What it has received, for beginning a window.
    pub fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Its transports.
    pub fn transports(&self) -> impl Iterator<Item = &Transport> {
        self.transports.iter().flatten()
    }

    /// What it and the server asked of one another.
    pub fn feedback(&self) -> [FeedbackCounts; 2] {
        [self.sending.counts(), self.receiving.counts()]
    }

    /// How long it took to publish all and hear everyone, once it does.
    pub fn ready_after(&self) -> Option<Duration> {
        self.ready_at.map(|at| at.duration_since(self.began_at))
    }

    /// Whether everything it publishes is on its way.
    pub fn is_publishing(&self) -> bool {
        self.plan.publish.is_none() || self.publisher.due().is_some()
    }

    /// Reads what the server has signalled.
    pub fn handle_signal(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        while let Some(message) = self.signal.poll()? {
            self.handle_message(now, message, epoll)?;
        }
        Ok(())
    }

    /// Reads what has arrived on one of its transports.
    pub fn handle_media(
        &mut self,
        now: Instant,
        which: usize,
        inbox: &mut Inbox,
        totals: &mut Totals,
    ) -> Result<(), ParticipantError> {
        let Some(transport) = &mut self.transports[which] else {
            return Ok(());
        };
        let socket = transport.socket().clone();
        let mut outcome = Ok(());
        let read = inbox.read(&socket, |datagram| {
            let arrived_ns = datagram.arrived_ns;
            match transport.handle(now, datagram) {
                Ok(Incoming::Rtp(packet)) => {
                    self.inbound.handle(now, arrived_ns, packet, &mut self.meter, totals);
                }
                Ok(Incoming::Rtcp(packet)) => {
                    self.sending
                        .handle(now, packet, &mut self.inbound, &mut self.publisher, transport);
                }
                Ok(Incoming::Nothing) => {}
                Err(error) => outcome = Err(error.into()),
            }
        });
        read.map_err(TransportError::Socket)?;
        outcome
    }

    /// Lets timers act: transports, feedback, pings.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ParticipantError> {
        for transport in self.transports.iter_mut().flatten() {
            transport.handle_timeout(now)?;
        }
        self.start_publishing(now);
        let receiving = if self.plan.mode == Mode::V0 {
            SUBSCRIBER
        } else {
            PUBLISHER
        };
        if let Some(transport) = &mut self.transports[receiving] {
            self.receiving.report_reception(now, &mut self.inbound, transport);
        }
        if let Some(transport) = &mut self.transports[PUBLISHER] {
            self.sending.report_sending(now, &self.publisher, transport);
        }
        if self.ready_at.is_none() && self.is_publishing() && self.meter.is_complete() {
            self.ready_at = Some(now);
        }
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            let timestamp = (clock::wall_ns() / 1_000_000) as i64;
            self.signal
                .send(signal_request::Message::PingReq(Ping { timestamp, rtt: 0 }))?;
        }
        Ok(())
    }

    /// When its next media packet is due.
    pub fn media_due(&self) -> Option<Instant> {
        self.publisher.due()
    }

    /// Sends the media that is due.
    pub fn send_media(&mut self, now: Instant) {
        if let Some(transport) = &mut self.transports[PUBLISHER] {
            self.publisher.send_due(now, transport);
        }
    }

    /// Leaves the room.
    pub fn leave(&mut self) {
        let _ = self
            .signal
            .send(signal_request::Message::Leave(LeaveRequest::default()));
        self.signal.close();
    }

    fn handle_message(
        &mut self,
        now: Instant,
        message: signal_response::Message,
        epoll: &Epoll,
    ) -> Result<(), ParticipantError> {
        use signal_response::Message;
        match message {
            Message::Join(_) => self.begin(now, epoll),
            Message::TrackPublished(_) => {
                self.unconfirmed_tracks = self.unconfirmed_tracks.saturating_sub(1);
                if self.unconfirmed_tracks == 0 {
                    self.offer(now, epoll)
                } else {
                    Ok(())
                }
            }
            Message::Offer(offer) => self.answer(now, &offer, epoll),
            Message::Answer(answer) => self.accept(now, &answer, epoll),
            Message::Trickle(trickle) => {
                self.add_candidate(&trickle);
                Ok(())
            }
            Message::MediaSectionsRequirement(required) => self.add_sections(now, required, epoll),
            Message::RequestResponse(response) if response.reason != 0 => Err(ParticipantError::TrackRefused),
            Message::Leave(leave) => Err(ParticipantError::SentAway(leave.reason().as_str_name().into())),
            _ => Ok(()),
        }
    }

    /// After joining: announce tracks; a client that publishes nothing offers at once where it is to offer at all.
    fn begin(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        let tracks = self.tracks();
        if self.plan.mode == Mode::V1 && !self.plan.hears.is_empty() {
            self.sections.push(offer::channels("0"));
            self.push_receiving_sections(FIRST_SECTIONS, FIRST_SECTIONS);
        }
        for (kind, source) in &tracks {
            let mid = self.sections.len().to_string();
            self.sections
                .push(offer::sending(*kind, &mid, &track_id(*source), *source));
        }
        self.unconfirmed_tracks = tracks.len();
        for (kind, source) in tracks {
            let request = self.add_track(kind, source);
            self.signal.send(signal_request::Message::AddTrack(request))?;
        }
        if self.unconfirmed_tracks == 0 {
            self.offer(now, epoll)
        } else {
            Ok(())
        }
    }

    fn tracks(&self) -> Vec<(Kind, u32)> {
        let Some(publish) = &self.plan.publish else {
            return Vec::new();
        };
        let video = publish.video.map(|_| (Kind::Video, self.plan.video_source()));
        let audio = publish.audio.then(|| (Kind::Audio, self.plan.audio_source()));
        video.into_iter().chain(audio).collect()
    }

    fn add_track(&self, kind: Kind, source: u32) -> AddTrackRequest {
        let mut request = AddTrackRequest {
            cid: track_id(source),
            name: track_id(source),
            ..Default::default()
        };
        if kind == Kind::Audio {
            request.set_type(TrackType::Audio);
            request.set_source(TrackSource::Microphone);
            request.disable_red = true;
            return request;
        }
        request.set_type(TrackType::Video);
        request.set_source(TrackSource::Camera);
        (request.width, request.height) = (1280, 720);
        let bitrate = self
            .plan
            .publish
            .and_then(|publish| publish.video)
            .map_or(0, |video| video.bitrate as u32);
        let mut layer = VideoLayer {
            width: 1280,
            height: 720,
            bitrate,
            ..VideoLayer::default()
        };
        layer.set_quality(VideoQuality::High);
        request.layers.push(layer);
        request
    }

    fn push_receiving_sections(&mut self, audios: u32, videos: u32) {
        for (kind, count) in [(Kind::Audio, audios), (Kind::Video, videos)] {
            for _ in 0..count {
                let mid = self.sections.len().to_string();
                self.sections.push(offer::receiving(kind, &mid));
            }
        }
    }

    fn add_sections(
        &mut self,
        now: Instant,
        required: MediaSectionsRequirement,
        epoll: &Epoll,
    ) -> Result<(), ParticipantError> {
        self.push_receiving_sections(required.num_audios, required.num_videos);
        self.offer(now, epoll)
    }

    /// Offers the sections there are, unless an offer is still to be answered; then when it has been.
    fn offer(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        if self.sections.is_empty() {
            return Ok(());
        }
        if self.offer_open {
            self.offer_wanted = true;
            return Ok(());
        }
        (self.offer_open, self.offer_wanted, self.offer_id) = (true, false, self.offer_id + 1);
        let sections = self.sections.clone();
        let sdp = self
            .transport(PUBLISHER, now, epoll)?
            .describe(Setup::ActPass, sections)
            .write();
        let offer = SessionDescription {
            r#type: "offer".into(),
            sdp,
            id: self.offer_id,
            ..Default::default()
        };
        Ok(self.signal.send(signal_request::Message::Offer(offer))?)
    }

    /// Takes the server's answer to this client's offer.
    fn accept(&mut self, now: Instant, answer: &SessionDescription, epoll: &Epoll) -> Result<(), ParticipantError> {
        if answer.id != 0 && answer.id != self.offer_id {
            return Ok(());
        }
        let description = Description::parse(&answer.sdp).map_err(ParticipantError::Description)?;
        let client = description.setup == Setup::Passive;
        let channels: &[(&str, bool)] = if self.plan.mode == Mode::V1 { &CHANNELS } else { &[] };
        self.transport(PUBLISHER, now, epoll)?
            .start(now, &description, client, channels);
        offer::agree(&mut self.inbound, &description, &description);
        self.answer = Some(description);
        self.offer_open = false;
        if self.offer_wanted {
            self.offer(now, epoll)
        } else {
            Ok(())
        }
    }

    /// Answers the server's offer of what there is to receive.
    fn answer(&mut self, now: Instant, offered: &SessionDescription, epoll: &Epoll) -> Result<(), ParticipantError> {
        let description = Description::parse(&offered.sdp).map_err(ParticipantError::Description)?;
        let client = match description.setup {
            Setup::ActPass => self.plan.dtls_client,
            Setup::Passive => true,
            Setup::Active => false,
        };
        let setup = if client { Setup::Active } else { Setup::Passive };
        let transport = self.transport(SUBSCRIBER, now, epoll)?;
        let answer = offer::answer(transport, &description, setup);
        transport.start(now, &description, client, &[]);
        offer::agree(&mut self.inbound, &answer, &description);
        let sdp = answer.write();
        let answer = SessionDescription {
            r#type: "answer".into(),
            sdp,
            id: offered.id,
            ..Default::default()
        };
        Ok(self.signal.send(signal_request::Message::Answer(answer))?)
    }

    fn add_candidate(&mut self, trickle: &TrickleRequest) {
        let init: serde_json::Value = serde_json::from_str(&trickle.candidate_init).unwrap_or_default();
        let transport = self
            .transports
            .get_mut(trickle.target as usize)
            .and_then(Option::as_mut);
        if let (Some(transport), Some(candidate)) = (transport, init["candidate"].as_str()) {
            transport.add_candidate(candidate);
        }
    }

    /// The transport, made on first use.
    fn transport(&mut self, which: usize, now: Instant, epoll: &Epoll) -> Result<&mut Transport, ParticipantError> {
        if self.transports[which].is_none() {
            let transport = Transport::new(self.identity.clone(), self.local_ip, which == PUBLISHER, now)?;
            let token = u64::from(self.plan.number) * Self::SOCKETS + 1 + which as u64;
            let event = EpollEvent::new(EpollFlags::EPOLLIN, token);
            epoll.add(transport.socket(), event).map_err(ParticipantError::Wait)?;
            self.transports[which] = Some(transport);
        }
        Ok(self.transports[which].as_mut().expect("made above"))
    }

    /// Starts the sources once the server has agreed and the transport has keys.
    fn start_publishing(&mut self, now: Instant) {
        let has_keys = self.transports[PUBLISHER]
            .as_ref()
            .is_some_and(|transport| transport.profile().is_some());
        let (Some(publish), Some(answer)) = (self.plan.publish, &self.answer) else {
            return;
        };
        if !has_keys || self.publisher.due().is_some() {
            return;
        }
        for (kind, source) in self.tracks() {
            let sends = |media: &&Media| media.extra.iter().any(|line| line.ends_with(&track_id(source)));
            let Some(section) = self.sections.iter().find(sends) else {
                continue;
            };
            let Some(negotiated) = offer::negotiated(answer, &section.mid) else {
                continue;
            };
            let start = now + self.plan.phase;
            match (kind, publish.video) {
                (Kind::Video, Some(plan)) => self
                    .publisher
                    .start_video(source, plan, &section.mid, negotiated, start),
                _ => self.publisher.start_audio(source, &section.mid, negotiated, start),
            }
        }
    }
}

fn track_id(source: u32) -> String {
    format!("bench-track-{source}-")
}

/// The path and query by which a client of this mode joins.
fn signalling_path(plan: &Plan) -> (&'static str, String) {
    use base64_url::encode;
    use livekit_protocol::{ClientInfo, ConnectionSettings, JoinRequest, WrappedJoinRequest, client_info};
    use prost::Message as _;

    let subscribes = !plan.hears.is_empty();
    if plan.mode == Mode::V0 {
        let auto = u8::from(subscribes);
        return (
            "/rtc",
            format!("&auto_subscribe={auto}&adaptive_stream=0&sdk=rust&version=1.0.0&protocol=16"),
        );
    }
    let mut client_info = ClientInfo {
        version: "1.0.0".into(),
        protocol: 16,
        ..ClientInfo::default()
    };
    client_info.set_sdk(client_info::Sdk::Rust);
    let request = JoinRequest {
        client_info: Some(client_info),
        connection_settings: Some(ConnectionSettings {
            auto_subscribe: subscribes,
            ..Default::default()
        }),
        ..JoinRequest::default()
    };
    let wrapped = WrappedJoinRequest {
        join_request: request.encode_to_vec(),
        ..Default::default()
    };
    ("/rtc/v1", format!("&join_request={}", encode(&wrapped.encode_to_vec())))
}

/// Base64 for URLs (RFC 4648 section 5), padded as this protocol wants it.
mod base64_url {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    /// Encodes; `=` is written as the URL escape of itself.
    pub fn encode(bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for chunk in bytes.chunks(3) {
            let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
            for index in 0..4 {
                if index <= chunk.len() {
                    out.push(char::from(ALPHABET[(word >> (18 - 6 * index) & 63) as usize]));
                } else {
                    out.push_str("%3D");
                }
            }
        }
        out
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_vectors_of_the_standard() {
            for (plain, encoded) in [
                ("f", "Zg%3D%3D"),
                ("fo", "Zm8%3D"),
                ("foo", "Zm9v"),
                ("foobar", "Zm9vYmFy"),
            ] {
                assert_eq!(super::encode(plain.as_bytes()), encoded);
            }
            assert_eq!(super::encode(&[0xfb, 0xff]), "-_8%3D");
        }
    }
}

impl From<SignalError> for ParticipantError {
    fn from(error: SignalError) -> Self {
        Self::Signal(error)
    }
}

impl From<TransportError> for ParticipantError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl std::fmt::Display for ParticipantError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signal(error) => write!(f, "{error}"),
            Self::Transport(error) => write!(f, "{error}"),
            Self::Description(SdpError::Missing(what)) => write!(f, "the server's description has no {what}"),
            Self::TrackRefused => write!(f, "the server refused a track"),
            Self::SentAway(reason) => write!(f, "the server sent the participant away: {reason}"),
            Self::Wait(error) => write!(f, "cannot wait on a socket: {error}"),
        }
    }
}

impl std::error::Error for ParticipantError {}
