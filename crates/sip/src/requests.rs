//! Requests of proxies, and those that wait for the media node before they are answered.
//!
//! Two things are waited for. A reply that names ports leaves when they are open: media may come the moment it is read; a port that
//! could not be opened is given up, and the request gets another. And before a call's counts are told, its ports are asked for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use crate::call::CallName;
use crate::limits::{PORTS_TRIED_MAX, REPORT_WAIT, REQUESTS_WAITING_MAX};
use crate::plan::Order;
use crate::rtpproxy::Command;
use crate::{Counter, Output, Relay};

/// Whom a reply is for: the caller's own name for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// What a proxy says.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// An `ng` message with its cookie: a datagram, one of [`Stream`](crate::ng::Stream)'s, or an HTTP body.
    Ng {
        /// Who sent it, where that is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// An `ng` message without a cookie.
    NgPlain(&'a [u8]),
    /// A datagram of the rtpproxy protocol, with its cookie.
    Rtpproxy {
        /// Who sent it, where that is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// A command of the rtpproxy protocol without a cookie, from a stream.
    RtpproxyPlain(&'a [u8]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Ng,
    Rtpproxy,
}

/// A request on its way to its reply.
#[derive(Debug)]
struct Asked {
    id: RequestId,
    protocol: Protocol,
    /// Who asked, where that is known, and under which cookie, if any.
    cookie: Option<(Option<IpAddr>, Box<[u8]>)>,
    payload: Box<[u8]>,
    /// How often a port it had was refused.
    refused: usize,
    /// Ports that it got before, and that are not open yet.
    opening: BTreeSet<SocketAddr>,
}

/// What a request waits for.
#[derive(Debug)]
enum Awaits {
    /// That these open, to be answered like this then.
    Ports(BTreeSet<SocketAddr>, Vec<u8>),
    /// What these have to report, to be carried out then; no longer than until then.
    Reports(BTreeSet<SocketAddr>, Instant),
}

/// All that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    requests: BTreeMap<u64, (Asked, Awaits)>,
    by_port: HashMap<SocketAddr, Vec<u64>>,
    serial: u64,
}

impl Waiting {
    /// When [`Relay::stop_waiting`] has something to do.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let until = |(_, awaits): &(Asked, Awaits)| match awaits {
            Awaits::Reports(_, until) => Some(*until),
            Awaits::Ports(..) => None,
        };
        // All wait equally long, so that the first is the first.
        self.requests.values().find_map(until)
    }

    pub(crate) fn holds(&self, id: RequestId) -> bool {
        self.requests.values().rev().any(|(asked, _)| asked.id == id)
    }

    fn has(&self, asked: &Asked) -> bool {
        let same = |other: &Asked| other.protocol == asked.protocol && other.cookie == asked.cookie;
        asked.cookie.is_some() && self.requests.values().any(|(other, _)| same(other))
    }

    fn insert(&mut self, asked: Asked, awaits: Awaits) {
        self.serial += 1;
        for at in awaits.ports() {
            self.by_port.entry(*at).or_default().push(self.serial);
        }
        self.requests.insert(self.serial, (asked, awaits));
    }

    fn remove(&mut self, serial: u64) -> Option<(Asked, Awaits)> {
        let (asked, awaits) = self.requests.remove(&serial)?;
        for at in awaits.ports() {
            self.stop(*at, serial);
        }
        Some((asked, awaits))
    }

    /// Nothing more is waited for at this port by this request.
    fn stop(&mut self, at: SocketAddr, serial: u64) {
        if let Some(waiting) = self.by_port.get_mut(&at) {
            waiting.retain(|other| *other != serial);
            if waiting.is_empty() {
                self.by_port.remove(&at);
            }
        }
    }

    /// Something was heard of a port. Gives those that wait for nothing more.
    fn heard(&mut self, at: SocketAddr, of_report: bool) -> Vec<(Asked, Awaits)> {
        let mut done = Vec::new();
        for serial in self.by_port.get(&at).cloned().unwrap_or_default() {
            let Some((_, awaits)) = self.requests.get_mut(&serial) else {
                continue;
            };
            let ports = match awaits {
                Awaits::Ports(ports, _) if !of_report => ports,
                Awaits::Reports(ports, _) if of_report => ports,
                _ => continue,
            };
            ports.remove(&at);
            let is_done = ports.is_empty();
            self.stop(at, serial);
            if is_done {
                done.extend(self.requests.remove(&serial));
            }
        }
        done
    }
}

impl Awaits {
    fn ports(&self) -> &BTreeSet<SocketAddr> {
        match self {
            Awaits::Ports(ports, _) | Awaits::Reports(ports, _) => ports,
        }
    }
}

