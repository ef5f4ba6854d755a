//! The state machine a program drives.

mod announcement;
mod handshakes;
mod links;

use std::collections::VecDeque;
use std::time::Instant;

use dataplane::{Clock, DataPlane, Event, PuntKind};
use rand::SeedableRng;
use rand::rngs::StdRng;
use southbound::{Command, NodeId, Notice, TransportId};

use crate::channels::Letter;
use crate::config::Config;
use crate::context::handshake_queue::HandshakeQueue;
use crate::context::protected_media::ProtectedMedia;
use crate::context::{Context, Shared};
use crate::counters::{Counter, Counters};
use crate::dtls::Identity;
use crate::ids::Ids;
use crate::ledger::Ledger;
use crate::media::{Current, Media, UnmappedStream};
use crate::owner::Owner;
use crate::receivers::Receiver;
use crate::relays::Relays;
use crate::timers::{Timer, Timers};
use crate::transports::direct::{self, DirectTransports};
use crate::transports::{Change, MediaParameters, Transports};

/// The control plane of one media node.
///
/// Feed it every [`Command`] of the controller and every [`Event`] of the data plane. Call
/// [`handle_timeout`](Agent::handle_timeout) at the time that [`poll_timeout`](Agent::poll_timeout)
/// gives. Each call writes the resulting updates to the data plane and appends notices for the
/// controller to `out`. Compute the handshakes that [`poll_handshake`](Agent::poll_handshake)
/// returns, on this thread or on another.
pub struct Agent {
    shared: Shared,
    transports: Transports,
    direct: DirectTransports,
    media: Media,
    relays: Relays,
    announced: bool,
}

