//! Keys that are agreed with the party at one port by DTLS (RFC 5763).

use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Path, Protection};
use southbound::{DtlsRole, Fingerprint};
use wire::srtp::MasterKey;

use crate::context::Context;
use crate::counters::Counter;
use crate::dtls::{Association, Effect, HandshakeFault, Identity};
use crate::handshake::{Exchange, Handshake, Handshaken, Outcome, Ticket};
use crate::limits::{EARLY_DTLS_MAX, PUT_OFF};
use crate::owner::Owner;

/// DTLS with one party.
pub(super) struct Secure {
    promised: Fingerprint,
    role: DtlsRole,
    state: State,
    /// The newest association with keys. It stays while the party begins another one.
    keyed: Option<Keyed>,
    /// The path of the party's datagrams, and of ours to it.
    path: Option<Path>,
    /// The path according to the orders.
    ordered: Option<Path>,
    /// The association that the orders mean.
    association: Option<u32>,
    /// Whether we are to begin another association: the party has moved or announced one.
    renews: bool,
}

enum State {
    /// No handshake is under way: the party's first flight, or its address, is missing, or too many
    /// others wait, or there are keys.
    Idle {
        early: Vec<Vec<u8>>,
        again: Option<Instant>,
    },
    /// One is under way.
    Handshake(Exchange),
    /// The party's certificate is not the promised one, or not proved. Only another description
    /// helps.
    Refused,
}

struct Keyed {
    association: Box<Association>,
    ingress: MasterKey,
    egress: MasterKey,
}

const fn role(active: bool) -> DtlsRole {
    if active { DtlsRole::Client } else { DtlsRole::Server }
}

impl State {
    fn idle() -> Self {
        State::Idle {
            early: Vec::new(),
            again: None,
        }
    }
}

impl Secure {
    pub(super) fn new(promised: Fingerprint, active: bool) -> Self {
        Secure {
            promised,
            role: role(active),
            state: State::idle(),
            keyed: None,
            path: None,
            ordered: None,
            association: None,
            renews: false,
        }
    }

    /// Whether it is with the party that promised this certificate, in the role it has now: another
    /// role is another association (RFC 8842 section 4).
    pub(super) fn is_with(&self, fingerprint: &Fingerprint, active: bool) -> bool {
        self.promised == *fingerprint && self.role == role(active)
    }

    /// The key that decrypts packets from the party.
    pub(super) fn ingress(&self) -> Option<&MasterKey> {
        self.keyed.as_ref().map(|keyed| &keyed.ingress)
    }

    /// Whether a handshake is under way.
    pub(super) fn is_half_open(&self) -> bool {
        matches!(self.state, State::Handshake(_))
    }

    /// The key that encrypts packets to the party.
    pub(super) fn egress(&self) -> Option<&MasterKey> {
        self.keyed.as_ref().map(|keyed| &keyed.egress)
    }

    /// The party is at the other end of this path, or nobody knows where it is.
    pub(super) fn set_path(&mut self, path: Option<Path>) {
        self.path = path;
    }

    /// The orders name this path. It is used unless the party has shown another one since. A party
    /// at another address than before expects another association (RFC 8842 section 4), which the
    /// client begins.
    pub(super) fn order_path(&mut self, path: Path) {
        let before = self.ordered.replace(path);
        if before.is_some_and(|before| before != path) && !path.remote.ip().is_unspecified() {
            self.path = Some(path);
            self.renews = self.role == DtlsRole::Client;
        }
        self.path.get_or_insert(path);
    }

    /// The orders mean this association of the party's. The client begins another one.
    pub(super) fn order_association(&mut self, association: u32) {
        let before = self.association.replace(association);
        if before.is_some_and(|before| before != association) {
            self.renews = self.role == DtlsRole::Client;
        }
    }

