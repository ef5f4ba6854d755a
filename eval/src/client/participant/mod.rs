//! A light client: joins a room, publishes and subscribes by its plan, and counts received media.

mod media;
mod milestones;
mod negotiation;
mod showing;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use livekit_protocol::{LeaveRequest, MuteTrackRequest, Ping, SignalTarget, signal_request};
use nix::sys::epoll::Epoll;

use super::downlink::Downlink;
use super::error::ParticipantError;
use super::plan::{Mode, Plan, signalling_path};
use super::signal::{Admission, Server, Signal, Traffic};
use crate::clock;
use crate::impairment::Dice;
use crate::media::{FeedbackCounts, Inbound, Meter, Publisher, Reporter, Shown};
use crate::transport::sdp::{Description, Media};
use crate::transport::{Identity, Route, Transport};

pub use milestones::Milestones;

/// State that participants share.
pub struct Joining<'a> {
    /// The server.
    pub server: &'a Server,
    /// The certificate.
    pub identity: &'a Arc<Identity>,
    /// The address that sockets are bound to.
    pub local_ip: IpAddr,
    /// The epoll instance of the sockets. A socket's event carries [`Participant::SOCKETS`] times
    /// the participant's number, plus which.
    pub epoll: &'a Epoll,
}

/// Interval of pings, as servers ask of their clients.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PUBLISHER: usize = SignalTarget::Publisher as usize;
const SUBSCRIBER: usize = SignalTarget::Subscriber as usize;

/// One client.
pub struct Participant {
    plan: Plan,
    signal: Signal,
    identity: Arc<Identity>,
    local_ip: IpAddr,
    route: Route,
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
    dice: Dice,
    downlink: Option<Downlink>,
    /// The cameras for which the server was told whether they are shown.
    settled: Vec<u32>,
    /// The server's name for its microphone.
    microphone: Option<String>,
    ping_at: Instant,
    began_at: Instant,
    milestones: Milestones,
    /// Whether a light client's media waits in the pool to be read, once it flows.
    in_the_pool: bool,
    left: bool,
}

impl Participant {
    /// Sockets of one participant: signalling and two transports.
    pub const SOCKETS: u64 = 3;

    /// Begins to connect its signalling.
    pub fn join(plan: Plan, joining: &Joining<'_>, now: Instant) -> Result<Self, ParticipantError> {
        let identity = format!("bench-{}", plan.number);
        let admission = Admission {
            room: &plan.room,
            identity: &identity,
            publishes: plan.publish.is_some(),
        };
        let token = u64::from(plan.number) * Self::SOCKETS;
        let waiting = (joining.epoll, token);
        let signal = if plan.mode == Mode::Janus {
            Signal::connect_to_janus(joining.server, admission, !plan.hears.is_empty(), waiting)?
        } else {
            let (path, query) = signalling_path(&plan);
            Signal::connect(joining.server, (path, &query), admission, waiting)?
        };
        let mut meter = Meter::default();
        plan.hears.iter().for_each(|&source| meter.allow(source));
        Ok(Self {
            signal,
            identity: joining.identity.clone(),
            local_ip: joining.local_ip,
            route: Route::Udp,
            transports: [None, None],
            sections: Vec::new(),
            offer_id: 0,
            offer_open: false,
            offer_wanted: false,
            unconfirmed_tracks: 0,
            answer: None,
            sending: Reporter::new(2 * plan.number, now),
            receiving: Reporter::new(2 * plan.number + 1, now),
            publisher: Publisher::new(Dice::new(plan.impairment.up, !u64::from(plan.number))),
            inbound: Inbound::default(),
            meter,
            dice: Dice::new(plan.impairment.down, u64::from(plan.number)),
            downlink: plan.impairment.downlink.map(Downlink::new),
            settled: Vec::new(),
            microphone: None,
            // Spread over the interval: a crowd must not ping all at once.
            ping_at: now + PING_INTERVAL * (plan.number % 50 + 1) / 50,
            began_at: now,
            milestones: Milestones::default(),
            in_the_pool: false,
            left: false,
            plan,
        })
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The media that it sends.
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Counts of the media that it has received.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Packets that are missing by sequence number and never arrived, since the window began.
    pub fn given_up(&self) -> u64 {
        self.inbound.given_up()
    }

    /// Frames and jitter of each video stream since the window began, as a viewer would see them.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.inbound.shown()
    }

