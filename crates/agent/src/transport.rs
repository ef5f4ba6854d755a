//! One transport: ICE finds where the peer is, DTLS who it is, the leg tells the data plane both.

use std::sync::Arc;
use std::time::Instant;

use dataplane::{Leg, LegId, Path, Protection, SrtpProfile, Update};
use southbound::{ChannelEnd, CloseReason, DtlsRole, Notice, OpenTransport, RemoteTransport, TransportId};

use crate::channels::{self, Channels, Letter};
use crate::context::Context;
use crate::counters::Counter;
use crate::dtls::{self, Association, HandshakeFault, Identity};
use crate::handshake::{Exchange, Handshake, Handshaken, Outcome, Ticket};
use crate::ice::Ice;
use crate::limits::{EARLY_DTLS_MAX, PUT_OFF};
use crate::liveness::Liveness;
use crate::owner::Owner;
use crate::timers::Timer;

/// How many messages of one sender are passed on before it is another's turn.
const SHARE: usize = 64;

/// One ICE + DTLS + SCTP association with one peer.
pub(crate) struct Transport {
    id: TransportId,
    pub(crate) ice: Ice,
    pub(crate) leg: Option<LegId>,
    remote: Option<RemoteTransport>,
    security: Security,
    channels: Channels,
    /// The bytes that the ledger knows SCTP to have.
    buffered: usize,
    liveness: Liveness,
}

/// Protection of the transport, as far as it is established.
enum Security {
    /// No handshake has begun: the description, or the nomination, or the peer's first flight is
    /// missing, or too many others wait.
    Idle(Idle),
    /// The handshake is under way.
    Handshake(Exchange),
    /// There are keys.
    Keyed(Box<Association>, SrtpProfile, Protection),
    /// By configuration there is none.
    Clear,
}

/// State until a handshake begins.
#[derive(Default)]
struct Idle {
    /// The peer's first flight.
    datagrams: Vec<Vec<u8>>,
    /// When to try again to begin, if it was put off.
    again: Option<Instant>,
}

impl Transport {
    pub(crate) fn new(open: OpenTransport, now: Instant) -> Self {
        Transport {
            id: open.transport,
            ice: Ice::new(open.local),
            leg: None,
            remote: None,
            security: Security::Idle(Idle::default()),
            channels: Channels::new(open.channels, now),
            buffered: 0,
            liveness: Liveness::new(now),
        }
    }

    /// The controller opens it again: an ICE restart where the credentials are new, and perhaps
    /// more channels.
    pub(crate) fn reopen(&mut self, cx: &mut Context<'_>, open: OpenTransport) -> Result<(), CloseReason> {
        if *self.ice.local() != open.local {
            self.ice.restart(open.local);
            self.liveness.restart(cx.now);
        }
        let mut effects = Vec::new();
        self.channels.open(cx.now, &open.channels, &mut effects);
        self.run_channels(cx, effects)
    }

    /// Whether the handshake is under way.
    pub(crate) fn is_half_open(&self) -> bool {
        matches!(self.security, Security::Handshake(_))
    }

    /// Whether RTCP can be sent to the peer.
    pub(crate) fn is_keyed(&self) -> bool {
        matches!(self.security, Security::Keyed(..) | Security::Clear)
    }

    /// The peer's half of the description came, perhaps not for the first time.
    pub(crate) fn connect(
        &mut self,
        cx: &mut Context<'_>,
        identity: &Identity,
        remote: RemoteTransport,
    ) -> Result<(), CloseReason> {
        let is_theirs = match &self.security {
            Security::Handshake(exchange) => exchange.may_be_with(&remote.fingerprints),
            Security::Keyed(association, ..) => association.is_with(&remote.fingerprints),
            Security::Idle(_) | Security::Clear => true,
        };
        if !is_theirs {
            cx.count(Counter::FingerprintMismatch);
            return Err(CloseReason::Fingerprint);
        }
        self.refuse_srtp(cx, &remote)?;
        self.ice.describe(cx.now, &remote.credentials);
        self.ice.send_checks(cx);
        let mut effects = Vec::new();
        self.channels
            .described(cx.now, remote.sctp_port.is_some(), &mut effects);
        self.remote = Some(remote);
        self.run_channels(cx, effects)?;
        self.start_channels(cx)?;
        self.begin(cx, identity)?;
        self.write_leg(cx);
        Ok(())
    }

    /// Refuses a peer that needs keys where the data plane cannot use them.
    fn refuse_srtp(&self, cx: &mut Context<'_>, remote: &RemoteTransport) -> Result<(), CloseReason> {
        let is_clear = remote.fingerprints.is_empty() && cx.shared.config.clear_rtp;
        if is_clear || cx.plane.capabilities().srtp {
            return Ok(());
        }
        cx.count(Counter::SrtpRefused);
        cx.notice(Notice::Refused {
            transport: self.id,
            why: "the data plane has no SRTP".into(),
        });
        Err(CloseReason::Handshake)
    }

