//! One transport's half of ICE: the controlled side of a lite implementation that proves addresses.
//!
//! It has host candidates only and learns of its peer only from the peer's checks. It
//! authenticates a check, answers it, and checks the address pair itself, once: a pair is used only
//! after the peer has answered, because the source of a datagram can be forged. It follows
//! nominations. The newest nomination wins, because peers change their mind (RFC 8445 section 8.1.1
//! with a lite peer; Firefox nominates every pair it checks).
//!
//! Source: RFC 8445 sections 7.3 and 8.2, RFC 7675, RFC 8489.

mod checks;
mod consent;
mod message;
mod unproved;

use std::time::{Duration, Instant};

use dataplane::{Path, Protection};
use southbound::IceCredentials;

use crate::config::Config;
use crate::limits::GENERATIONS_MAX;
pub(crate) use checks::{PathChange, Source};
use consent::Consent;
pub(crate) use message::CheckId;
use unproved::{RateLimit, Unproved};

/// The controlled half of ICE on one transport.
#[derive(Debug)]
pub(crate) struct Ice {
    /// Credentials since each ICE restart, the newest last. Older ones work until a pair is
    /// nominated with newer ones.
    generations: Vec<IceCredentials>,
    /// The peer's credentials, the newest last.
    remotes: Vec<IceCredentials>,
    /// Paths on which the peer has proved itself. The nominated pair is first, once there is one.
    proven: Vec<Proven>,
    /// Paths on which the peer has only checked.
    unproved: Vec<Unproved>,
    /// The number of the nomination that is followed; zero is none.
    nominated: u64,
    /// Nominations so far.
    nominations: u64,
    rate_limit: RateLimit,
    /// Since when the peer may receive tracks.
    receives: Option<Instant>,
}

#[derive(Debug)]
struct Proven {
    path: Path,
    at: Instant,
    /// `None` for a connection, which proves all the time that its other end is there.
    consent: Option<Consent>,
}

impl Proven {
    /// When consent ends, if the peer does not answer until then.
    fn ends(&self, age_max: Duration, receives: Option<Instant>) -> Option<Instant> {
        self.consent.as_ref()?.ends(age_max, receives)
    }
}

impl Ice {
    pub(crate) fn new(local: IceCredentials) -> Self {
        Ice {
            generations: vec![local],
            remotes: Vec::new(),
            proven: Vec::new(),
            unproved: Vec::new(),
            nominated: 0,
            nominations: 0,
            rate_limit: RateLimit::new(),
            receives: None,
        }
    }

    /// The peer may receive tracks from now on.
    pub(crate) fn may_receive(&mut self, now: Instant) {
        self.receives.get_or_insert(now);
    }

    /// Begins an ICE restart: checks with the old credentials are answered, and their nominations
    /// followed, until a pair is nominated with the new ones. A peer checks from its new address
    /// with the old credentials until it has our description.
    pub(crate) fn restart(&mut self, local: IceCredentials) {
        if self.generations.len() == GENERATIONS_MAX {
            self.generations.remove(0);
        }
        self.generations.push(local);
    }

    /// The peer described itself. Its pairs without proof are checked with these credentials now.
    pub(crate) fn describe(&mut self, now: Instant, remote: &IceCredentials) {
        if self.remotes.last() == Some(remote) {
            return;
        }
        if self.remotes.len() == GENERATIONS_MAX {
            self.remotes.remove(0);
        }
        self.remotes.push(remote.clone());
        self.unproved.iter_mut().for_each(|pair| pair.described(now));
    }

    /// The newest local credentials.
    pub(crate) fn local(&self) -> &IceCredentials {
        self.generations.last().expect("there is always a generation")
    }

    /// All user fragments that checks may name.
    pub(crate) fn ufrags(&self) -> impl Iterator<Item = &str> {
        self.generations.iter().map(|local| local.ufrag.as_str())
    }

