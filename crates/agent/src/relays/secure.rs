//! Keys that are agreed with the party at one port by DTLS (RFC 5763).

use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Path, Protection};
use southbound::{DtlsRole, Fingerprint};
use wire::srtp::MasterKey;

use crate::context::Context;
use crate::counters::Counter;
use crate::dtls::{Association, Effect, Failure, Identity};
use crate::handshake::{Exchange, Handshake, Handshaken, Outcome, Ticket};
use crate::limits::{EARLY_DTLS_MAX, HANDSHAKES_WAITING_MAX, PUT_OFF};
use crate::owner::Owner;

/// DTLS with one party.
pub(super) struct Secure {
    promised: Fingerprint,
    role: DtlsRole,
    state: State,
    /// The path of the party's datagrams, and of ours to it.
    path: Option<Path>,
}

enum State {
    /// No handshake has begun: the party's first flight, or its address, is missing, or too many
    /// others wait.
    Idle {
        early: Vec<Vec<u8>>,
        again: Option<Instant>,
    },
    /// It is under way.
    Handshake(Exchange),
    /// There are keys.
    Keyed {
        association: Box<Association>,
        ingress: MasterKey,
        egress: MasterKey,
    },
    /// The party's certificate is not the promised one. Only another description helps.
    Refused,
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
            path: None,
        }
    }

    /// Whether it is with the party that promised this certificate, in the role it has now: another
    /// role is another association (RFC 8842 section 4).
    pub(super) fn is_with(&self, fingerprint: &Fingerprint, active: bool) -> bool {
        self.promised == *fingerprint && self.role == role(active)
    }

    /// The key that decrypts packets from the party.
    pub(super) fn ingress(&self) -> Option<&MasterKey> {
        match &self.state {
            State::Keyed { ingress, .. } => Some(ingress),
            _ => None,
        }
    }

    /// The key that encrypts packets to the party.
    pub(super) fn egress(&self) -> Option<&MasterKey> {
        match &self.state {
            State::Keyed { egress, .. } => Some(egress),
            _ => None,
        }
    }

    /// Begins the handshake, unless it has begun or something is missing. `path` is the path to the
    /// party, if it is known from elsewhere.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>, identity: &Identity, path: Option<Path>, at: SocketAddr) {
        self.path = self.path.or(path);
        let (State::Idle { early, again }, Some(path)) = (&mut self.state, self.path) else {
            return;
        };
        let is_ready = match self.role {
            DtlsRole::Server => !early.is_empty(),
            DtlsRole::Client => true,
        };
        if !is_ready || again.is_some_and(|again| again > cx.now) {
            return;
        }
        if cx.shared.handshakes.len() >= HANDSHAKES_WAITING_MAX {
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
    }

    /// A datagram arrived. The caller [begins](Self::begin) the handshake, if it has not begun.
    pub(super) fn receive(&mut self, cx: &mut Context<'_>, path: Path, datagram: Vec<u8>) {
        self.path = Some(path);
        match &mut self.state {
            State::Idle { early, .. } if early.len() < EARLY_DTLS_MAX => early.push(datagram),
            State::Idle { .. } => cx.count(Counter::DtlsTooEarly),
            State::Handshake(exchange) => exchange.receive(cx, Owner::Relay(path.local), path, datagram),
            State::Keyed { association, .. } => {
                let mut effects = Vec::new();
                let result = association.receive(cx.now, &datagram, &mut effects);
                self.run(cx, effects);
                self.settle(cx, result);
            }
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
            effects,
            result,
            from,
            datagrams,
        } = outcome;
        self.run(cx, effects);
        self.settle(cx, result);
        for datagram in datagrams {
            self.receive(cx, from, datagram);
        }
    }

    /// Handles timeouts.
    pub(super) fn handle_timeout(&mut self, cx: &mut Context<'_>, at: SocketAddr) {
        match &mut self.state {
            State::Handshake(exchange) => exchange.handle_timeout(cx, Owner::Relay(at)),
            State::Keyed { association, .. } => {
                let mut effects = Vec::new();
                let result = association.handle_timeout(cx.now, &mut effects);
                self.run(cx, effects);
                self.settle(cx, result);
            }
            State::Idle { .. } | State::Refused => {}
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`begin`](Self::begin) has something to do.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Idle { again, .. } => *again,
            State::Handshake(exchange) => exchange.poll_timeout(),
            State::Keyed { association, .. } => association.poll_timeout(),
            State::Refused => None,
        }
    }

    /// Closes the association.
    pub(super) fn close(&mut self, cx: &mut Context<'_>) {
        if let State::Keyed { association, .. } = &mut self.state {
            let mut effects = Vec::new();
            association.close(cx.now, &mut effects);
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

    fn adopt(&mut self, ingress: MasterKey, egress: MasterKey) {
        self.state = match std::mem::replace(&mut self.state, State::Refused) {
            State::Handshake(exchange) => State::Keyed {
                association: exchange.into_association(),
                ingress,
                egress,
            },
            other => other,
        };
    }

    /// A failure ends the handshake; after an accidental failure it may begin again. Keys that were
    /// agreed stay valid.
    fn settle(&mut self, cx: &mut Context<'_>, result: Result<(), Failure>) {
        let Err(failure) = result else { return };
        if matches!(self.state, State::Keyed { .. }) {
            return;
        }
        match failure {
            Failure::Fingerprint => {
                cx.count(Counter::FingerprintMismatch);
                self.state = State::Refused;
            }
            Failure::Handshake => {
                cx.count(Counter::HandshakeFailed);
                let begins = self.role == DtlsRole::Client;
                self.state = State::Idle {
                    early: Vec::new(),
                    again: begins.then(|| cx.now + PUT_OFF),
                };
            }
        }
    }
}
