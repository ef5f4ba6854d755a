//! Requests that wait for the media node.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use super::{Protocol, RequestId};
use crate::statistics::Outcome;

/// A request on its way to its reply.
#[derive(Debug)]
pub(crate) struct Asked {
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
    /// Pending answers of ports that it got earlier.
    pub(crate) words: BTreeSet<(SocketAddr, Word)>,
}

/// The answers that a request waits for, and its continuation.
#[derive(Debug)]
pub(crate) struct Awaits {
    pub(crate) words: BTreeSet<(SocketAddr, Word)>,
    pub(crate) then: Then,
    /// It waits no longer than until then.
    pub(crate) until: Instant,
}

/// An answer of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    /// That it is open.
    Open,
    /// Its counts, and so the execution of all earlier orders.
    Report,
}

#[derive(Debug)]
pub(crate) enum Then {
    /// It is carried out.
    CarryOut,
    /// It is answered like this.
    Answer(Vec<u8>),
}

/// All that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    requests: BTreeMap<u64, (Asked, Awaits)>,
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
        self.requests.values().next().map(|(_, awaits)| awaits.until)
    }

    /// Whether this one waits.
    pub(crate) fn holds(&self, id: RequestId) -> bool {
        self.requests.values().rev().any(|(asked, _)| asked.id == id)
    }

    /// Whether the same request waits already, under its cookie.
    pub(crate) fn has(&self, asked: &Asked) -> bool {
        let same = |other: &Asked| other.protocol == asked.protocol && other.cookie == asked.cookie;
        asked.cookie.is_some() && self.requests.values().any(|(other, _)| same(other))
    }

    /// One more.
    pub(crate) fn insert(&mut self, asked: Asked, awaits: Awaits) {
        self.serial += 1;
        for at in awaits.ports() {
            self.by_port.entry(at).or_default().push(self.serial);
        }
        self.requests.insert(self.serial, (asked, awaits));
    }

    /// The next that has waited long enough.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Asked, Awaits)> {
        let (serial, (_, awaits)) = self.requests.first_key_value()?;
        let serial = Some(*serial).filter(|_| awaits.until <= now)?;
        self.remove(serial)
    }

    /// All requests that wait for an answer of this port.
    pub(crate) fn take_at(&mut self, at: SocketAddr) -> Vec<(Asked, Awaits)> {
        let serials = self.by_port.get(&at).cloned().unwrap_or_default();
        serials.into_iter().filter_map(|serial| self.remove(serial)).collect()
    }

    fn remove(&mut self, serial: u64) -> Option<(Asked, Awaits)> {
        let (asked, awaits) = self.requests.remove(&serial)?;
        for at in awaits.ports() {
            self.stop(at, serial);
        }
        Some((asked, awaits))
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
    pub(crate) fn heard(&mut self, at: SocketAddr, word: Word) -> Vec<(Asked, Awaits)> {
        let mut done = Vec::new();
        for serial in self.by_port.get(&at).cloned().unwrap_or_default() {
            let Some((_, awaits)) = self.requests.get_mut(&serial) else {
                continue;
            };
            awaits.words.remove(&(at, word));
            let (more_of_it, is_done) = (awaits.ports().contains(&at), awaits.words.is_empty());
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

impl Awaits {
    /// Each port with a pending answer, once.
    fn ports(&self) -> BTreeSet<SocketAddr> {
        self.words.iter().map(|(at, _)| *at).collect()
    }
}
