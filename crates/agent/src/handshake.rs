//! DTLS handshakes, computed by the driver of the agent on any thread.
//!
//! A handshake costs a signature and two key agreements, more than all other work for a transport.
//! So the agent does not compute it. It hands out the association with the datagrams that arrived
//! for it ([`Handshake`]), and takes it back with the result ([`Handshaken`]). Datagrams that
//! arrive in the meantime wait. After the keys are known the association stays in the agent: its
//! records are cheap to handle.

use std::time::Instant;

use dataplane::Path;
use southbound::{DtlsRole, Fingerprint};

use crate::context::Context;
use crate::counters::Counter;
use crate::dtls::{Association, Effect, HandshakeFault};
use crate::limits::HANDSHAKE_DATAGRAMS_MAX;
use crate::owner::Owner;

/// A part of a handshake that is ready to be computed.
#[must_use = "the handshake does not go on before it is computed and handed back"]
pub struct Handshake {
    owner: Owner,
    ticket: Ticket,
    association: Box<Association>,
    datagrams: Vec<Vec<u8>>,
}

/// A part of a handshake that was computed, for [`Agent::handshaken`](crate::Agent::handshaken).
#[must_use = "the handshake does not go on before it is handed back"]
pub struct Handshaken {
    pub(crate) owner: Owner,
    ticket: Ticket,
    association: Box<Association>,
    effects: Vec<Effect>,
    result: Result<(), HandshakeFault>,
}

/// Identifies one handing out, so that the result for a transport that is gone is not given to a
/// later one of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    /// The next one.
    pub(crate) fn take(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}

impl Handshake {
    /// Computes it: up to some milliseconds of processor time.
    pub fn compute(self, now: Instant) -> Handshaken {
        let Handshake {
            owner,
            ticket,
            mut association,
            datagrams,
        } = self;
        let mut effects = Vec::new();
        let mut result = association.handle_timeout(now, &mut effects);
        for datagram in &datagrams {
            result = result.and_then(|()| association.receive(now, datagram, &mut effects));
        }
        Handshaken {
            owner,
            ticket,
            association,
            effects,
            result,
        }
    }
}

/// The result of one computed part of a handshake.
pub(crate) struct Outcome {
    /// Our role.
    pub(crate) role: DtlsRole,
    pub(crate) effects: Vec<Effect>,
    pub(crate) result: Result<(), HandshakeFault>,
    /// The path that the answered datagrams arrived on.
    pub(crate) from: Path,
    /// Datagrams that arrived in the meantime.
    pub(crate) datagrams: Vec<Vec<u8>>,
}

/// A handshake under way, as its transport has it.
pub(crate) struct Exchange {
    place: Place,
    /// Datagrams that arrived and are not computed yet.
    datagrams: Vec<Vec<u8>>,
    /// Path of the newest datagram.
    from: Path,
    /// Whether it waits to be handed out.
    listed: bool,
}

/// Location of the association: in the agent, or handed out.
enum Place {
    Home(Box<Association>),
    Out(Ticket),
}

impl Exchange {
    /// A new handshake, with the datagrams that the peer has sent already. To be
    /// [listed](Self::list).
    pub(crate) fn new(association: Association, datagrams: Vec<Vec<u8>>, from: Path) -> Self {
        Exchange {
            place: Place::Home(Box::new(association)),
            datagrams,
            from,
            listed: false,
        }
    }

    /// Whether it is with the peer that promised one of these certificates, as far as that is known
    /// here.
    pub(crate) fn may_be_with(&self, fingerprints: &[Fingerprint]) -> bool {
        match &self.place {
            Place::Home(association) => association.is_with(fingerprints),
            // This is checked again when it is put back.
            Place::Out(_) => true,
        }
    }

    /// A datagram arrived.
    pub(crate) fn receive(&mut self, cx: &mut Context<'_>, owner: Owner, from: Path, datagram: Vec<u8>) {
        if self.datagrams.len() >= HANDSHAKE_DATAGRAMS_MAX {
            cx.count(Counter::DtlsTooMany);
            return;
        }
        self.from = from;
        self.datagrams.push(datagram);
        self.list(cx, owner);
    }

    /// Handles timeouts.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Context<'_>, owner: Owner) {
        if self.poll_timeout().is_some_and(|at| at <= cx.now) {
            self.list(cx, owner);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match &self.place {
            Place::Home(association) if !self.listed => association.poll_timeout(),
            _ => None,
        }
    }

    /// Has it wait to be handed out, unless it does or is.
    pub(crate) fn list(&mut self, cx: &mut Context<'_>, owner: Owner) {
        if !self.listed && matches!(self.place, Place::Home(_)) {
            self.listed = true;
            cx.shared.handshakes.push(self.from.remote.ip(), owner);
        }
    }

    /// Hands it out, if it waits for that.
    pub(crate) fn take(&mut self, owner: Owner, ticket: Ticket) -> Option<Handshake> {
        if !std::mem::take(&mut self.listed) {
            return None;
        }
        match std::mem::replace(&mut self.place, Place::Out(ticket)) {
            Place::Home(association) => Some(Handshake {
                owner,
                ticket,
                association,
                datagrams: std::mem::take(&mut self.datagrams),
            }),
            Place::Out(_) => unreachable!("a listed handshake is in the agent"),
        }
    }

    /// Takes it back; `None` if another one is out.
    pub(crate) fn put_back(&mut self, done: Handshaken) -> Option<Outcome> {
        if !matches!(self.place, Place::Out(ticket) if ticket == done.ticket) {
            return None;
        }
        let role = done.association.role();
        self.place = Place::Home(done.association);
        Some(Outcome {
            role,
            effects: done.effects,
            result: done.result,
            from: self.from,
            datagrams: std::mem::take(&mut self.datagrams),
        })
    }

    /// The association, now that it has keys.
    pub(crate) fn into_association(self) -> Box<Association> {
        match self.place {
            Place::Home(association) => association,
            Place::Out(_) => unreachable!("keys come with the association"),
        }
    }
}