    /// The nominated pair first; the others in the order they were proved, and those without proof
    /// last.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Path> {
        let unproved = self.unproved.iter().filter(|pair| !pair.contested);
        self.proven_paths().chain(unproved.map(|pair| pair.path))
    }

    fn proven_paths(&self) -> impl Iterator<Item = Path> {
        self.proven.iter().map(|proven| proven.path)
    }

    /// The ids of checks of ours that an answer may come for.
    pub(crate) fn check_ids(&self) -> impl Iterator<Item = CheckId> {
        let consents = self.proven.iter().filter_map(|proven| proven.consent.as_ref());
        self.unproved
            .iter()
            .map(|pair| pair.id)
            .chain(consents.map(Consent::id))
    }

    /// The pairs that a leg has. The first is sent to, so it is a proved one, or there are no keys
    /// yet. A leg without encryption has no pair over TCP, because the offloads that take such legs
    /// send datagrams.
    pub(crate) fn leg_paths(&self, protection: &Protection, config: &Config) -> Vec<Path> {
        let is_clear = *protection == Protection::Clear;
        let is_for = |path: &Path| !(is_clear && config.is_tcp(path));
        let sends = *protection == Protection::Pending || self.proven_paths().any(|path| is_for(&path));
        self.paths().filter(|path| sends && is_for(path)).collect()
    }

    /// The path to send on: the nominated pair, or the first one that was proved.
    pub(crate) fn best(&self) -> Option<Path> {
        self.proven_paths().next()
    }

    /// The path to answer on what came `from` there: the nominated pair, or the same one if it is
    /// proved.
    pub(crate) fn answer_path(&self, from: Path) -> Option<Path> {
        let is_proven = !self.is_nominated() && self.proved_at(from).is_some();
        if is_proven { Some(from) } else { self.best() }
    }

    /// Whether the peer has nominated a pair.
    pub(crate) fn is_nominated(&self) -> bool {
        self.nominated != 0
    }
    /// When the peer last checked on `path`, if it has proved itself there.
    pub(crate) fn proved_at(&self, path: Path) -> Option<Instant> {
        self.proven
            .iter()
            .find(|proven| proven.path == path)
            .map(|proven| proven.at)
    }

    /// When the peer last checked on a path that is proved.
    pub(crate) fn last_check(&self) -> Option<Instant> {
        self.proven.iter().map(|proven| proven.at).max()
    }

    /// Gives up a pair: another transport has proved to be there now.
    pub(crate) fn forget(&mut self, path: Path) {
        self.leave(path);
        for pair in self.unproved.iter_mut().filter(|pair| pair.path == path) {
            pair.contested = true;
        }
    }

    /// Sends nothing on a pair until it is proved again.
    fn leave(&mut self, path: Path) {
        if self.best() == Some(path) {
            self.nominated = 0;
        }
        self.proven.retain(|proven| proven.path != path);
    }

    /// Time of the next effect of [`prune`](Self::prune), if nothing is proved until then.
    pub(crate) fn next_prune(&self, age_max: Duration) -> Option<Instant> {
        let others = self.proven.iter().skip(usize::from(self.is_nominated()));
        let unproved = self.unproved.iter().map(|pair| pair.at);
        others
            .map(|proven| proven.at)
            .chain(unproved)
            .map(|at| at + age_max)
            .chain(
                self.proven
                    .iter()
                    .filter_map(|proven| proven.ends(age_max, self.receives)),
            )
            .min()
    }

    /// Gives up pairs that are neither nominated nor checked within `age_max`, and those on which
    /// the peer does not answer our checks though it has or receives tracks. Returns whether there
    /// were any.
    pub(crate) fn prune(&mut self, now: Instant, age_max: Duration) -> bool {
        let has_ended = |proven: &&Proven| proven.ends(age_max, self.receives).is_some_and(|ends| ends <= now);
        let left = self.proven.iter().find(has_ended);
        if let Some(path) = left.map(|proven| proven.path) {
            self.leave(path);
            self.prune(now, age_max);
            return true;
        }
        let before = self.proven.len() + self.unproved.len();
        let nominated = self.best().filter(|_| self.is_nominated());
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < age_max;
        self.proven
            .retain(|proven| Some(proven.path) == nominated || is_fresh(proven.at));
        self.unproved.retain(|pair| is_fresh(pair.at));
        self.proven.len() + self.unproved.len() != before
    }

    /// When [`send_checks`](Self::send_checks) has something next.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.remotes.last()?;
        let consent = self
            .proven
            .first()
            .and_then(|proven| Some(proven.consent.as_ref()?.due()));
        self.unproved.iter().filter_map(|pair| pair.due).chain(consent).min()
    }
}

#[cfg(test)]
mod tests;