    /// Its pairs changed: tell the data plane, and begin what waited for them.
    pub(crate) fn paths_changed(&mut self, cx: &mut Context<'_>, identity: &Identity) -> Result<(), CloseReason> {
        self.write_leg(cx);
        self.begin(cx, identity)
    }

    /// A valid check came on a path that is proved: the peer is there.
    pub(crate) fn consented(&mut self, cx: &mut Context<'_>) {
        if self.ice.is_nominated() && self.is_keyed() && self.liveness.connected() {
            let srtp = match &self.security {
                Security::Keyed(_, profile, _) => Some(*profile),
                _ => None,
            };
            cx.notice(Notice::Connected {
                transport: self.id,
                srtp,
            });
        }
    }

    /// A datagram of DTLS arrived on one of its pairs.
    pub(crate) fn receive_dtls(
        &mut self,
        cx: &mut Context<'_>,
        identity: &Identity,
        path: Path,
        datagram: Vec<u8>,
    ) -> Result<(), CloseReason> {
        match &mut self.security {
            Security::Clear => {
                cx.count(Counter::DtlsUnexpected);
                Ok(())
            }
            Security::Idle(idle) if idle.datagrams.len() >= EARLY_DTLS_MAX => {
                cx.count(Counter::DtlsTooEarly);
                Ok(())
            }
            Security::Idle(idle) => {
                idle.datagrams.push(datagram);
                self.begin(cx, identity)
            }
            Security::Handshake(exchange) => {
                exchange.receive(cx, Owner::Transport(self.id), path, datagram);
                Ok(())
            }
            Security::Keyed(association, ..) => {
                let mut effects = Vec::new();
                let result = association.receive(cx.now, &datagram, &mut effects);
                let role = association.role();
                self.run_dtls(cx, path, effects)?;
                result.map_err(|fault| self.ended(cx, path, role, &fault))
            }
        }
    }

    /// Hands out what there is to compute of the handshake.
    pub(crate) fn take_handshake(&mut self, ticket: Ticket) -> Option<Handshake> {
        match &mut self.security {
            Security::Handshake(exchange) => exchange.take(Owner::Transport(self.id), ticket),
            _ => None,
        }
    }

    /// A part of the handshake was computed.
    pub(crate) fn handshaken(
        &mut self,
        cx: &mut Context<'_>,
        identity: &Identity,
        done: Handshaken,
    ) -> Result<(), CloseReason> {
        let Security::Handshake(exchange) = &mut self.security else {
            return Ok(());
        };
        let Some(outcome) = exchange.put_back(done) else {
            return Ok(());
        };
        // The description may have changed meanwhile.
        let promised = self.remote.as_ref().map(|remote| &remote.fingerprints[..]);
        if promised.is_some_and(|promised| !exchange.may_be_with(promised)) {
            return Err(self.ended(cx, outcome.from, outcome.role, &HandshakeFault::Fingerprint));
        }
        let Outcome {
            role,
            effects,
            result,
            from,
            datagrams,
        } = outcome;
        self.run_dtls(cx, from, effects)?;
        result.map_err(|fault| self.ended(cx, from, role, &fault))?;
        datagrams
            .into_iter()
            .try_for_each(|datagram| self.receive_dtls(cx, identity, from, datagram))
    }

    /// Sends a message on a data channel.
    pub(crate) fn send(&mut self, cx: &mut Context<'_>, letter: Letter<'_>) -> Result<(), CloseReason> {
        if let Some(message) = letter.message {
            cx.shared.ledger.copied(message);
        }
        let mut effects = Vec::new();
        self.channels.send(cx.now, letter, &mut effects);
        self.run_channels(cx, effects)
    }

    /// Passes on a share of what has arrived on its data channels, as others can take it.
    pub(crate) fn hand_over(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        for _ in 0..SHARE {
            if !cx.shared.ledger.admits(self.id) || !self.pass_on(cx) {
                break;
            }
        }
        let mut effects = Vec::new();
        self.channels.resume(cx.now, &mut effects);
        self.run_channels(cx, effects)
    }

    /// Passes on all that has arrived, as far as there is room: its peer will send no more.
    pub(crate) fn hand_over_rest(&mut self, cx: &mut Context<'_>) {
        while !cx.shared.ledger.is_full() && self.pass_on(cx) {}
    }

    /// Passes on the oldest message, if there is any.
    fn pass_on(&mut self, cx: &mut Context<'_>) -> bool {
        let taken = self.channels.take();
        let told = taken.map(|(label, payload)| cx.tell_received(self.id, label, payload, false));
        told.is_some()
    }