    /// Begins a handshake, unless one is under way or something is missing.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>, identity: &Identity, at: SocketAddr) {
        let (State::Idle { early, again }, Some(path)) = (&mut self.state, self.path) else {
            return;
        };
        let is_ready = match self.role {
            DtlsRole::Server => !early.is_empty(),
            DtlsRole::Client => self.keyed.is_none() || self.renews,
        };
        if !is_ready || again.is_some_and(|again| again > cx.now) {
            return;
        }
        if !cx.shared.handshakes.admits(path.remote.ip()) {
            cx.count(Counter::HandshakePutOff);
            *again = Some(cx.now + PUT_OFF);
            return;
        }
        let datagrams = std::mem::take(early);
        let promised = vec![self.promised.clone()];
        let association = Association::new(identity, self.role, promised, cx.now);
        let mut exchange = Exchange::new(association, datagrams, path);
        exchange.list(cx, Owner::Relay(at));
        self.state = State::Handshake(exchange);
        self.renews = false;
    }

    /// A datagram arrived. The caller [begins](Self::begin) the handshake, if it has not begun.
    pub(super) fn receive(&mut self, cx: &mut Context<'_>, path: Path, datagram: Vec<u8>) {
        let is_of_keyed = match &self.state {
            State::Idle { .. } => !(self.role == DtlsRole::Server && is_client_hello(&datagram)),
            State::Handshake(_) => !is_of_handshake(&datagram),
            State::Refused => true,
        };
        if let Some(keyed) = self.keyed.as_mut().filter(|_| is_of_keyed) {
            let mut effects = Vec::new();
            // The keys stay valid whatever becomes of the association.
            let _ = keyed.association.receive(cx.now, &datagram, &mut effects);
            return self.run(cx, effects);
        }
        match &mut self.state {
            State::Idle { early, .. } if early.len() < EARLY_DTLS_MAX => early.push(datagram),
            State::Idle { .. } => cx.count(Counter::DtlsTooEarly),
            State::Handshake(exchange) => exchange.receive(cx, Owner::Relay(path.local), path, datagram),
            State::Refused => cx.count(Counter::DtlsUnexpected),
        }
    }

    /// Hands out the next computation.
    pub(super) fn take_handshake(&mut self, at: SocketAddr, ticket: Ticket) -> Option<Handshake> {
        match &mut self.state {
            State::Handshake(exchange) => exchange.take(Owner::Relay(at), ticket),
            _ => None,
        }
    }

    /// A part of the handshake was computed.
    pub(super) fn handshaken(&mut self, cx: &mut Context<'_>, done: Handshaken) {
        let State::Handshake(exchange) = &mut self.state else {
            return;
        };
        let Some(outcome) = exchange.put_back(done) else { return };
        let Outcome {
            role,
            effects,
            result,
            from,
            datagrams,
        } = outcome;
        self.run(cx, effects);
        if let Err(fault) = result {
            cx.handshake_failed(from, role, &fault);
            self.fail(cx, &fault);
        }
        for datagram in datagrams {
            self.receive(cx, from, datagram);
        }
    }

    /// Handles timeouts.
    pub(super) fn handle_timeout(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        if let State::Handshake(exchange) = &mut self.state {
            exchange.handle_timeout(cx, Owner::Relay(at));
        }
        if let Some(keyed) = &mut self.keyed {
            let mut effects = Vec::new();
            let _ = keyed.association.handle_timeout(cx.now, &mut effects);
            self.run(cx, effects);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`begin`](Self::begin) has something to do.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let handshake = match &self.state {
            State::Idle { again, .. } => *again,
            State::Handshake(exchange) => exchange.poll_timeout(),
            State::Refused => None,
        };
        let keyed = self.keyed.as_ref().and_then(|keyed| keyed.association.poll_timeout());
        handshake.into_iter().chain(keyed).min()
    }

    /// Closes the association.
    pub(super) fn close(&mut self, cx: &mut Context<'_>) {
        if let Some(keyed) = &mut self.keyed {
            let mut effects = Vec::new();
            keyed.association.close(cx.now, &mut effects);
            self.run(cx, effects);
        }
    }

    fn run(&mut self, cx: &mut Context<'_>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(datagram) => {
                    if let Some(path) = self.path {
                        cx.send(path, &datagram);
                    }
                }
                Effect::Keys(_, Protection::Srtp { ingress, egress }) => self.adopt(ingress, egress),
                // No data runs over it, and a party that closes it has its call ended by
                // signalling.
                Effect::Keys(..) | Effect::Data(_) | Effect::Closed => {}
            }
        }
    }

    /// Has the keys of the handshake that is over, in place of earlier ones.
    fn adopt(&mut self, ingress: MasterKey, egress: MasterKey) {
        if let State::Handshake(exchange) = std::mem::replace(&mut self.state, State::idle()) {
            self.keyed = Some(Keyed {
                association: exchange.into_association(),
                ingress,
                egress,
            });
        }
    }

    /// A failure ends the handshake; after an accidental failure it may begin again. Keys that were
    /// agreed before it stay valid.
    fn fail(&mut self, cx: &mut Context<'_>, fault: &HandshakeFault) {
        if !matches!(self.state, State::Handshake(_)) {
            return;
        }
        self.state = match &self.keyed {
            Some(_) => State::idle(),
            None if fault.is_of_certificate() => State::Refused,
            None => State::Idle {
                early: Vec::new(),
                again: (self.role == DtlsRole::Client).then(|| cx.now + PUT_OFF),
            },
        };
    }
}

/// Whether a datagram begins another handshake: a record of handshake without encryption that has
/// the beginning of a ClientHello (RFC 6347 section 4.2.8).
fn is_client_hello(datagram: &[u8]) -> bool {
    const HANDSHAKE: u8 = 22;
    const CLIENT_HELLO: u8 = 1;
    datagram.first() == Some(&HANDSHAKE)
        && datagram.get(3..5) == Some(&[0, 0])
        && datagram.get(13) == Some(&CLIENT_HELLO)
}

/// Whether a datagram is of a handshake, and not an alert or data: ChangeCipherSpec and handshake.
fn is_of_handshake(datagram: &[u8]) -> bool {
    matches!(datagram.first(), Some(20 | 22))
}
