//! The effect of checks and answers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::Path;
use dataplane::limits::PATHS_MAX;
use is::stun::StunMessage;

use super::consent::Consent;
use super::message::{encode, ends_in_fingerprint, hmac, is_answer_of};
use super::unproved::Unproved;
use super::{Ice, Proven};
use crate::context::Context;
use crate::counters::Counter;

/// A peer whose nominated pair had no check for so long, and that nominates one with another
/// address, has moved. Browsers check a pair in use every two to six seconds, so the time alone
/// does not tell a move from a choice between two pairs that work.
const SILENT: Duration = Duration::from_secs(1);

/// A connectivity check that was valid.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The response, to be sent to the address that the check came from.
    pub(crate) reply: Vec<u8>,
    /// Whether it counts as a check: a role conflict does not.
    pub(crate) is_accepted: bool,
    /// Whether it came on a path that is proved, and so counts as consent.
    pub(crate) consents: bool,
    /// The effect on the paths.
    pub(crate) change: PathChange,
}

/// The effect of a check, or of an answer, on the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathChange {
    /// No change for the tables.
    Nothing,
    /// The pairs of the leg, or which of them is the nominated one.
    Paths,
    /// The nominated pair is another one, and the earlier one was silent: the peer has moved.
    Moved,
}

/// The path of a check, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A datagram, whose source may be forged.
    Datagram {
        /// Whether another transport has the path in the tables.
        contested: bool,
    },
    /// A connection, whose handshake has proved the address.
    Connection,
}

impl Ice {
    /// Sends the checks of ours that are due.
    pub(crate) fn send_checks(&mut self, cx: &mut Context<'_>) {
        for (path, check) in self.take_checks(cx.now) {
            cx.count(Counter::CheckSent);
            cx.send(path, &check);
        }
    }

    /// The checks of ours that are due.
    pub(super) fn take_checks(&mut self, now: Instant) -> Vec<(Path, Vec<u8>)> {
        let Ice {
            unproved,
            remotes,
            rate_limit,
            proven,
            generations,
            ..
        } = self;
        let due = unproved.iter_mut().filter_map(|pair| {
            let check = pair.take_check(now, remotes, rate_limit)?;
            Some((pair.path, check))
        });
        let mut checks: Vec<_> = due.collect();
        let (local, remote) = (generations.last(), remotes.last());
        let consents = proven.iter_mut().take(1).filter_map(|proven| {
            let check = proven.consent.as_mut()?.take_check(now, &local?.ufrag, remote?)?;
            Some((proven.path, check))
        });
        checks.extend(consents);
        checks
    }

