//! One call: its parties, and the media between them.
//!
//! Both control protocols use it. A call has dialogues, pairs of parties: one to begin with, more
//! when it forks. A dialogue has media sections, and a section has two sides, one facing each
//! party. A side is a pair of our ports that the party sends to, the party's described address, and
//! the learned source of its packets.

mod agreement;
mod allocation;
mod check;
mod entries;
mod keying;
mod learning;
mod lifetime;
mod media;
mod negotiate;
mod security;
mod source;
mod target;
mod terms;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use environment::Random;
use southbound::relay::Entry;

use crate::config::Config;
use crate::counters::{Counter, Counters};
use crate::limits::{DIALOGUES_MAX, TAGS_MAX};
use crate::ports::PortPool;
use crate::sdp::Description;

pub(crate) use agreement::Agreement;
pub(crate) use allocation::Allocation;
pub(crate) use lifetime::{Check, Ending};
pub(crate) use media::{Component, Heard, Media, Offered, Policy, Side};
pub(crate) use negotiate::Role;
pub(crate) use security::Security;
pub(crate) use source::Source;
pub(crate) use target::Target;
pub(crate) use terms::{Dtls, Ice, Protocol, Sdes, SourceTerms, Terms};
#[cfg(test)]
pub(crate) use terms::{Mux, Replace};
pub(crate) use write::Identity;

/// A call-id.
pub(crate) type CallName = Arc<[u8]>;

/// The parts of the relay that a call uses.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a Config,
    pub(crate) ports: &'a mut PortPool,
    pub(crate) random: &'a mut Random,
    /// The relay's name in descriptions, so that one does not pass through it twice.
    pub(crate) instance: &'a str,
    pub(crate) counters: &'a mut Counters,
}

/// Why a request was refused. The proxy must act, and for [`NoPorts`](Refused::NoPorts) and
/// [`Full`](Refused::Full) the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no such call, or nobody of that tag in it.
    Unknown,
    /// The description lacks an address.
    NoAddress,
    /// Media must not be sent to an address that it names.
    Address,
    /// Protection that is needed cannot be had: no suite in common, or no certificate of ours.
    Keys,
    /// No port is free.
    NoPorts,
    /// There are too many calls, or parties in this one.
    Full,
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) created: Instant,
    pub(crate) last_signal: Instant,
    /// When an earlier process's call was resumed here: the ports do not know of earlier packets.
    pub(crate) resumed: Option<Instant>,
    pub(crate) metadata: Option<Vec<u8>>,
    pub(crate) dialogues: Vec<Dialogue>,
    /// Our addresses that are in use in the data plane.
    pub(crate) open: BTreeSet<SocketAddr>,
    /// The entries it was ordered to install.
    pub(crate) installed: BTreeMap<SocketAddr, Entry>,
    /// Whether it is really as silent as it seems.
    pub(crate) check: Check,
    /// The names of flags that the operator was warned about.
    pub(crate) warned: BTreeSet<String>,
    /// The address of the party that began it, as holder of its ports.
    pub(crate) caller: Option<IpAddr>,
    /// Its next timeout, as listed in the relay.
    pub(crate) deadline: Option<Instant>,
}

/// Two parties and their media.
#[derive(Debug)]
pub(crate) struct Dialogue {
    /// The party that made the first offer, and the one that got it.
    pub(crate) ends: [End; 2],
    pub(crate) branch: Option<Vec<u8>>,
    /// The party that the first offer was for, where it had no branch.
    pub(crate) target: Option<Target>,
    pub(crate) media: Vec<Media>,
    /// The relayed media while a change of them is offered.
    pub(crate) agreement: Option<Agreement>,
    /// How many of them the last offer had.
    pub(crate) offered: usize,
    pub(crate) answered: bool,
    /// It is over, and kept until then.
    pub(crate) kept_until: Option<Instant>,
    /// The address and tag to notify of a timeout.
    pub(crate) notify: Option<(String, String)>,
    /// rtpproxy's reasons to keep it: a strong one, and a weak one for each party.
    pub(crate) strong: bool,
    pub(crate) weak: [bool; 2],
}

/// One party.
#[derive(Debug)]
pub(crate) struct End {
    /// Its tags; the last one is valid. None until it has answered.
    pub(crate) tags: Vec<Vec<u8>>,
    pub(crate) created: Instant,
    pub(crate) label: Option<Vec<u8>>,
    pub(crate) interface: usize,
    /// The origin and session lines of the first description sent to it.
    pub(crate) identity: Option<Identity>,
}

