//! Telling participants about each other.

mod accounts;
mod batching;
mod budgets;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use self::accounts::Accounts;
use self::batching::Batch;
pub(in crate::room) use self::batching::Tick;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::own_data::OwnDataTracks;
use crate::participant::Participant;
use crate::room::roster::Roster;
use crate::room::roster::notify_many;
use crate::{EndReason, Notification, ParticipantInfo, ParticipantSnapshot, ParticipantState, RoomInfo};

/// How long a change of numbers may wait for others.
const CENSUS_DELAY: Duration = Duration::from_secs(1);
/// The same in a large room, where they change all the time and matter less.
const CENSUS_DELAY_LARGE: Duration = Duration::from_secs(5);

/// Departures kept for those who are away.
const DEPARTED_MAX: usize = 256;

/// Updates of participants and of the room, as everybody is told of them.
#[derive(Debug, Default)]
pub(in crate::room) struct Updates {
    /// Those that wait for the next tick.
    batch: Batch,
    /// Those who left lately, for those who were away when they did.
    departed: VecDeque<(Instant, ParticipantInfo)>,
    /// How much the others may yet hear of each, by identity.
    news: Accounts,
    /// How much each may yet be told of the others by coming in.
    greetings: Accounts,
    /// When everybody is told how many are here; `None` while they know.
    census: Option<Instant>,
}

impl Updates {
    /// Tells everybody else how a participant is now.
    pub(in crate::room) fn announce(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
        let visible = ctx.core.config.visible;
        let Some(participant) = changed(roster, key).filter(|found| found.is_visible(visible)) else {
            return;
        };
        let identity = participant.profile.identity.clone();
        if self.is_told_later(ctx, roster, &identity) {
            return self.tell_later(ctx, roster, key);
        }
        let info = roster[key].snapshot();
        self.charge_news(ctx, roster, &identity, info.told_len());
        broadcast(ctx, roster, vec![info], Some(key));
    }

    /// Tells everybody how a participant is now, itself too and at once: it asked for the change
    /// and waits for it.
    pub(in crate::room) fn announce_to_all(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
        self.announce(ctx, roster, key);
        if let Some(participant) = roster.get(key) {
            participant.notify(ctx, Notification::Participants(vec![participant.snapshot()]));
        }
    }

    /// Somebody came or went. Everybody is told how many there are, once for all who come or go
    /// about the same time.
    pub(in crate::room) fn population_changed(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        if self.census.is_none() {
            let delay = if roster.is_large() {
                CENSUS_DELAY_LARGE
            } else {
                CENSUS_DELAY
            };
            self.census = Some(ctx.wake(delay, roster.timer()));
        }
    }

    /// Whether it is time to tell everybody about the room.
    pub(in crate::room) fn is_census_due(&self, now: Instant) -> bool {
        self.census.is_some_and(|due| due <= now)
    }

    /// Tells everybody about the room now.
    pub(in crate::room) fn tell_population(&mut self, ctx: &mut Context<'_>, roster: &Roster, info: RoomInfo) {
        self.census = None;
        notify_many(ctx, roster.all(), Notification::Room(info));
    }

    /// A participant has left the room, which has it no longer.
    pub(in crate::room) fn tell_departure(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        participant: &mut Participant,
        reason: EndReason,
    ) {
        participant.profile.state = ParticipantState::Disconnected;
        participant.profile.raise_version();
        participant.publications.tracks.clear();
        participant.data.tracks = OwnDataTracks::default();
        if participant.is_visible(ctx.core.config.visible) {
            let mut info = participant.info();
            info.disconnect_reason = Some(reason);
            self.tell_gone(ctx, roster, participant.key, info);
        }
    }

    /// To the others, one that they no longer see has left.
    pub(in crate::room) fn tell_disappearance(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
    ) {
        if let Some(participant) = roster.get_mut(key) {
            participant.profile.raise_version();
            let mut info = participant.info();
            info.tracks.clear();
            info.data_tracks.clear();
            info.state = ParticipantState::Disconnected;
            self.tell_gone(ctx, roster, key, info);
        }
    }

    /// To the others, a participant is gone, in these words.
    fn tell_gone(&mut self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, info: ParticipantInfo) {
        if self.is_told_later(ctx, roster, &info.identity) {
            self.tell_departure_later(ctx, roster, key, info.clone());
        } else {
            self.charge_news(ctx, roster, &info.identity, info.told_len());
            broadcast(ctx, roster, vec![info.clone().into()], Some(key));
        }
        if self.departed.len() == DEPARTED_MAX {
            self.departed.pop_front();
        }
        // Participants that were away need to know who is gone, and not its last metadata.
        let gone = ParticipantInfo {
            metadata: String::new(),
            attributes: BTreeMap::new(),
            ..info
        };
        self.departed.push_back((ctx.now, gone));
    }

    /// Tells one that comes back how everybody is, and who left while it was away.
    pub(in crate::room) fn tell_missed(
        &self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        key: ParticipantKey,
        away_since: Instant,
    ) {
        let visible = roster
            .all()
            .filter(|other| other.key == key || other.is_visible(ctx.core.config.visible));
        let mut infos: Vec<_> = visible.map(Participant::snapshot).collect();
        for (_, info) in self.departed.iter().filter(|(at, _)| *at >= away_since) {
            if !infos.iter().any(|known| known.identity == info.identity) {
                infos.push(info.clone().into());
            }
        }
        roster[key].notify(ctx, Notification::Participants(infos));
    }
}

fn changed(roster: &mut Roster, key: ParticipantKey) -> Option<&Participant> {
    let participant = roster.get_mut(key)?;
    participant.profile.raise_version();
    participant.weigh();
    Some(participant)
}

pub(in crate::room) fn broadcast(
    ctx: &mut Context<'_>,
    roster: &Roster,
    infos: Vec<ParticipantSnapshot>,
    except: Option<ParticipantKey>,
) {
    let others = roster.all().filter(|found| Some(found.key) != except);
    notify_many(ctx, others, Notification::Participants(infos));
}
