//! Requests that wait for the media node.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use super::Protocol;
use crate::messages::RequestId;
use crate::statistics::Outcome;

/// A request on its way to its reply.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) id: RequestId,
    pub(crate) protocol: Protocol,
    /// The asker's address, if it is known, and the request's cookie, if there is one.
    pub(crate) cookie: Option<(Option<IpAddr>, Box<[u8]>)>,
    pub(crate) payload: Box<[u8]>,
    /// The time of arrival.
    pub(crate) begun: Instant,
    /// Its kind, as known when it was carried out.
    pub(crate) outcome: Outcome,
    /// How often a port it had was refused.
    pub(crate) refused: usize,
    /// Pending notices of ports that it got earlier.
    pub(crate) notices: BTreeSet<(SocketAddr, NoticeKind)>,
}

impl PendingRequest {
    pub(crate) fn new(
        now: Instant,
        id: RequestId,
        protocol: Protocol,
        cookie: Option<(Option<IpAddr>, Box<[u8]>)>,
        payload: &[u8],
    ) -> Self {
        Self {
            id,
            protocol,
            cookie,
            payload: payload.into(),
            begun: now,
            outcome: Outcome::default(),
            refused: 0,
            notices: BTreeSet::new(),
        }
    }

    /// The asker's address, if it is known.
    pub(crate) fn from(&self) -> Option<IpAddr> {
        self.cookie.as_ref().and_then(|(from, _)| *from)
    }
}

/// The notices that a request waits for, and its continuation.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) notices: BTreeSet<(SocketAddr, NoticeKind)>,
    pub(crate) then: Continuation,
    /// It waits no longer than until then.
    pub(crate) until: Instant,
}

/// A notice of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoticeKind {
    /// That it is open.
    Opened,
    /// Its counts, and so the execution of all earlier orders.
    Traffic,
}

/// The next step of a request that has waited.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// It is carried out.
    Execution,
    /// It is answered with this payload.
    Reply(Vec<u8>),
}

/// All that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    requests: BTreeMap<u64, (PendingRequest, Wait)>,
    by_port: HashMap<SocketAddr, Vec<u64>>,
    serial: u64,
}

impl Waiting {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The time when a request will have waited [long enough](Self::take_due).
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        // All wait equally long, so that the first is the first.
        self.requests.values().next().map(|(_, wait)| wait.until)
    }

    /// Whether this one waits.
    pub(crate) fn holds(&self, id: RequestId) -> bool {
        self.requests.values().rev().any(|(request, _)| request.id == id)
    }

    /// Whether the same request waits already, under its cookie.
    pub(crate) fn has(&self, request: &PendingRequest) -> bool {
        let same = |other: &PendingRequest| other.protocol == request.protocol && other.cookie == request.cookie;
        request.cookie.is_some() && self.requests.values().any(|(other, _)| same(other))
    }

    /// Whether a request with this cookie waits already.
    pub(crate) fn has_cookie(&self, protocol: Protocol, from: Option<IpAddr>, cookie: &[u8]) -> bool {
        let is_it = |other: &PendingRequest| {
            let known = other.cookie.as_ref();
            other.protocol == protocol && known.is_some_and(|(of, known)| *of == from && **known == *cookie)
        };
        self.requests.values().any(|(other, _)| is_it(other))
    }

    /// One more.
    pub(crate) fn insert(&mut self, request: PendingRequest, wait: Wait) {
        self.serial += 1;
        for at in wait.ports() {
            self.by_port.entry(at).or_default().push(self.serial);
        }
        self.requests.insert(self.serial, (request, wait));
    }

    /// The next that has waited long enough.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(PendingRequest, Wait)> {
        let (serial, (_, wait)) = self.requests.first_key_value()?;
        let serial = Some(*serial).filter(|_| wait.until <= now)?;
        self.remove(serial)
    }

    /// All requests that wait for a notice of this port.
    pub(crate) fn take_at(&mut self, at: SocketAddr) -> Vec<(PendingRequest, Wait)> {
        let serials = self.by_port.get(&at).cloned().unwrap_or_default();
        serials.into_iter().filter_map(|serial| self.remove(serial)).collect()
    }

    fn remove(&mut self, serial: u64) -> Option<(PendingRequest, Wait)> {
        let (request, wait) = self.requests.remove(&serial)?;
        for at in wait.ports() {
            self.stop(at, serial);
        }
        Some((request, wait))
    }

    /// The request waits for nothing more at this port.
    fn stop(&mut self, at: SocketAddr, serial: u64) {
        if let Some(waiting) = self.by_port.get_mut(&at) {
            waiting.retain(|other| *other != serial);
            if waiting.is_empty() {
                self.by_port.remove(&at);
            }
        }
    }

    /// A port answered. Returns the requests that wait for nothing more.
    pub(crate) fn on_notice(&mut self, at: SocketAddr, kind: NoticeKind) -> Vec<(PendingRequest, Wait)> {
        let mut done = Vec::new();
        for serial in self.by_port.get(&at).cloned().unwrap_or_default() {
            let Some((_, wait)) = self.requests.get_mut(&serial) else {
                continue;
            };
            wait.notices.remove(&(at, kind));
            let (more_of_it, is_done) = (wait.ports().contains(&at), wait.notices.is_empty());
            if !more_of_it {
                self.stop(at, serial);
            }
            if is_done {
                done.extend(self.requests.remove(&serial));
            }
        }
        done
    }
}

impl Wait {
    /// Each port with a pending notice, once.
    fn ports(&self) -> BTreeSet<SocketAddr> {
        self.notices.iter().map(|(at, _)| *at).collect()
    }
}