/// The parties of a request: sender, receiver and branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) from: &'a [u8],
    pub(crate) to: Option<&'a [u8]>,
    pub(crate) branch: Option<&'a [u8]>,
}

/// A party in a call: which dialogue, and which end of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) dialogue: usize,
    pub(crate) end: usize,
}

/// The effect of a request to end a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndResult {
    /// Something it is about.
    pub(crate) any: bool,
    /// Whether it ended the last dialogue that was alive.
    pub(crate) ended: bool,
}

impl End {
    pub(crate) fn new(now: Instant, tag: Option<&[u8]>, interface: usize) -> Self {
        let tags = tag.into_iter().map(<[u8]>::to_vec).collect();
        Self {
            tags,
            created: now,
            label: None,
            interface,
            identity: None,
        }
    }

    pub(crate) fn tag(&self) -> Option<&[u8]> {
        self.tags.last().map(Vec::as_slice)
    }

    pub(crate) fn is(&self, tag: &[u8]) -> bool {
        self.tags.iter().any(|known| known == tag)
    }

    /// This is its tag from now on.
    fn rename(&mut self, tag: &[u8]) {
        self.tags.retain(|known| known != tag);
        self.tags.push(tag.to_vec());
        if self.tags.len() > TAGS_MAX {
            self.tags.remove(0);
        }
    }
}

impl Dialogue {
    pub(crate) fn new(ends: [End; 2], branch: Option<&[u8]>) -> Self {
        Self {
            ends,
            branch: branch.map(<[u8]>::to_vec),
            target: None,
            media: Vec::new(),
            agreement: None,
            offered: 0,
            answered: false,
            kept_until: None,
            notify: None,
            strong: false,
            weak: [false; 2],
        }
    }

    /// A request about the dialogue arrived. A dialogue that is over continues after a late answer,
    /// and starts anew with an offer.
    pub(crate) fn resume(&mut self, role: Role) {
        self.answered = role == Role::Answer || self.answered && !self.is_over();
        self.kept_until = None;
    }

    pub(crate) fn is_over(&self) -> bool {
        self.kept_until.is_some()
    }

    /// Whether a request of this branch may be about it. A request or a dialogue without one fits
    /// all.
    pub(crate) fn fits(&self, branch: Option<&[u8]>) -> bool {
        match (branch, &self.branch) {
            (Some(asked), Some(known)) => asked == known,
            _ => true,
        }
    }

    fn is_between(&self, names: &Names<'_>, end: usize) -> bool {
        let to_fits = names.to.is_none_or(|to| self.ends[1 - end].is(to));
        self.ends[end].is(names.from) && to_fits
    }
}