    /// The same of a message that may be lost.
    fn pass_on_lossy(&mut self, cx: &mut Context<'_>, label: Arc<str>, payload: Arc<[u8]>) {
        if !cx.shared.ledger.admits_lossy(self.id) {
            return cx.count(Counter::MessageCongested);
        }
        cx.tell_received(self.id, label, payload, true);
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>, identity: &Identity) -> Result<(), CloseReason> {
        if self.liveness.check(cx.now, self.ice.last_check(), &cx.shared.config)? {
            cx.notice(Notice::Disconnected { transport: self.id });
        }
        if self.ice.prune(cx.now, cx.shared.config.consent_timeout) {
            self.write_leg(cx);
        }
        self.ice.send_checks(cx);
        self.dtls_timeout(cx, identity)?;
        let mut effects = Vec::new();
        self.channels.handle_timeout(cx.now, &mut effects);
        self.run_channels(cx, effects)
    }

    fn dtls_timeout(&mut self, cx: &mut Context<'_>, identity: &Identity) -> Result<(), CloseReason> {
        match &mut self.security {
            Security::Idle(idle) if idle.again.is_some_and(|at| at <= cx.now) => {
                idle.again = None;
                self.begin(cx, identity)
            }
            Security::Handshake(exchange) => {
                exchange.handle_timeout(cx, Owner::Transport(self.id));
                Ok(())
            }
            Security::Keyed(association, ..) => {
                let mut effects = Vec::new();
                let result = association.handle_timeout(cx.now, &mut effects);
                if let Some(path) = self.ice.best() {
                    self.run_dtls(cx, path, effects)?;
                }
                result.map_err(|_| CloseReason::Peer)
            }
            Security::Idle(_) | Security::Clear => Ok(()),
        }
    }

    /// Sets the timer for whatever is due next.
    pub(crate) fn schedule(&self, cx: &mut Context<'_>) {
        let config = &cx.shared.config;
        let liveness = self.liveness.next(self.ice.last_check(), config);
        let dtls = match &self.security {
            Security::Idle(idle) => idle.again,
            Security::Handshake(exchange) => exchange.poll_timeout(),
            Security::Keyed(association, ..) => association.poll_timeout(),
            Security::Clear => None,
        };
        let sctp = self.channels.poll_timeout();
        let prune = self.ice.next_prune(config.consent_timeout);
        let next = [Some(liveness), prune, self.ice.next_check(), dtls, sctp]
            .into_iter()
            .flatten()
            .min()
            .expect("liveness is always watched");
        cx.timer(Timer::Transport(self.id), next);
    }

    /// Says goodbye; the caller takes the leg out of the table.
    pub(crate) fn close(&mut self, cx: &mut Context<'_>) {
        let mut effects = Vec::new();
        self.channels.end(ChannelEnd::Peer, &mut effects);
        for effect in effects {
            match effect {
                channels::Effect::Taken(message) => cx.shared.ledger.taken(message),
                channels::Effect::Count(counter) => cx.count(counter),
                // The controller hears that the transport is gone, or has said so.
                _ => {}
            }
        }
        cx.shared.ledger.buffered(self.buffered, 0);
        cx.shared.ledger.forget(self.id);
        if let (Security::Keyed(association, ..), Some(path)) = (&mut self.security, self.ice.best()) {
            let mut effects = Vec::new();
            association.close(cx.now, &mut effects);
            for effect in effects {
                if let dtls::Effect::Send(datagram) = effect {
                    cx.send(path, &datagram);
                }
            }
        }
    }

    /// Begins the handshake once everything it needs is there: for a server the peer's description
    /// and first flight, for a client the description and the pair the peer chose.
    fn begin(&mut self, cx: &mut Context<'_>, identity: &Identity) -> Result<(), CloseReason> {
        let (Security::Idle(idle), Some(remote), Some(path)) = (&mut self.security, &self.remote, self.ice.best())
        else {
            return Ok(());
        };
        if remote.fingerprints.is_empty() && cx.shared.config.clear_rtp {
            self.security = Security::Clear;
            self.write_leg(cx);
            self.consented(cx);
            return Ok(());
        }
        let is_ready = match remote.dtls {
            DtlsRole::Server => !idle.datagrams.is_empty(),
            DtlsRole::Client => self.ice.is_nominated(),
        };
        if !is_ready {
            return Ok(());
        }
        if !cx.shared.handshakes.admits(path.remote.ip()) {
            cx.count(Counter::HandshakePutOff);
            idle.again = Some(cx.now + PUT_OFF);
            return Ok(());
        }
        let datagrams = std::mem::take(&mut idle.datagrams);
        let association = Association::new(identity, remote.dtls, remote.fingerprints.clone(), cx.now);
        let mut exchange = Exchange::new(association, datagrams, path);
        exchange.list(cx, Owner::Transport(self.id));
        self.security = Security::Handshake(exchange);
        Ok(())
    }

