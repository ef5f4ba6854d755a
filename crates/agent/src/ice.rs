//! One transport's half of ICE: the controlled side of a lite implementation.
//!
//! A lite agent has host candidates only and sends no checks; it learns of its peer only from the
//! peer's checks. So it authenticates a check, records the address pair, answers, and follows
//! nominations. The newest nomination wins, because peers change their mind (RFC 8445 section 8.1.1
//! with a lite peer; Firefox nominates every pair it checks).
//!
//! Source: RFC 8445 sections 7.3 and 8.2, RFC 7675, RFC 8489.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::limits::PATHS_MAX;
use dataplane::{Path, Protection};
use is::stun::StunMessage;
use is::{DefaultSha1HmacProvider, Sha1HmacProvider};
use southbound::IceCredentials;

use crate::config::Config;
use crate::counters::Counter;
use crate::limits::GENERATIONS_MAX;

/// The largest answer: a header, one address, integrity and fingerprint.
const REPLY_MAX: usize = 128;

/// A peer whose nominated pair had no check for so long, and that nominates one with another
/// address, has moved. Browsers check a pair in use every two to six seconds, so the time alone
/// does not tell a move from a choice between two pairs that work.
const SILENT: Duration = Duration::from_secs(1);

/// MESSAGE-INTEGRITY with its 20 bytes, then FINGERPRINT with its 4: how every connectivity check
/// ends.
const TRAILER: usize = 24 + 8;

/// The controlled half of ICE on one transport.
#[derive(Debug)]
pub(crate) struct Ice {
    /// Credentials since each ICE restart, the newest last. Older ones work until a pair is
    /// nominated with newer ones.
    generations: Vec<IceCredentials>,
    /// Paths on which the peer has proved itself. The nominated pair is first, once there is one.
    proven: Vec<Proven>,
    nominated: bool,
}

#[derive(Debug)]
struct Proven {
    path: Path,
    at: Instant,
}

/// A connectivity check that was valid.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The response, to be sent to the address that the check came from.
    pub(crate) reply: Vec<u8>,
    /// Whether it counts as consent: a role conflict does not.
    pub(crate) consents: bool,
    /// The effect on the paths.
    pub(crate) change: PathChange,
}

/// The effect of a check on the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChange {
    /// No change for the tables.
    Nothing,
    /// The pairs of the leg, or which of them is the nominated one.
    Paths,
    /// The nominated pair is another one, and the earlier one was silent: the peer has moved.
    Moved,
}

impl Ice {
    pub(crate) fn new(local: IceCredentials) -> Self {
        Ice {
            generations: vec![local],
            proven: Vec::new(),
            nominated: false,
        }
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

    /// The newest local credentials.
    pub(crate) fn local(&self) -> &IceCredentials {
        self.generations.last().expect("there is always a generation")
    }

    /// All user fragments that checks may name.
    pub(crate) fn ufrags(&self) -> impl Iterator<Item = &str> {
        self.generations.iter().map(|local| local.ufrag.as_str())
    }

    /// The nominated pair first; the others in the order they were proved.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Path> {
        self.proven.iter().map(|proven| proven.path)
    }

    /// The pairs that a leg has. A leg without encryption has none over TCP, because the offloads
    /// that take such legs send datagrams.
    pub(crate) fn leg_paths(&self, protection: &Protection, config: &Config) -> Vec<Path> {
        let is_clear = *protection == Protection::Clear;
        self.paths().filter(|path| !(is_clear && config.is_tcp(path))).collect()
    }

    /// The path to send on: the nominated pair, or the first one that was proved.
    pub(crate) fn best(&self) -> Option<Path> {
        self.proven.first().map(|proven| proven.path)
    }

    /// Whether the peer has nominated a pair.
    pub(crate) fn is_nominated(&self) -> bool {
        self.nominated
    }

    /// When the peer last proved itself on `path`.
    pub(crate) fn proved_at(&self, path: Path) -> Option<Instant> {
        self.proven
            .iter()
            .find(|proven| proven.path == path)
            .map(|proven| proven.at)
    }

    /// When the peer last proved itself anywhere.
    pub(crate) fn last_check(&self) -> Option<Instant> {
        self.proven.iter().map(|proven| proven.at).max()
    }

    /// Gives up a pair: another transport has proved to be there now.
    pub(crate) fn forget(&mut self, path: Path) {
        let was_nominated = self.nominated && self.best() == Some(path);
        self.proven.retain(|proven| proven.path != path);
        self.nominated &= !was_nominated;
    }

    /// Time of the next effect of [`prune`](Self::prune), if nothing is proved until then.
    pub(crate) fn next_prune(&self, age_max: Duration) -> Option<Instant> {
        let others = self.proven.iter().skip(usize::from(self.nominated));
        others.map(|proven| proven.at + age_max).min()
    }

