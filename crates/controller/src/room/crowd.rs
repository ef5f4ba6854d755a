//! Large rooms: what concerns everybody waits a moment for more of the same, so that one message tells it all.
//!
//! Who acts is served at once; everybody else hears of it, and is offered what came of it, with the next tick.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use livekit_protocol::ParticipantInfo;
use southbound::TrackId;

use super::Room;
use super::updates::update;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;

/// A room of more participants than this is large.
const LARGE_FROM: usize = 50;
/// How often everybody in a large room hears what is new.
const TICK: Duration = Duration::from_millis(200);

/// What waits for the next tick.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    due: Option<Instant>,
    news: BTreeMap<ParticipantKey, News>,
    touched: BTreeSet<ParticipantKey>,
    demanded: BTreeSet<TrackId>,
}

/// What there is to tell of a participant.
#[derive(Debug)]
enum News {
    /// How it is when it is told.
    Changed,
    /// That it left, in these words.
    Left(Box<ParticipantInfo>),
}

impl Room {
    pub(super) fn is_large(&self) -> bool {
        self.participants.len() > LARGE_FROM
    }

    /// Whoever this input is about, or comes from, is served at once even in a large room.
    pub(super) fn acts(&mut self, key: ParticipantKey) {
        self.actor = Some(key);
    }

    pub(super) fn tell_later(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.crowd.news.insert(key, News::Changed);
        self.expect_tick(ctx);
    }

    pub(super) fn tell_departure_later(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, info: ParticipantInfo) {
        self.crowd.news.insert(key, News::Left(Box::new(info)));
        self.expect_tick(ctx);
    }

    /// Leaves to the next tick what an input made necessary for others than who acted.
    pub(super) fn postpone(&mut self, ctx: &mut Context<'_>) {
        let actor = self.actor.take().filter(|actor| self.touched.remove(actor));
        if !self.is_large() {
            return self.touched.extend(actor);
        }
        self.crowd.touched.append(&mut self.touched);
        self.crowd.demanded.append(&mut self.demanded);
        self.touched.extend(actor);
        if !self.crowd.touched.is_empty() || !self.crowd.demanded.is_empty() {
            self.expect_tick(ctx);
        }
    }

    fn expect_tick(&mut self, ctx: &mut Context<'_>) {
        if self.crowd.due.is_none() {
            self.crowd.due = Some(ctx.wake(TICK, Timer::Room(self.key)));
        }
    }

    pub(super) fn tick_if_due(&mut self, ctx: &mut Context<'_>) {
        if self.crowd.due.is_none_or(|due| ctx.now < due) {
            return;
        }
        let Crowd {
            news,
            touched,
            demanded,
            ..
        } = std::mem::take(&mut self.crowd);
        let infos: Vec<_> = news
            .into_iter()
            .filter_map(|(key, news)| self.in_words(key, news))
            .collect();
        if !infos.is_empty() {
            self.broadcast_update(ctx, infos, None);
        }
        for key in touched {
            self.renegotiate(ctx, key);
        }
        for track in demanded {
            self.tell_demand(ctx, track);
        }
    }

    fn in_words(&self, key: ParticipantKey, news: News) -> Option<ParticipantInfo> {
        match news {
            News::Changed => self.participants.get(&key).map(|participant| participant.info()),
            News::Left(info) => Some(*info),
        }
    }

    /// Clients drop the tracks of whom they have not heard of. So one that is about to be sent a description hears before the tick
    /// what is new of those whose tracks it gets.
    pub(super) fn tell_publishers_first(&self, ctx: &mut Context<'_>, receiver: ParticipantKey) {
        let Some(participant) = self.participants.get(&receiver) else {
            return;
        };
        let concerns = |key: &&ParticipantKey| participant.subscriptions.include(**key);
        let changed = self.crowd.news.iter().filter(|(_, news)| matches!(news, News::Changed));
        let publishers = changed.map(|(key, _)| key).filter(concerns);
        let infos: Vec<_> = publishers
            .filter_map(|key| Some(self.participants.get(key)?.info()))
            .collect();
        if !infos.is_empty() {
            participant.send(ctx, update(infos));
        }
    }
}