    /// Does what DTLS wants done. Datagrams go where the peer's came from until a pair is
    /// nominated, if that pair is proved.
    fn run_dtls(&mut self, cx: &mut Context<'_>, from: Path, effects: Vec<dtls::Effect>) -> Result<(), CloseReason> {
        for effect in effects {
            match effect {
                dtls::Effect::Send(datagram) => {
                    if let Some(path) = self.ice.answer_path(from) {
                        cx.send(path, &datagram);
                    }
                }
                dtls::Effect::Keys(profile, protection) => self.adopt_keys(cx, profile, protection)?,
                dtls::Effect::Data(data) => {
                    let mut effects = Vec::new();
                    self.channels.receive(cx.now, data, &mut effects);
                    self.run_channels(cx, effects)?;
                }
                dtls::Effect::Closed => return Err(CloseReason::Peer),
            }
        }
        Ok(())
    }

    /// Does what the data channels want done.
    fn run_channels(&mut self, cx: &mut Context<'_>, effects: Vec<channels::Effect>) -> Result<(), CloseReason> {
        let transport = self.id;
        for effect in effects {
            match effect {
                channels::Effect::Send(packet) => {
                    let (Security::Keyed(association, ..), Some(path)) = (&mut self.security, self.ice.best()) else {
                        continue;
                    };
                    let mut effects = Vec::new();
                    let result = association.send(cx.now, &packet, &mut effects);
                    self.run_dtls(cx, path, effects)?;
                    result.map_err(|_| CloseReason::Peer)?;
                }
                channels::Effect::Opened(label) => cx.notice(Notice::ChannelOpened { transport, label }),
                channels::Effect::Closed(label, why) => cx.notice(Notice::ChannelClosed { transport, label, why }),
                channels::Effect::Received(label, payload) => self.pass_on_lossy(cx, label, payload),
                channels::Effect::Taken(message) => cx.shared.ledger.taken(message),
                channels::Effect::Count(counter) => cx.count(counter),
            }
        }
        let before = std::mem::replace(&mut self.buffered, self.channels.buffered());
        cx.shared.ledger.buffered(before, self.buffered);
        self.channels.set_share(cx.shared.ledger.receiver_share());
        if self.channels.has_messages() && cx.shared.ledger.wants(transport) {
            cx.count(Counter::SenderHeld);
        }
        Ok(())
    }

    /// The end by a fault, which is one of the handshake before the peer is connected.
    fn ended(&self, cx: &mut Context<'_>, from: Path, role: DtlsRole, fault: &HandshakeFault) -> CloseReason {
        match self.liveness.has_connected() {
            true => CloseReason::Peer,
            false => cx.handshake_failed(from, role, fault),
        }
    }

    fn adopt_keys(
        &mut self,
        cx: &mut Context<'_>,
        profile: SrtpProfile,
        protection: Protection,
    ) -> Result<(), CloseReason> {
        self.security = match std::mem::replace(&mut self.security, Security::Idle(Idle::default())) {
            Security::Handshake(exchange) => Security::Keyed(exchange.into_association(), profile, protection),
            other => other,
        };
        self.write_leg(cx);
        self.consented(cx);
        self.start_channels(cx)
    }

    /// SCTP starts when DTLS is up and the description has a section for it.
    fn start_channels(&mut self, cx: &mut Context<'_>) -> Result<(), CloseReason> {
        let Some(port) = self.remote.as_ref().and_then(|remote| remote.sctp_port) else {
            return Ok(());
        };
        let Security::Keyed(association, ..) = &self.security else {
            return Ok(());
        };
        if self.channels.has_started() {
            return Ok(());
        }
        let mut effects = Vec::new();
        self.channels.start(association.role(), port, cx.now, &mut effects);
        self.run_channels(cx, effects)
    }

    fn write_leg(&self, cx: &mut Context<'_>) {
        let Some(leg) = self.leg else { return };
        let protection = match &self.security {
            Security::Keyed(_, _, protection) => protection.clone(),
            Security::Clear => Protection::Clear,
            Security::Idle(_) | Security::Handshake(_) => Protection::Pending,
        };
        let described = self.remote.as_ref().map(|of| [of.extensions_in, of.extensions_out]);
        let forms = cx.plane.capabilities().extensions;
        let [extensions_in, extensions_out] = described.unwrap_or_default().map(|map| map.within(forms));
        cx.write(Update::SetLeg(
            leg,
            Leg {
                paths: self.ice.leg_paths(&protection, &cx.shared.config),
                shared: None,
                protection,
                extensions_in,
                extensions_out,
            },
        ));
    }
}
