//! A light client: joins a room, publishes and subscribes as told, and counts what it receives.

mod milestones;
mod negotiation;
mod showing;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use livekit_protocol::{LeaveRequest, MuteTrackRequest, Ping, SignalTarget, signal_request};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use wire::PacketKind;

use super::error::ParticipantError;
use super::identity::Identity;
use super::impairment::Dice;
use super::offer;
use super::plan::{Mode, Plan, signalling_path};
use super::sdp::{Description, Kind, Media};
use super::signal::{Admission, Server, Signal, Traffic};
use super::transport::{Incoming, Transport, TransportError};
use crate::clock;
use crate::media::{FeedbackCounts, Inbound, Meter, Publisher, Reporter, Totals};
use crate::net::Inbox;
use negotiation::track_id;

pub use milestones::Milestones;

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
    dice: Dice,
    /// The cameras of which the server knows whether they are shown.
    settled: Vec<u32>,
    /// The server's name for its microphone.
    microphone: Option<String>,
    ping_at: Instant,
    began_at: Instant,
    milestones: Milestones,
    /// Where a light client's media waits to be read, once it flows.
    in_the_pool: bool,
    left: bool,
}

impl Participant {
    /// Sockets of one participant: signalling and two transports.
    pub const SOCKETS: u64 = 3;

    /// Begins to connect its signalling.
    pub fn join(plan: Plan, joining: &Joining<'_>, now: Instant) -> Result<Self, ParticipantError> {
        let identity = format!("bench-{}", plan.number);
        let (path, query) = signalling_path(&plan);
        let admission = Admission {
            room: &plan.room,
            identity: &identity,
            publishes: plan.publish.is_some(),
        };
        let token = u64::from(plan.number) * Self::SOCKETS;
        let signal = Signal::connect(joining.server, (path, &query), admission, (joining.epoll, token))?;
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
            publisher: Publisher::new(Dice::new(plan.impairment.up, !u64::from(plan.number))),
            inbound: Inbound::default(),
            meter,
            dice: Dice::new(plan.impairment.down, u64::from(plan.number)),
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

    /// How far it has come.
    pub fn milestones(&self) -> &Milestones {
        &self.milestones
    }

    /// Whether the server has still to let it in, or its media to connect.
    pub fn is_connecting(&self) -> bool {
        !self.left && self.milestones.connected.is_none()
    }

    /// What the server has signalled to it.
    pub fn traffic(&self) -> &Traffic {
        self.signal.traffic()
    }

    /// Whether everything it publishes is on its way.
    pub fn is_publishing(&self) -> bool {
        self.plan.publish.is_none() || self.publisher.due().is_some()
    }

    /// Reads what the server has signalled.
    pub fn handle_signal(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        if self.left {
            return Ok(());
        }
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
        let Some(transport) = self.transports[which].as_mut().filter(|_| !self.left) else {
            return Ok(());
        };
        let socket = transport.socket().clone();
        let mut outcome = Ok(());
        let read = inbox.read(&socket, |datagram| {
            if wire::classify(datagram.bytes) == PacketKind::Rtp && self.dice.lose() {
                return;
            }
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
        if self.left {
            return Ok(());
        }
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
        self.note_milestones(now);
        if now >= self.ping_at {
            self.ping_at = now + PING_INTERVAL;
            let timestamp = (clock::wall_ns() / 1_000_000) as i64;
            self.signal
                .send(signal_request::Message::PingReq(Ping { timestamp, rtt: 0 }))?;
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

    /// Lets a light client's media wait in `pool`, once it flows, instead of waking the thread from `epoll`.
    pub fn calm(&mut self, epoll: &Epoll, pool: &Epoll) -> Result<(), ParticipantError> {
        if self.in_the_pool || !self.plan.light || self.milestones.first_media.is_none() {
            return Ok(());
        }
        self.in_the_pool = true;
        for (which, transport) in self.transports.iter().enumerate() {
            if let Some(transport) = transport {
                let event = EpollEvent::new(EpollFlags::EPOLLIN, media_token(&self.plan, which));
                epoll.delete(transport.socket()).map_err(ParticipantError::Wait)?;
                pool.add(transport.socket(), event).map_err(ParticipantError::Wait)?;
            }
        }
        Ok(())
    }

    /// When its next media packet is due.
    pub fn media_due(&self) -> Option<Instant> {
        self.publisher.due().filter(|_| !self.left)
    }

    /// Tells the room that its microphone is muted, or is not; media goes on, for nobody has to hear the difference.
    pub fn mute(&mut self, muted: bool) -> Result<(), ParticipantError> {
        let Some(sid) = self.microphone.clone() else {
            return Ok(());
        };
        let request = MuteTrackRequest { sid, muted };
        Ok(self.signal.send(signal_request::Message::Mute(request))?)
    }

    /// Whether it has left the room.
    pub fn has_left(&self) -> bool {
        self.left
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
        self.left = true;
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
                _ => self
                    .publisher
                    .start_audio(source, self.plan.speech, &section.mid, negotiated, start),
            }
        }
    }
}

/// What epoll says of a participant's transport.
fn media_token(plan: &Plan, which: usize) -> u64 {
    u64::from(plan.number) * Participant::SOCKETS + 1 + which as u64
}
