//! Updates to everybody that wait: in large rooms for more of the same, so that one message tells
//! it all; in rooms of any size until the account of an identity that changes all the time allows
//! another one ([`budgets`](super::budgets)).
//!
//! The participant that acts is served at once; the others hear of it, and are offered the tracks
//! that came of it, with the next tick.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use southbound::TrackId;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::UPDATE_BYTES;
use crate::participant::Participant;
use crate::room::Room;
use crate::{Notification, ParticipantInfo, ParticipantSnapshot};

/// A room of more participants than this is large.
const LARGE_FROM: usize = 50;
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

impl Room {
    pub(in crate::room) fn is_large(&self) -> bool {
        self.participants.len() > LARGE_FROM
    }

    /// The participant that this input is about, or comes from, is served at once even in a large
    /// room.
    pub(in crate::room) fn acts(&mut self, key: ParticipantKey) {
        self.pending.actor = Some(key);
    }

    /// Whether others hear later of what this participant does now.
    pub(in crate::room) fn is_told_later(&self, ctx: &Context<'_>, identity: &str) -> bool {
        // News of one identity stay in order, also from one stay to the next.
        let mut waiting = self.membership.batch.news.iter();
        self.is_large()
            || self.news_open_at(ctx, identity).is_some()
            || waiting.any(|(key, news)| self.is_about(*key, news, identity))
    }

    fn is_about(&self, key: ParticipantKey, news: &News, identity: &str) -> bool {
        match news {
            News::Changed { .. } => self
                .participants
                .get(&key)
                .is_some_and(|found| found.identity == identity),
            News::Left(info) => info.identity == identity,
        }
    }

    pub(in crate::room) fn tell_later(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        let opens = self.news_open_at(ctx, &participant.identity);
        let held = opens.is_some() || self.is_held(key);
        self.membership.batch.news.insert(key, News::Changed { held });
        self.expect_tick(ctx, opens);
    }

    pub(in crate::room) fn tell_departure_later(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        mut info: ParticipantInfo,
    ) {
        let opens = self.news_open_at(ctx, &info.identity);
        if opens.is_some() {
            // One that comes and goes all the time would leave copies of its texts behind.
            (info.metadata, info.attributes) = Default::default();
        }
        self.membership.batch.news.insert(key, News::Left(Box::new(info)));
        self.expect_tick(ctx, opens);
    }

    /// Whether nobody begins to receive this participant yet.
    pub(in crate::room) fn is_held(&self, key: ParticipantKey) -> bool {
        matches!(self.membership.batch.news.get(&key), Some(News::Changed { held: true }))
    }

    /// Whether others are still to hear how this participant is now.
    pub(in crate::room) fn has_news(&self, key: ParticipantKey) -> bool {
        self.membership.batch.news.contains_key(&key)
    }

    /// Leaves to the next tick what an input made necessary for others than who acted.
    pub(in crate::room) fn postpone(&mut self, ctx: &mut Context<'_>) {
        let actor = self
            .pending
            .actor
            .take()
            .filter(|actor| self.pending.negotiations.remove(actor));
        if !self.is_large() {
            return self.pending.negotiations.extend(actor);
        }
        self.membership
            .batch
            .negotiations
            .append(&mut self.pending.negotiations);
        self.membership.batch.demands.append(&mut self.pending.demands);
        self.pending.negotiations.extend(actor);
        if !self.membership.batch.negotiations.is_empty() || !self.membership.batch.demands.is_empty() {
            self.expect_tick(ctx, None);
        }
    }

    /// The next tick, and not before `earliest` if it is only for that.
    fn expect_tick(&mut self, ctx: &mut Context<'_>, earliest: Option<Instant>) {
        let at = earliest.map_or(ctx.now + TICK, |earliest| earliest.max(ctx.now + TICK));
        if self.membership.batch.due.is_none_or(|due| at < due) {
            self.membership.batch.due = Some(ctx.wake(at - ctx.now, Timer::Room(self.key)));
        }
    }

    pub(in crate::room) fn tick_if_due(&mut self, ctx: &mut Context<'_>) {
        if self.membership.batch.due.is_none_or(|due| ctx.now < due) {
            return;
        }
        let Batch {
            news,
            negotiations,
            demands,
            ..
        } = std::mem::take(&mut self.membership.batch);
        let told: Vec<_> = news.keys().copied().collect();
        let released = self.tell_news(ctx, news);
        for key in released {
            let tracks: Vec<_> = self.participants[&key].tracks.keys().copied().collect();
            for track in tracks {
                self.offer_to_everybody(ctx, key, track);
            }
        }
        for key in told {
            self.tell_track_permissions_of(ctx, key);
        }
        for key in negotiations {
            self.renegotiate(ctx, key);
        }
        for track in demands {
            self.tell_demand(ctx, track);
        }
    }

    /// Tells what may be told now; the rest waits on. Returns those who may be received from now
    /// on.
    fn tell_news(&mut self, ctx: &mut Context<'_>, news: BTreeMap<ParticipantKey, News>) -> Vec<ParticipantKey> {
        let (mut infos, mut len, mut released) = (Vec::new(), 0, Vec::new());
        for (key, news) in news {
            let Some(info) = self.in_words(ctx, key, &news) else {
                continue;
            };
            if let Some(opens) = self.news_open_at(ctx, &info.identity) {
                self.membership.batch.news.insert(key, news);
                self.expect_tick(ctx, Some(opens));
                continue;
            }
            released.extend(matches!(news, News::Changed { held: true }).then_some(key));
            let size = info.told_len();
            self.charge_news(ctx, &info.identity, size);
            if len + size > UPDATE_BYTES && !infos.is_empty() {
                self.broadcast_update(ctx, std::mem::take(&mut infos), None);
                len = 0;
            }
            infos.push(info);
            len += size;
        }
        if !infos.is_empty() {
            self.broadcast_update(ctx, infos, None);
        }
        released
    }

    fn in_words(&self, ctx: &Context<'_>, key: ParticipantKey, news: &News) -> Option<ParticipantSnapshot> {
        match news {
            News::Changed { .. } => {
                let found = self.participants.get(&key);
                found
                    .filter(|found| found.is_visible(ctx.core.config.visible))
                    .map(Participant::snapshot)
            }
            News::Left(info) => Some((**info).clone().into()),
        }
    }

    /// Clients drop the tracks of whom they have not heard of. So one that is about to be sent a
    /// description hears before the tick what is new of those whose tracks it gets.
    pub(in crate::room) fn tell_publishers_first(&self, ctx: &mut Context<'_>, receiver: ParticipantKey) {
        let Some(participant) = self.participants.get(&receiver) else {
            return;
        };
        let concerns = |key: &&ParticipantKey| participant.subscriptions.include(**key);
        let changed = self
            .membership
            .batch
            .news
            .iter()
            .filter(|(_, news)| matches!(news, News::Changed { held: false }));
        let publishers = changed.map(|(key, _)| key).filter(concerns);
        let infos: Vec<_> = publishers
            .filter_map(|key| Some(self.participants.get(key)?.snapshot()))
            .collect();
        if !infos.is_empty() {
            participant.notify(ctx, Notification::Participants(infos));
        }
    }
}
