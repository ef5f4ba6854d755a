//! Updates to everybody that wait: in large rooms for more of the same, so that one message tells
//! it all; in rooms of any size until the account of an identity that changes all the time allows
//! another one ([`budgets`](super::budgets)).
//!
//! The participant that acts is served at once; the others hear of it, and are offered the tracks
//! that came of it, with the next tick.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use southbound::TrackId;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::UPDATE_BYTES;
use crate::participant::Participant;
use crate::room::roster::Roster;
use crate::room::updates::{Updates, broadcast};
use crate::{Notification, ParticipantInfo, ParticipantSnapshot};

/// How often everybody in a large room hears what is new.
const TICK: Duration = Duration::from_millis(200);

/// Updates that wait for the next tick.
#[derive(Debug, Default)]
pub(in crate::room) struct Batch {
    due: Option<Instant>,
    news: BTreeMap<ParticipantKey, News>,
    negotiations: BTreeSet<ParticipantKey>,
    demands: BTreeSet<TrackId>,
}

/// The work that a tick releases.
#[derive(Debug)]
pub(in crate::room) struct Tick {
    /// Participants that may be received from now on.
    pub(in crate::room) released: Vec<ParticipantKey>,
    /// Participants that others heard of, or would have.
    pub(in crate::room) told: Vec<ParticipantKey>,
    /// Participants whose subscriptions changed.
    pub(in crate::room) negotiations: BTreeSet<ParticipantKey>,
    /// Tracks of which more or less may be wanted since.
    pub(in crate::room) demands: BTreeSet<TrackId>,
}

/// News of a participant.
#[derive(Debug)]
enum News {
    /// How it is when it is told.
    Changed {
        /// Nobody begins to receive it before it is told: it changes too often, and each new
        /// receiver would have to hear of it first.
        held: bool,
    },
    /// That it left, in these words.
    Left(Box<ParticipantInfo>),
}

impl Updates {
    /// Whether others hear later of what this participant does now.
    pub(in crate::room) fn is_told_later(&self, ctx: &Context<'_>, roster: &Roster, identity: &str) -> bool {
        // News of one identity stay in order, also from one stay to the next.
        let mut waiting = self.batch.news.iter();
        roster.is_large()
            || self.news_open_at(ctx, identity).is_some()
            || waiting.any(|(key, news)| Self::is_about(roster, *key, news, identity))
    }

    fn is_about(roster: &Roster, key: ParticipantKey, news: &News, identity: &str) -> bool {
        match news {
            News::Changed { .. } => roster.get(key).is_some_and(|found| found.profile.identity == identity),
            News::Left(info) => info.identity == identity,
        }
    }

    pub(in crate::room) fn tell_later(&mut self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
        let Some(participant) = roster.get(key) else {
            return;
        };
        let opens = self.news_open_at(ctx, &participant.profile.identity);
        let held = opens.is_some() || self.is_held(key);
        self.batch.news.insert(key, News::Changed { held });
        self.expect_tick(ctx, roster, opens);
    }

    pub(in crate::room) fn tell_departure_later(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        key: ParticipantKey,
        mut info: ParticipantInfo,
    ) {
        let opens = self.news_open_at(ctx, &info.identity);
        if opens.is_some() {
            // One that comes and goes all the time would leave copies of its texts behind.
            (info.metadata, info.attributes) = Default::default();
        }
        self.batch.news.insert(key, News::Left(Box::new(info)));
        self.expect_tick(ctx, roster, opens);
    }

    /// Whether nobody begins to receive this participant yet.
    pub(in crate::room) fn is_held(&self, key: ParticipantKey) -> bool {
        matches!(self.batch.news.get(&key), Some(News::Changed { held: true }))
    }

    /// Whether others are still to hear how this participant is now.
    pub(in crate::room) fn has_news(&self, key: ParticipantKey) -> bool {
        self.batch.news.contains_key(&key)
    }