    /// Gives up pairs that are neither nominated nor proved within `age_max`. Returns whether there
    /// were any.
    pub(crate) fn prune(&mut self, now: Instant, age_max: Duration) -> bool {
        let (before, nominated) = (self.proven.len(), self.nominated.then(|| self.best()).flatten());
        self.proven
            .retain(|proven| Some(proven.path) == nominated || now.saturating_duration_since(proven.at) < age_max);
        self.proven.len() != before
    }

    /// Handles a connectivity check for one of our user fragments. The peer's half of USERNAME is
    /// not looked at (RFC 8445 section 7.3). An invalid check is counted and not answered: an
    /// address that has not proved itself is sent nothing.
    pub(crate) fn check(&mut self, now: Instant, path: Path, datagram: &[u8]) -> Result<Checked, Counter> {
        if !ends_in_fingerprint(datagram) {
            return Err(Counter::StunMalformed);
        }
        let message = StunMessage::parse(datagram).map_err(|_| Counter::StunMalformed)?;
        let (local, _) = message.split_username().ok_or(Counter::StunMalformed)?;
        let found = self
            .generations
            .iter()
            .rposition(|generation| generation.ufrag == local);
        let index = found.ok_or(Counter::CheckUnknownUfrag)?;
        let password = self.generations[index].password.as_bytes();
        if !message.verify(password, hmac) {
            return Err(Counter::CheckUnauthenticated);
        }
        if message.ice_controlled().is_some() {
            let reply = encode(StunMessage::binding_role_conflict_reply(message.trans_id()), password);
            return Ok(Checked {
                reply,
                consents: false,
                change: PathChange::Nothing,
            });
        }
        // A socket for both families shows IPv4 peers at mapped addresses, which the peers do not
        // use themselves.
        let seen = SocketAddr::new(path.remote.ip().to_canonical(), path.remote.port());
        let reply = encode(StunMessage::binding_reply(message.trans_id(), seen), password);
        let change = self.prove(now, path, message.use_candidate(), index);
        Ok(Checked {
            reply,
            consents: true,
            change,
        })
    }

    /// Remembers a valid check on `path` with credentials of generation `index`.
    fn prove(&mut self, now: Instant, path: Path, nominates: bool, index: usize) -> PathChange {
        let before: (Vec<_>, _) = (self.paths().collect(), self.nominated);
        match self.proven.iter_mut().find(|proven| proven.path == path) {
            Some(proven) => proven.at = now,
            None => {
                self.make_room();
                self.proven.push(Proven { path, at: now });
            }
        }
        let is_left = |nominated: &Proven| {
            let is_silent = now.saturating_duration_since(nominated.at) >= SILENT;
            is_silent && nominated.path.remote.ip() != path.remote.ip()
        };
        let is_moved = nominates && self.nominated && self.proven.first().is_some_and(is_left);
        if nominates {
            let position = self.proven.iter().position(|proven| proven.path == path);
            self.proven[..=position.expect("just proved")].rotate_right(1);
            self.nominated = true;
            self.generations.drain(..index);
        }
        if self.paths().eq(before.0) && self.nominated == before.1 {
            PathChange::Nothing
        } else if is_moved {
            PathChange::Moved
        } else {
            PathChange::Paths
        }
    }

    /// A peer that proves itself on ever more pairs loses the stalest of its own.
    fn make_room(&mut self) {
        if self.proven.len() < PATHS_MAX {
            return;
        }
        let replaceable = usize::from(self.nominated);
        let stalest = (replaceable..self.proven.len()).min_by_key(|index| self.proven[*index].at);
        self.proven.remove(stalest.expect("more pairs than the nominated one"));
    }
}

/// Whether a datagram ends in MESSAGE-INTEGRITY and a right FINGERPRINT. ICE requires both in every
/// check, and attributes after the integrity would not be covered by it.
fn ends_in_fingerprint(datagram: &[u8]) -> bool {
    let Some(start) = datagram.len().checked_sub(TRAILER) else {
        return false;
    };
    let (covered, fingerprint) = datagram.split_at(datagram.len() - 8);
    let value = (crc32(covered) ^ 0x5354_554e).to_be_bytes();
    datagram[start..start + 4] == [0x00, 0x08, 0x00, 20]
        && fingerprint[..4] == [0x80, 0x28, 0x00, 4]
        && fingerprint[4..] == value
}

/// CRC-32 of ISO 3309, bit by bit: a check is a hundred bytes, and there are few.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

fn encode(message: StunMessage<'_>, password: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; REPLY_MAX];
    let len = message
        .to_bytes(Some(password), &mut bytes, hmac)
        .expect("answers are shorter than the buffer");
    bytes.truncate(len);
    bytes
}

#[cfg(test)]
mod tests;