    /// Begins the measured window.
    pub fn begin_window(&mut self) {
        self.meter.begin_window();
        self.inbound.begin_window();
    }

    /// Its transports.
    pub fn transports(&self) -> impl Iterator<Item = &Transport> {
        self.transports.iter().flatten()
    }

    /// Requests for repair and key frames, of it to the server and of the server to it.
    pub fn feedback(&self) -> [FeedbackCounts; 2] {
        [self.sending.counts(), self.receiving.counts()]
    }

    /// When the server let it in.
    pub fn joined_at(&self) -> Option<Instant> {
        Some(self.began_at + self.milestones.joined?)
    }

    /// Its progress.
    pub fn milestones(&self) -> &Milestones {
        &self.milestones
    }

    /// Whether the server has still to let it in, or its media to connect.
    pub fn is_connecting(&self) -> bool {
        !self.left && self.milestones.connected.is_none()
    }

    /// Messages that the server has signalled to it.
    pub fn traffic(&self) -> &Traffic {
        self.signal.traffic()
    }

    /// Whether everything it publishes is on its way.
    pub fn is_publishing(&self) -> bool {
        self.plan.publish.is_none() || self.publisher.due().is_some()
    }

    /// Reads the server's messages.
    pub fn handle_signal(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        if self.left {
            return Ok(());
        }
        while let Some(message) = self.signal.poll()? {
            self.handle_message(now, message, epoll)?;
        }
        Ok(())
    }

    /// Lets timers act: transports, feedback, pings.
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ParticipantError> {
        if self.left {
            return Ok(());
        }
        for transport in self.transports.iter_mut().flatten() {
            transport.handle_timeout(now)?;
        }
        self.start_publishing(now);
        let receiving = if self.plan.mode == Mode::V1 {
            PUBLISHER
        } else {
            SUBSCRIBER
        };
        if let Some(transport) = &mut self.transports[receiving] {
            self.receiving
                .report_reception(now, &mut self.inbound, |report| transport.send_rtcp(report));
        }
        if let Some(transport) = &mut self.transports[PUBLISHER] {
            self.sending.report_sending(now, &self.publisher, transport);
        }
        self.note_milestones(now);
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            let timestamp = (clock::wall_ns() / 1_000_000) as i64;
            self.signal
                .send(signal_request::Message::PingReq(Ping { timestamp, rtt: 0 }));
        }
        Ok(())
    }

    fn note_milestones(&mut self, now: Instant) {
        if self.milestones.decodable.is_some() {
            return;
        }
        let after = now.duration_since(self.began_at);
        let keys = self.transports().any(|transport| transport.profile().is_some());
        let heard = !self.inbound.streams().is_empty();
        let complete = self.is_publishing() && self.meter.is_complete();
        let decodable = complete && self.inbound.streams().iter().all(|stream| !stream.needs_key_frame);
        let milestones = &mut self.milestones;
        Milestones::note(&mut milestones.connected, after, keys);
        Milestones::note(&mut milestones.first_media, after, heard);
        Milestones::note(&mut milestones.complete, after, complete);
        Milestones::note(&mut milestones.decodable, after, decodable);
    }

    /// Tells the room that its microphone is muted, or not; its media continues, since nobody
    /// listens to it.
    pub fn mute(&mut self, muted: bool) {
        if let Some(sid) = self.microphone.clone() {
            let request = MuteTrackRequest { sid, muted };
            self.signal.send(signal_request::Message::Mute(request));
        }
    }

    /// Whether it has left the room.
    pub fn has_left(&self) -> bool {
        self.left
    }

    /// Leaves the room.
    pub fn leave(&mut self) {
        self.signal
            .send(signal_request::Message::Leave(LeaveRequest::default()));
        self.signal.close();
        self.left = true;
    }
}

/// The epoll token of a participant's transport.
fn media_token(plan: &Plan, which: usize) -> u64 {
    u64::from(plan.number) * Participant::SOCKETS + 1 + which as u64
}