    /// Leaves to the next tick what an input made necessary.
    pub(in crate::room) fn postpone(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        (mut negotiations, mut demands): (BTreeSet<ParticipantKey>, BTreeSet<TrackId>),
    ) {
        self.batch.negotiations.append(&mut negotiations);
        self.batch.demands.append(&mut demands);
        if roster.is_large() && !(self.batch.negotiations.is_empty() && self.batch.demands.is_empty()) {
            self.expect_tick(ctx, roster, None);
        }
    }

    /// The next tick, and not before `earliest` if it is only for that.
    fn expect_tick(&mut self, ctx: &mut Context<'_>, roster: &Roster, earliest: Option<Instant>) {
        let at = earliest.map_or(ctx.now + TICK, |earliest| earliest.max(ctx.now + TICK));
        if self.batch.due.is_none_or(|due| at < due) {
            self.batch.due = Some(ctx.wake(at - ctx.now, roster.timer()));
        }
    }

    /// Tells what waits, if it is time.
    pub(in crate::room) fn tick_if_due(&mut self, ctx: &mut Context<'_>, roster: &Roster) -> Option<Tick> {
        if self.batch.due.is_none_or(|due| ctx.now < due) {
            return None;
        }
        let Batch {
            news,
            negotiations,
            demands,
            ..
        } = std::mem::take(&mut self.batch);
        let told = news.keys().copied().collect();
        Some(Tick {
            released: self.tell_news(ctx, roster, news),
            told,
            negotiations,
            demands,
        })
    }

    /// Tells what may be told now; the rest waits on. Returns those who may be received from now
    /// on.
    fn tell_news(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        news: BTreeMap<ParticipantKey, News>,
    ) -> Vec<ParticipantKey> {
        let (mut infos, mut len, mut released) = (Vec::new(), 0, Vec::new());
        for (key, news) in news {
            let Some(info) = Self::in_words(ctx, roster, key, &news) else {
                continue;
            };
            if let Some(opens) = self.news_open_at(ctx, &info.identity) {
                self.batch.news.insert(key, news);
                self.expect_tick(ctx, roster, Some(opens));
                continue;
            }
            released.extend(matches!(news, News::Changed { held: true }).then_some(key));
            let size = info.told_len();
            self.charge_news(ctx, roster, &info.identity, size);
            if len + size > UPDATE_BYTES && !infos.is_empty() {
                broadcast(ctx, roster, std::mem::take(&mut infos), None);
                len = 0;
            }
            infos.push(info);
            len += size;
        }
        if !infos.is_empty() {
            broadcast(ctx, roster, infos, None);
        }
        released
    }

    fn in_words(ctx: &Context<'_>, roster: &Roster, key: ParticipantKey, news: &News) -> Option<ParticipantSnapshot> {
        match news {
            News::Changed { .. } => {
                let found = roster.get(key);
                found
                    .filter(|found| found.is_visible(ctx.core.config.visible))
                    .map(Participant::snapshot)
            }
            News::Left(info) => Some((**info).clone().into()),
        }
    }

    /// Clients drop the tracks of whom they have not heard of. So one that is about to be sent a
    /// description hears before the tick what is new of those whose tracks it gets.
    pub(in crate::room) fn tell_publishers_first(
        &self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        receiver: ParticipantKey,
    ) {
        let Some(participant) = roster.get(receiver) else {
            return;
        };
        let concerns = |key: &&ParticipantKey| participant.subscriptions.include(**key);
        let changed = self
            .batch
            .news
            .iter()
            .filter(|(_, news)| matches!(news, News::Changed { held: false }));
        let publishers = changed.map(|(key, _)| key).filter(concerns);
        let infos: Vec<_> = publishers
            .filter_map(|key| Some(roster.get(*key)?.snapshot()))
            .collect();
        if !infos.is_empty() {
            participant.notify(ctx, Notification::Participants(infos));
        }
    }
}