    /// Handles a connectivity check for one of our user fragments. The peer's half of USERNAME only
    /// selects its credentials (RFC 8445 section 7.3). An invalid check is counted and not
    /// answered. The [checks](Self::send_checks) that follow from a valid one are to be sent before
    /// the answer, so that the peer's answer arrives before its first flight of DTLS.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        path: Path,
        source: Source,
        datagram: &[u8],
    ) -> Result<Checked, Counter> {
        if !ends_in_fingerprint(datagram) {
            return Err(Counter::StunMalformed);
        }
        let message = StunMessage::parse(datagram).map_err(|_| Counter::StunMalformed)?;
        let (local, remote) = message.split_username().ok_or(Counter::StunMalformed)?;
        let index = self.generation(local).ok_or(Counter::CheckUnknownUfrag)?;
        let password = self.generations[index].password.as_bytes();
        if !message.verify(password, hmac) {
            return Err(Counter::CheckUnauthenticated);
        }
        if message.ice_controlled().is_some() {
            let reply = encode(StunMessage::binding_role_conflict_reply(message.trans_id()), password);
            return Ok(Checked {
                reply,
                is_accepted: false,
                consents: false,
                change: PathChange::Nothing,
            });
        }
        // A socket for both families shows IPv4 peers at mapped addresses, which the peers do not
        // use themselves.
        let seen = SocketAddr::new(path.remote.ip().to_canonical(), path.remote.port());
        let reply = encode(StunMessage::binding_reply(message.trans_id(), seen), password);
        let nomination = message.use_candidate().then(|| {
            self.nominations += 1;
            self.nominations
        });
        let change = if source == Source::Connection || self.proved_at(path).is_some() {
            self.prove(now, path, nomination, index, None)
        } else {
            let contested = source == Source::Datagram { contested: true };
            self.claim(now, path, nomination, contested, [local, remote])
        };
        Ok(Checked {
            reply,
            is_accepted: true,
            consents: self.proved_at(path).is_some(),
            change,
        })
    }

    /// Handles an answer to a check of ours: it proves the path, or that the peer is still there.
    pub(crate) fn answer(&mut self, now: Instant, path: Path, datagram: &[u8]) -> Result<PathChange, Counter> {
        let answer = wire::stun::binding_success(datagram).ok_or(Counter::StunMalformed)?;
        let Ice { proven, remotes, .. } = self;
        let proven = proven.iter_mut().find(|proven| proven.path == path);
        let consent = proven.and_then(|proven| proven.consent.as_mut());
        if let Some(consent) = consent.filter(|consent| consent.id() == answer.id) {
            let is_signed = remotes.iter().any(|remote| is_answer_of(&answer, &remote.password));
            return match is_signed {
                true => {
                    consent.answered(now);
                    Ok(PathChange::Nothing)
                }
                false => Err(Counter::AnswerUnauthenticated),
            };
        }
        let position = self
            .unproved
            .iter()
            .position(|pair| pair.path == path && pair.id == answer.id)
            .ok_or(Counter::AnswerUnexpected)?;
        let mut remotes = self.remotes.iter();
        if !remotes.any(|remote| is_answer_of(&answer, &remote.password)) {
            return Err(Counter::AnswerUnauthenticated);
        }
        let pair = self.unproved.remove(position);
        let index = self.generation(&pair.local);
        let nomination = pair.nomination.filter(|_| index.is_some());
        let consent = Some(Consent::new(now));
        Ok(self.prove(pair.at, path, nomination, index.unwrap_or_default(), consent))
    }

    fn generation(&self, local: &str) -> Option<usize> {
        self.generations
            .iter()
            .rposition(|generation| generation.ufrag == local)
    }

    /// Remembers a valid check on a path without proof.
    fn claim(
        &mut self,
        now: Instant,
        path: Path,
        nomination: Option<u64>,
        contested: bool,
        [local, remote]: [&str; 2],
    ) -> PathChange {
        let known = self.unproved.iter().position(|pair| pair.path == path);
        let position = known.unwrap_or_else(|| {
            self.make_room();
            self.unproved.push(Unproved::new(path, now));
            self.unproved.len() - 1
        });
        let pair = &mut self.unproved[position];
        let changed = known.is_none() || pair.contested != contested;
        pair.contested = contested;
        pair.nomination = nomination.or(pair.nomination);
        pair.checked(now, local, remote);
        if changed {
            PathChange::Paths
        } else {
            PathChange::Nothing
        }
    }

    /// Remembers a proof on `path` of a check at `at` with credentials of generation `index`.
    fn prove(
        &mut self,
        at: Instant,
        path: Path,
        nomination: Option<u64>,
        index: usize,
        consent: Option<Consent>,
    ) -> PathChange {
        let state = |ice: &Ice| (ice.paths().collect::<Vec<_>>(), ice.proven.len(), ice.is_nominated());
        let before = state(self);
        self.unproved.retain(|pair| pair.path != path);
        match self.proven.iter_mut().find(|proven| proven.path == path) {
            Some(proven) => proven.at = at,
            None => {
                self.make_room();
                self.proven.push(Proven { path, at, consent });
            }
        }
        let is_left = |nominated: &Proven| {
            let is_silent = at.saturating_duration_since(nominated.at) >= SILENT;
            is_silent && nominated.path.remote.ip() != path.remote.ip()
        };
        // Answers may come in another order than the nominations.
        let nominated = nomination.filter(|number| *number > self.nominated);
        let is_moved = nominated.is_some() && self.is_nominated() && self.proven.first().is_some_and(is_left);
        if let Some(number) = nominated {
            let position = self.proven.iter().position(|proven| proven.path == path);
            self.proven[..=position.expect("just proved")].rotate_right(1);
            self.nominated = number;
            self.generations.drain(..index);
        }
        if state(self) == before {
            PathChange::Nothing
        } else if is_moved {
            PathChange::Moved
        } else {
            PathChange::Paths
        }
    }

    /// A peer that checks ever more pairs loses the stalest of its own, first those without proof.
    fn make_room(&mut self) {
        if self.proven.len() + self.unproved.len() < PATHS_MAX {
            return;
        }
        let stalest = (0..self.unproved.len()).min_by_key(|index| self.unproved[*index].at);
        if let Some(stalest) = stalest {
            self.unproved.remove(stalest);
            return;
        }
        let replaceable = usize::from(self.is_nominated());
        let stalest = (replaceable..self.proven.len()).min_by_key(|index| self.proven[*index].at);
        self.proven.remove(stalest.expect("more pairs than the nominated one"));
    }
}