impl Relay {
    /// A proxy asks for something.
    pub(crate) fn request(&mut self, now: Instant, id: RequestId, request: Request<'_>, out: &mut Vec<Output>) {
        let (protocol, from, message) = match request {
            Request::NgPlain(payload) => return self.begin(now, asked(id, Protocol::Ng, None, payload), out),
            Request::RtpproxyPlain(line) => return self.begin(now, asked(id, Protocol::Rtpproxy, None, line), out),
            Request::Ng { from, message } => (Protocol::Ng, from, message),
            Request::Rtpproxy { from, message } => (Protocol::Rtpproxy, from, message),
        };
        let Some((cookie, payload)) = crate::ng::split(message) else {
            return self.counters.count(Counter::CookieMissing);
        };
        let cookies = match protocol {
            Protocol::Ng => &mut self.ng_cookies,
            Protocol::Rtpproxy => &mut self.rtpproxy_cookies,
        };
        if let Some(bytes) = cookies.reply(now, from, cookie) {
            self.counters.count(Counter::CookieRepeated);
            return out.push(Output::Reply { to: id, bytes });
        }
        let asked = asked(id, protocol, Some((from, cookie.into())), payload);
        if self.waiting.has(&asked) {
            // It gets its answer when the first one does.
            return self.counters.count(Counter::CookieRepeated);
        }
        self.begin(now, asked, out);
    }

    /// A port is open.
    pub(crate) fn opened(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (asked, awaits) in self.waiting.heard(at, false) {
            if let Awaits::Ports(_, reply) = awaits {
                self.answer(now, asked, reply, out);
            }
        }
    }

    /// A port told how much has arrived.
    pub(crate) fn reported(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        for (asked, _) in self.waiting.heard(at, true) {
            self.carry_out(now, asked, out);
        }
    }

    /// A port could not be opened. Its pair goes back, behind all others, and whoever got it gets another.
    pub(crate) fn refused(&mut self, now: Instant, at: SocketAddr, out: &mut Vec<Output>) {
        self.counters.count(Counter::PortsRefused);
        if let Some(name) = self.owners.get(&at).cloned() {
            let mut call = self.calls.remove(&name).expect("an address in use belongs to a call");
            call.release_at(at, &mut self.ports);
            self.put(name, call, out);
        }
        for serial in self.waiting.by_port.get(&at).cloned().unwrap_or_default() {
            if let Some((mut asked, Awaits::Ports(opening, _))) = self.waiting.remove(serial) {
                asked.refused += 1;
                asked.opening = opening;
                asked.opening.retain(|at| self.owners.contains_key(at));
                self.carry_out(now, asked, out);
            }
        }
    }

    /// Carries out what has waited for reports long enough.
    pub(crate) fn stop_waiting(&mut self, now: Instant, out: &mut Vec<Output>) {
        while self.waiting.next_deadline().is_some_and(|until| until <= now) {
            let due = |(_, (_, awaits)): &(&u64, &(Asked, Awaits))| matches!(awaits, Awaits::Reports(..));
            let first = self.waiting.requests.iter().find(due).map(|(serial, _)| *serial);
            let (asked, _) = first
                .and_then(|serial| self.waiting.remove(serial))
                .expect("a deadline is somebody's");
            self.counters.count(Counter::ReportMissing);
            self.carry_out(now, asked, out);
        }
    }

    /// Carries a request out, after its call has reported where it is about what was counted.
    fn begin(&mut self, now: Instant, asked: Asked, out: &mut Vec<Output>) {
        if self.waiting.requests.len() >= REQUESTS_WAITING_MAX {
            // A proxy asks again.
            return self.counters.count(Counter::RequestsFull);
        }
        let ports = self.reporting_ports(&asked);
        if ports.is_empty() {
            return self.carry_out(now, asked, out);
        }
        out.extend(ports.iter().map(|at| Output::Order(Order::Report(*at))));
        self.waiting.insert(asked, Awaits::Reports(ports, now + REPORT_WAIT));
    }

    fn carry_out(&mut self, now: Instant, mut asked: Asked, out: &mut Vec<Output>) {
        if asked.refused > PORTS_TRIED_MAX {
            let reply = self.no_port_opens(&asked);
            return self.answer(now, asked, reply, out);
        }
        let before = out.len();
        let reply = match asked.protocol {
            Protocol::Ng => self.ng_payload(now, &asked.payload, out),
            Protocol::Rtpproxy => self.rtpproxy_command(now, &asked.payload, out).into_bytes(),
        };
        let opening = out[before..].iter().filter_map(|output| match output {
            Output::Order(Order::Open(at)) => Some(*at),
            _ => None,
        });
        let mut opening: BTreeSet<SocketAddr> = opening.collect();
        opening.append(&mut asked.opening);
        if opening.is_empty() {
            self.answer(now, asked, reply, out);
        } else {
            self.waiting.insert(asked, Awaits::Ports(opening, reply));
        }
    }

    fn answer(&mut self, now: Instant, asked: Asked, reply: Vec<u8>, out: &mut Vec<Output>) {
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

    /// The ports whose counts a request is about: those where its call forwards.
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

fn asked(id: RequestId, protocol: Protocol, cookie: Option<(Option<IpAddr>, Box<[u8]>)>, payload: &[u8]) -> Asked {
    Asked {
        id,
        protocol,
        cookie,
        payload: payload.into(),
        refused: 0,
        opening: BTreeSet::new(),
    }
}
