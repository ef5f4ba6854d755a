//! Requests of proxies, including those that wait for the media node.
//!
//! A reply with ports is sent when they are open, and one that starts media when it is forwarded:
//! media may arrive the moment the reply is read. A port that could not be opened is given up, and
//! the request gets another. Before a call's counts are reported, its ports are asked for them.

mod waiting;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use southbound::relay::{Refusal, RelayCommand};

use crate::call::CallName;
use crate::limits::{NODE_WAIT, PORTS_TRIED_MAX, REQUESTS_WAITING_MAX};
use crate::rtpproxy::Command;
use crate::statistics::Outcome;
use crate::{Counter, Output, Relay};
pub(crate) use waiting::Waiting;
use waiting::{Asked, Awaits, Then, Word};

/// The caller's id of a request, for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// A proxy's request.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// An `ng` message with its cookie: a datagram, one of [`Stream`](crate::ng::Stream)'s, or an
    /// HTTP body.
    Ng {
        /// The sender's address, if it is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// An `ng` message without a cookie.
    NgPlain(&'a [u8]),
    /// A datagram of the rtpproxy protocol, with its cookie.
    Rtpproxy {
        /// The sender's address, if it is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// A command of the rtpproxy protocol without a cookie, from a stream.
    RtpproxyPlain(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Ng,
    Rtpproxy,
}

impl Relay {
    /// A proxy asks for something.
    pub(crate) fn request(&mut self, now: Instant, id: RequestId, request: Request<'_>, out: &mut Vec<Output>) {
        let (protocol, from, message) = match request {
            Request::NgPlain(payload) => return self.begin(now, asked(now, id, Protocol::Ng, None, payload), out),
            Request::RtpproxyPlain(line) => {
                return self.begin(now, asked(now, id, Protocol::Rtpproxy, None, line), out);
            }
            Request::Ng { from, message } => (Protocol::Ng, from, message),
            Request::Rtpproxy { from, message } => (Protocol::Rtpproxy, from, message),
        };
        let Some((cookie, payload)) = crate::ng::split(message) else {
            return self.counters.count(Counter::CookieMissing);
        };
        if !cookie.iter().all(u8::is_ascii_graphic) {
            return self.counters.count(Counter::CookieRefused);
        }
        let cookies = match protocol {
            Protocol::Ng => &mut self.ng_cookies,
            Protocol::Rtpproxy => &mut self.rtpproxy_cookies,
        };
        if let Some(bytes) = cookies.reply(now, from, cookie) {
            self.counters.count(Counter::CookieRepeated);
            return out.push(Output::Reply { to: id, bytes });
        }
        let asked = asked(now, id, protocol, Some((from, cookie.into())), payload);
        if self.waiting.has(&asked) {
            // It gets its answer when the first one does.
            return self.counters.count(Counter::CookieRepeated);
        }
        self.begin(now, asked, out);
    }

    /// A port is open.
    pub(crate) fn opened(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (asked, awaits) in self.waiting.heard(at, Word::Open) {
            self.go_on(now, asked, awaits.then, out);
        }
    }

    /// A port reported its counts.
    pub(crate) fn reported(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (asked, awaits) in self.waiting.heard(at, Word::Report) {
            self.go_on(now, asked, awaits.then, out);
        }
    }

    /// A port could not be opened. Its pair is returned to the end of the list, and its request
    /// gets another.
    pub(crate) fn refused(&mut self, now: Instant, at: SocketAddr, why: Refusal, out: &mut Vec<Output>) {
        self.counters.count(Counter::PortsRefused);
        if why == Refusal::NoSrtp {
            // The port is open and silent, and another one would be no better: the call ends as one
            // without media does.
            return;
        }
        if why == Refusal::Full {
            // Another port fails too, unless a call gives some back.
            self.reclaim(out);
        }
        if let Some(name) = self.owners.get(&at).cloned() {
            let mut call = self.calls.remove(&name).expect("an address in use belongs to a call");
            call.release_at(at, &mut self.ports);
            self.put(name, call, out);
        }
        for (mut asked, awaits) in self.waiting.take_at(at) {
            asked.refused += 1;
            asked.words = awaits.words;
            asked.words.retain(|(at, _)| self.owners.contains_key(at));
            self.carry_out(now, asked, out);
        }
    }

    /// Continues requests that have waited long enough.
    pub(crate) fn stop_waiting(&mut self, now: Instant, out: &mut Vec<Output>) {
        while let Some((asked, awaits)) = self.waiting.take_due(now) {
            self.counters.count(Counter::NodeSilent);
            // A port that may not be open is not reported. The proxy repeats its request.
            if awaits.words.iter().all(|(_, word)| *word == Word::Report) {
                self.go_on(now, asked, awaits.then, out);
            }
        }
    }

    fn go_on(&mut self, now: Instant, asked: Asked, then: Then, out: &mut Vec<Output>) {
        match then {
            Then::CarryOut => self.carry_out(now, asked, out),
            Then::Answer(reply) => self.answer(now, asked, reply, out),
        }
    }

    /// Executes a request. If it is about counts, its call's ports report first.
    fn begin(&mut self, now: Instant, asked: Asked, out: &mut Vec<Output>) {
        if self.waiting.len() >= REQUESTS_WAITING_MAX {
            // A proxy asks again.
            return self.counters.count(Counter::RequestsFull);
        }
        let ports = self.reporting_ports(&asked);
        if ports.is_empty() {
            return self.carry_out(now, asked, out);
        }
        out.extend(ports.iter().map(|at| Output::Command(RelayCommand::Report(*at))));
        let awaits = Awaits {
            words: ports.into_iter().map(|at| (at, Word::Report)).collect(),
            then: Then::CarryOut,
            until: now + NODE_WAIT,
        };
        self.waiting.insert(asked, awaits);
    }

    fn carry_out(&mut self, now: Instant, mut asked: Asked, out: &mut Vec<Output>) {
        if asked.refused > PORTS_TRIED_MAX {
            let reply = self.no_port_opens(&asked);
            return self.answer(now, asked, reply, out);
        }
        let before = out.len();
        self.outcome = Outcome::default();
        let reply = match asked.protocol {
            Protocol::Ng => self.ng_payload(now, &asked.payload, out),
            Protocol::Rtpproxy => self.rtpproxy_command(now, &asked.payload, out).into_bytes(),
        };
        asked.outcome = self.outcome;
        let mut words = std::mem::take(&mut asked.words);
        let mut reports = Vec::new();
        for output in &out[before..] {
            match output {
                Output::Command(RelayCommand::Open(at)) => _ = words.insert((*at, Word::Open)),
                Output::Command(RelayCommand::Install(entry)) => {
                    words.insert((entry.at, Word::Report));
                    reports.push(Output::Command(RelayCommand::Report(entry.at)));
                }
                _ => {}
            }
        }
        if words.is_empty() {
            return self.answer(now, asked, reply, out);
        }
        out.append(&mut reports);
        let awaits = Awaits {
            words,
            then: Then::Answer(reply),
            until: now + NODE_WAIT,
        };
        self.waiting.insert(asked, awaits);
    }

    fn answer(&mut self, now: Instant, asked: Asked, reply: Vec<u8>, out: &mut Vec<Output>) {
        let from = asked.cookie.as_ref().and_then(|(from, _)| *from);
        let took = now.saturating_duration_since(asked.begun);
        self.statistics
            .answered(now, from, took, asked.outcome, self.calls.len());
        let Some((from, cookie)) = asked.cookie else {
            return out.push(Output::Reply {
                to: asked.id,
                bytes: reply.into(),
            });
        };
        let bytes: Arc<[u8]> = [&cookie, &b" "[..], &reply].concat().into();
        let cookies = match asked.protocol {
            Protocol::Ng => &mut self.ng_cookies,
            Protocol::Rtpproxy => &mut self.rtpproxy_cookies,
        };
        cookies.remember(now, from, &cookie, bytes.clone());
        out.push(Output::Reply { to: asked.id, bytes });
    }

    /// The ports whose counts a request is about: those that forward media of its call.
    fn reporting_ports(&self, asked: &Asked) -> BTreeSet<SocketAddr> {
        let name = match asked.protocol {
            Protocol::Ng => crate::ng::call_reported_on(&asked.payload),
            Protocol::Rtpproxy => match std::str::from_utf8(&asked.payload).map(Command::parse) {
                Ok(Ok(Command::Delete { names, .. } | Command::Query { names, .. })) => Some(names.call.into()),
                _ => None,
            },
        };
        let call = name.and_then(|name: Vec<u8>| self.calls.get(&CallName::from(name)));
        call.map(|call| call.installed.keys().copied().collect())
            .unwrap_or_default()
    }

    fn no_port_opens(&mut self, asked: &Asked) -> Vec<u8> {
        self.counters.count(Counter::PortsExhausted);
        self.counters.count(Counter::Errors);
        match asked.protocol {
            Protocol::Ng => crate::ng::out_of_ports(&asked.payload),
            Protocol::Rtpproxy => crate::rtpproxy::ErrorCode::NoPorts.reply().into_bytes(),
        }
    }
}

fn asked(
    now: Instant,
    id: RequestId,
    protocol: Protocol,
    cookie: Option<(Option<IpAddr>, Box<[u8]>)>,
    payload: &[u8],
) -> Asked {
    Asked {
        id,
        protocol,
        cookie,
        payload: payload.into(),
        begun: now,
        outcome: Outcome::default(),
        refused: 0,
        words: BTreeSet::new(),
    }
}