impl Call {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            created: now,
            last_signal: now,
            resumed: None,
            metadata: None,
            dialogues: Vec::new(),
            open: BTreeSet::new(),
            installed: BTreeMap::new(),
            check: Check::default(),
            warned: BTreeSet::new(),
            caller: None,
            deadline: None,
        }
    }

    /// The place of an offer: in an existing dialogue, or in a new one on these interfaces.
    pub(crate) fn place_of_offer(
        &mut self,
        names: &Names<'_>,
        interfaces: [usize; 2],
        target: Option<Target>,
        context: &mut Context<'_>,
    ) -> Result<Place, Refused> {
        // Offers to parties of different kinds are different branches, whether or not they say so.
        let target = target.filter(|_| names.to.is_none() && names.branch.is_none());
        let is_full = self.dialogues.len() == DIALOGUES_MAX;
        let is_for = |dialogue: &Dialogue| is_full || target.as_ref().is_none_or(|target| dialogue.is_for(target));
        let again = || names.to.is_none().then(|| self.offered_again(names, is_for)).flatten();
        let place = self.named(names).or_else(|| self.unanswered(names, is_for));
        if let Some(place) = place.or_else(again) {
            if let Some(to) = names.to {
                self.dialogues[place.dialogue].ends[1 - place.end].rename(to);
            }
            return Ok(place);
        }
        if self.dialogues.len() == DIALOGUES_MAX {
            context.counters.count(Counter::DialoguesFull);
            return Err(Refused::Full);
        }
        let [speaker, other] = interfaces;
        let ends = [
            End::new(context.now, Some(names.from), speaker),
            End::new(context.now, names.to, other),
        ];
        let dialogue = Dialogue::new(ends, names.branch);
        self.dialogues.push(Dialogue { target, ..dialogue });
        Ok(Place {
            dialogue: self.dialogues.len() - 1,
            end: 0,
        })
    }

    /// The place of an answer, where `to` is the answering party.
    ///
    /// When a call forks after the proxy, several parties answer one offer. They share the ports of
    /// that offer, so the last one gets them. Of several offers without branches the answer is to
    /// the one with its protocol.
    pub(crate) fn place_of_answer(&mut self, names: &Names<'_>, answer: Option<&Description<'_>>) -> Option<Place> {
        let to = names.to?;
        let likeness = |dialogue: &Dialogue, end: usize| {
            let likeness = answer.map_or(0, |answer| dialogue.likeness(1 - end, answer));
            (likeness, dialogue.ends[1 - end].tags.is_empty())
        };
        let offered =
            |dialogue: &Dialogue, end: usize| dialogue.ends[end].is(names.from) && dialogue.fits(names.branch);
        let offerer = self.named(names).or_else(|| self.best(offered, likeness))?;
        self.dialogues[offerer.dialogue].ends[1 - offerer.end].rename(to);
        Some(Place {
            end: 1 - offerer.end,
            ..offerer
        })
    }

    /// The dialogues of a request to delete or to query, first those that are not over.
    pub(crate) fn places(&self, names: &Names<'_>) -> Vec<Place> {
        let fitting = self
            .all()
            .filter(|((dialogue, _), end)| dialogue.is_between(names, *end) && dialogue.fits(names.branch));
        let mut places: Vec<Place> = fitting.map(|((_, dialogue), end)| Place { dialogue, end }).collect();
        places.dedup_by_key(|place| place.dialogue);
        places.sort_by_key(|place| self.dialogues[place.dialogue].is_over());
        places
    }

    /// Ends those dialogues of a request, or of all, that may end; they are kept until
    /// `kept_until`. Dialogues that are over stay unchanged.
    pub(crate) fn end_where(
        &mut self,
        names: Option<&Names<'_>>,
        kept_until: Instant,
        may_end: impl Fn(&Dialogue) -> bool,
    ) -> EndResult {
        let about: Vec<usize> = match names {
            Some(names) => self.places(names).into_iter().map(|place| place.dialogue).collect(),
            None => (0..self.dialogues.len()).collect(),
        };
        let was_alive = self.dialogues.iter().any(|dialogue| !dialogue.is_over());
        for index in &about {
            let dialogue = &mut self.dialogues[*index];
            if may_end(dialogue) {
                dialogue.kept_until = dialogue.kept_until.or(Some(kept_until));
            }
        }
        let is_alive = self.dialogues.iter().any(|dialogue| !dialogue.is_over());
        EndResult {
            any: !about.is_empty(),
            ended: was_alive && !is_alive,
        }
    }

    /// Between the two of these tags.
    fn named(&self, names: &Names<'_>) -> Option<Place> {
        names.to?;
        self.best(|dialogue, end| dialogue.is_between(names, end), |_, _| ())
    }

    /// Offered by `from` and not answered by anybody yet.
    fn unanswered(&self, names: &Names<'_>, is_for: impl Fn(&Dialogue) -> bool) -> Option<Place> {
        let is_open = |dialogue: &Dialogue, end: usize| {
            dialogue.ends[end].is(names.from) && dialogue.ends[1 - end].tags.is_empty() && dialogue.fits(names.branch)
        };
        self.best(|dialogue, end| is_open(dialogue, end) && is_for(dialogue), |_, _| ())
    }

    /// A dialogue that `from` offered, with any answering party.
    fn offered_again(&self, names: &Names<'_>, is_for: impl Fn(&Dialogue) -> bool) -> Option<Place> {
        let offered =
            |dialogue: &Dialogue, end: usize| dialogue.ends[end].is(names.from) && dialogue.fits(names.branch);
        self.best(|dialogue, end| offered(dialogue, end) && is_for(dialogue), |_, _| ())
    }

    /// The best match, the last of several. One that is not over is better.
    fn best<Rank: Ord>(
        &self,
        fits: impl Fn(&Dialogue, usize) -> bool,
        rank: impl Fn(&Dialogue, usize) -> Rank,
    ) -> Option<Place> {
        let fitting = self.all().filter(|((dialogue, _), end)| fits(dialogue, *end));
        let best = fitting.max_by_key(|((dialogue, _), end)| (!dialogue.is_over(), rank(dialogue, *end)));
        best.map(|((_, dialogue), end)| Place { dialogue, end })
    }

    fn all(&self) -> impl Iterator<Item = ((&Dialogue, usize), usize)> {
        let numbered = self.dialogues.iter().zip(0..);
        numbered.flat_map(|numbered| [1, 0].map(|end| (numbered, end)))
    }
}