impl Agent {
    /// An agent without transports. `clock` relates `now` to wall-clock time in sender reports.
    /// `seed` seeds all random choices of the agent itself; the ciphers' randomness comes from the
    /// operating system.
    pub fn new(config: Config, clock: Clock, seed: u64) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        let node = config.node;
        let identity = Identity::new(&config.certificate, config.handshake_timeout);
        let shared = Shared {
            config,
            clock,
            rng,
            timers: Timers::default(),
            counters: Counters::default(),
            handshakes: HandshakeQueue::default(),
            protected_media: ProtectedMedia::default(),
            failures: VecDeque::new(),
            ledger: Ledger::new(node),
            leg_ids: Ids::default(),
        };
        Agent {
            shared,
            transports: Transports::new(identity.clone()),
            direct: DirectTransports::default(),
            media: Media::default(),
            relays: Relays::new(identity),
            announced: false,
        }
    }

    /// The id of its node.
    pub fn node_id(&self) -> NodeId {
        self.shared.config.node
    }

    /// Carries out one command.
    pub fn command(&mut self, now: Instant, command: Command, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(plane, out);
        let cx = &mut Context {
            now,
            plane,
            out,
            shared: &mut self.shared,
        };
        let mut changes = Vec::new();
        match command {
            Command::Open(open) if self.direct.has(open.transport) => {
                direct::refuse(cx, open.transport, "it has no ICE");
            }
            Command::Open(open) => self.transports.open(cx, open, &mut changes),
            Command::OpenDirect(order) => self.direct.open(cx, &mut self.transports, *order, &mut changes),
            Command::Connect { transport, .. } if self.direct.has(transport) => {
                direct::refuse(cx, transport, "it has no description");
            }
            Command::Connect { transport, remote } => {
                let parameters = MediaParameters::described(&remote, cx.shared.config.clear_rtp);
                self.media.described(cx, transport, &parameters);
                self.transports.connect(cx, transport, remote, &mut changes);
            }
            Command::Close { transport } => {
                self.transports.close(cx, transport, &mut changes);
                self.direct.close(cx, transport, &mut changes);
            }
            Command::Send {
                to,
                label,
                payload,
                reliable,
                message,
            } => {
                let is_unpaced = reliable && message.is_none();
                let message = match is_unpaced {
                    true => cx.shared.ledger.open_unpaced(payload.len()),
                    false => message,
                };
                if is_unpaced && message.is_none() {
                    return to.iter().for_each(|_| cx.count(Counter::MessageUnsent));
                }
                for transport in to {
                    let letter = Letter {
                        label: &label,
                        payload: payload.clone(),
                        reliable,
                        message,
                        unpaced_max: is_unpaced.then(|| cx.shared.ledger.unpaced_share()),
                    };
                    self.transports.send(cx, transport, letter, &mut changes);
                }
                if let Some(message) = message.filter(|_| is_unpaced) {
                    cx.shared.ledger.handled(message);
                }
            }
            Command::MessageHandled { message } => cx.shared.ledger.handled(message),
            // The fence takes these. Without one the controller passes messages on.
            Command::SetEndpoint(_)
            | Command::RemoveEndpoint { .. }
            | Command::SetElsewhere { .. }
            | Command::SetDataTrack(_)
            | Command::RemoveDataTrack { .. }
            | Command::SetDistantEndpoint(_)
            | Command::RemoveDistantEndpoint { .. }
            | Command::SetDistantTrack(_)
            | Command::RemoveDistantTrack { .. }
            | Command::SetReach { .. }
            | Command::SetSource { .. }
            | Command::Resend { .. } => {}
            Command::Publish(publication) => self.media.publish(cx, publication),
            Command::Unpublish { track } => self.media.unpublish(cx, track),
            Command::SetForwarding { track, forwarding } => self.media.set_forwarding(cx, track, forwarding),
            Command::SetSpeakerRank { track, rank } => self.media.set_speaker_rank(cx, track, rank),
            Command::SetDownlinkLimit { transport, limit } => self.media.set_downlink_limit(cx, transport, limit),
            Command::Subscribe(subscription) => {
                self.transports.may_receive(cx, subscription.transport);
                self.media.subscribe(cx, subscription);
            }
            Command::Unsubscribe { subscription } => self.media.unsubscribe(cx, subscription),
            Command::Relay(command) => self.relays.command(cx, command),
        }
        follow(cx, &mut self.transports, &mut self.media, changes);
    }

    /// Takes in one event of the data plane.
    pub fn event(&mut self, now: Instant, event: Event, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(plane, out);
        let cx = &mut Context {
            now,
            plane,
            out,
            shared: &mut self.shared,
        };
        let mut changes = Vec::new();
        match event {
            Event::Punt {
                kind, at, path, bytes, ..
            } if self.relays.has(path.local) => match kind {
                PuntKind::Stun => self.relays.receive_stun(cx, path, &bytes),
                PuntKind::Dtls => self.relays.receive_dtls(cx, path, bytes),
                PuntKind::Rtcp => self.relays.receive_rtcp(cx, at.min(cx.now), path.local, &bytes),
                PuntKind::Protected => {
                    let keying = self.relays.keying(path.local);
                    cx.keep_protected(Owner::Relay(path.local), keying, at, path, bytes);
                }
            },
            Event::Punt { kind, path, .. } if kind != PuntKind::Rtcp && self.direct.has_path(path) => {
                self.direct.unexpected(cx, kind);
            }
            Event::RelaySource { at, from } => self.relays.source(cx, at, from),
            Event::RelayTraffic { at, traffic, last } => self.relays.traffic(cx, at, traffic, last),
            Event::Punt {
                kind: PuntKind::Stun,
                path,
                bytes,
                ..
            } => {
                self.transports.receive_stun(cx, path, &bytes, &mut changes);
            }
            Event::Punt {
                kind: PuntKind::Dtls,
                path,
                leg,
                bytes,
                ..
            } => {
                self.transports.receive_dtls(cx, leg, path, bytes, &mut changes);
            }
            Event::Punt {
                kind: PuntKind::Rtcp,
                at,
                leg,
                bytes,
                ..
            } => {
                if let Some(leg) = leg {
                    self.direct.heard(cx, leg);
                    self.media.rtcp(cx, at.min(cx.now), leg, &bytes);
                }
            }
            Event::Punt {
                kind: PuntKind::Protected,
                at,
                path,
                leg,
                bytes,
            } => {
                if let Some(transport) = leg.and_then(|leg| self.transports.by_leg(leg)) {
                    let keying = self.transports.keying(transport);
                    cx.keep_protected(Owner::Transport(transport), keying, at, path, bytes);
                }
            }
            Event::UnknownStream {
                leg,
                ssrc,
                payload_type,
                mid,
                rid,
                repaired_rid,
            } => {
                let stream = UnmappedStream {
                    ssrc,
                    payload_type,
                    mid,
                    rid,
                    repaired_rid,
                };
                self.media.unknown_stream(cx, leg, stream);
            }
            Event::Arrivals { leg, arrivals } => {
                self.direct.heard(cx, leg);
                self.media.arrived(cx, leg, &arrivals);
            }
            Event::Departures { leg, departures } => self.media.departed(cx, leg, &departures),
            Event::Selected {
                replica,
                source,
                layer,
                awaits_key_frame,
            } => {
                let current = Current {
                    source,
                    layer,
                    awaits_key_frame,
                };
                self.media.selected(cx, replica, current);
            }
            Event::NackUpstream { stream, sequences } => self.media.nack_upstream(cx, stream, &sequences),
            // Of a replica that was let go, which we never ask for.
            Event::Released { .. } => {}
            Event::Stream(key, statistics) => self.media.stream_statistics(key, statistics),
            Event::Replica(replica, statistics) => self.media.replica_statistics(replica, statistics),
        }
        follow(cx, &mut self.transports, &mut self.media, changes);
    }

    /// When [`handle_timeout`](Agent::handle_timeout) is to be called next. May change with every
    /// other call.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.announced {
            self.shared.timers.next()
        } else {
            Some(self.shared.clock.origin)
        }
    }

    /// Handles all timeouts up to `now`.
    pub fn handle_timeout(&mut self, now: Instant, plane: &mut dyn DataPlane, out: &mut Vec<Notice>) {
        self.announce(plane, out);
        while let Some(timer) = self.shared.timers.pop(now) {
            let cx = &mut Context {
                now,
                plane: &mut *plane,
                out: &mut *out,
                shared: &mut self.shared,
            };
            let mut changes = Vec::new();
            match timer {
                Timer::Transport(transport) => {
                    self.transports.handle_timeout(cx, transport, &mut changes);
                    self.direct.handle_timeout(cx, transport, &mut changes);
                }
                Timer::Reports(transport) => self.media.ask_reports(cx, transport),
                Timer::ReportsReady(transport) => self.media.send_reports(cx, transport),
                Timer::Feedback(transport) => self.media.send_feedback(cx, transport),
                Timer::Estimate(transport) => self.media.estimate_timeout(cx, transport),
                Timer::Allocate(transport) => self.media.allocate(cx, transport),
                Timer::Copies(transport) => self.media.send_copies(cx, transport),
                Timer::Fill(subscription) => self.media.fill(cx, subscription),
                Timer::Nack(key) => self.media.send_nacks(cx, key),
                Timer::KeyFrame(key) => self.media.repeat_key_frame(cx, key),
                Timer::Activity(track) => self.media.check_activity(cx, track),
                Timer::Abandoned(track) => self.media.end_abandoned(cx, track),
                Timer::Audio => self.media.report_audio(cx),
                Timer::Relay(at) => self.relays.handle_timeout(cx, at),
            }
            follow(cx, &mut self.transports, &mut self.media, changes);
        }
    }

    /// Counts of inputs refused, packets repeated and attempts given up so far.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// The number of transports, those of relayed calls left out.
    pub fn transports(&self) -> usize {
        self.transports.len()
    }

    /// How every transport does that gets something, by transport.
    pub fn receivers(&self) -> Vec<Receiver> {
        self.receivers_after(None).collect()
    }

    /// The same for transports after this one, one at a time, so that a caller with thousands of
    /// them does not hold up the media of all.
    pub fn receivers_after(&self, after: Option<TransportId>) -> impl Iterator<Item = Receiver> {
        self.media.receivers_after(after)
    }

    /// How one transport does, if it gets something.
    pub fn receiver(&self, transport: TransportId) -> Option<Receiver> {
        self.media.receiver(transport)
    }

    /// Whether no transport, no state of one and no relayed call is left. Messages stay until the
    /// controller has handled them.
    pub fn is_idle(&self) -> bool {
        self.transports.is_empty()
            && self.direct.is_empty()
            && self.media.is_empty()
            && self.relays.is_empty()
            && self.shared.ledger.is_empty()
    }
}

/// Applies changes of transports: to peers that wait to pass messages on, and to the media.
fn follow(cx: &mut Context<'_>, transports: &mut Transports, media: &mut Media, mut changes: Vec<Change>) {
    transports.hand_over(cx, &mut changes);
    for change in changes {
        match change {
            Change::Opened(transport) => media.opened(cx, transport),
            Change::Described(transport, parameters) => media.described(cx, transport, &parameters),
            Change::LegAdded(transport, leg) => media.leg_added(cx, transport, leg),
            Change::Keyed(transport) => media.keyed(cx, transport),
            Change::Moved(transport) => media.moved(cx, transport),
            Change::Abandoned(transport) => media.abandon(cx, transport),
            Change::Closed(transport, leg) => {
                media.closed(cx, transport);
                if let Some(leg) = leg {
                    cx.remove_leg(leg);
                }
            }
        }
    }
}
