//! One room: who is in it and who gets what from whom.

pub(crate) mod data;
mod events;
mod lifetime;
mod membership;
pub(crate) mod moving;
mod negotiating;
mod notices;
mod profile;
mod publishing;
mod quality;
mod requests;
pub(crate) mod roster;
mod speaking;
mod subscribing;
pub(crate) mod takeover;
pub(crate) mod timeline;
mod tracks;
pub(crate) mod trunking;
pub(crate) mod trunks;
mod updates;

use std::time::Instant;

use southbound::AudioActivity;

use self::data::{Arrived, Data, Messages};
use self::lifetime::Lifetime;
use self::membership::protocols::Protocols;
use self::profile::RoomProfile;
use self::publishing::Publications;
use self::roster::Roster;
use self::speaking::Speaking;
use self::subscribing::Subscribers;
use self::updates::Updates;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::{DataMessage, RoomInfo, UpdateSubscription};

/// One room.
pub(crate) struct Room {
    profile: RoomProfile,
    lifetime: Lifetime,
    roster: Roster,
    publications: Publications,
    subscribers: Subscribers,
    data: Data,
    updates: Updates,
    /// The protocols that participants chose for their next connections, by identity.
    protocols: Protocols,
    speaking: Speaking,
}

impl Room {
    pub(crate) fn new(ctx: &mut Context<'_>, api_key: &str) -> Self {
        let account = ctx.core.storage.account(api_key);
        let data_account = ctx.core.data_storage.account(api_key);
        let roster = Roster::new(ctx.core.ids.room(), account.clone(), ctx.core.config.participants_max);
        Self {
            profile: RoomProfile::new(ctx, api_key, account),
            lifetime: Lifetime::new(ctx.now, &ctx.core.config),
            roster,
            publications: Publications::default(),
            subscribers: Subscribers::default(),
            data: Data::new(data_account),
            updates: Updates::default(),
            protocols: Protocols::default(),
            speaking: Speaking::new(ctx.core.config.voices),
        }
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    pub(crate) fn roster_mut(&mut self) -> &mut Roster {
        &mut self.roster
    }

    pub(crate) fn profile(&self) -> &RoomProfile {
        &self.profile
    }

    /// Does what the input that was just handled made necessary: offers and requests for media
    /// sections, one for all changes, and word to publishers of what is wanted of them.
    pub(crate) fn settle(&mut self, ctx: &mut Context<'_>) {
        let postponed = self.subscribers.postponed(self.roster.is_large());
        self.updates.postpone(ctx, &self.roster, postponed);
        self.subscribers.settle(ctx, &mut self.roster, &self.updates);
        self.subscribers.trunking.settle(ctx, &self.roster);
        self.data.settle(ctx, &mut self.roster);
    }

    pub(crate) fn info(&self) -> RoomInfo {
        self.profile.info(&self.lifetime, &self.roster)
    }

    /// A participant sent a message.
    pub(crate) fn take_data(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        data: Option<Box<DataMessage>>,
        message: Arrived,
    ) {
        self.subscribers.acts(key);
        self.data.take(ctx, &mut self.roster, key, data, message);
    }

    /// Messages of others than its participants.
    pub(crate) fn messages(&mut self) -> Messages<'_> {
        self.data.messages(&mut self.roster)
    }

    /// A client, or an administrator for it, asks for tracks, or asks not to have them.
    pub(crate) fn update_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        request: UpdateSubscription,
    ) {
        self.subscribers.update_subscription(
            ctx,
            &mut self.roster,
            &self.updates,
            &self.publications,
            receiver,
            request,
        );
    }

    /// Takes the audio levels of this room's tracks in the last interval.
    pub(crate) fn take_audio(&mut self, ctx: &mut Context<'_>, heard: &[(ParticipantKey, AudioActivity)]) {
        self.speaking.take_audio(ctx, &self.roster, heard);
    }

    /// Whether an identity comes in more often than the size of the room permits.
    pub(crate) fn is_greeted_too_often(&self, now: Instant, identity: &str) -> bool {
        self.updates.is_greeted_too_often(now, identity)
    }

    /// Tells the agent the limits of downlinks, where they are others than before.
    pub(crate) fn limit_downlinks(&mut self, ctx: &mut Context<'_>, concerns: impl Fn(&str) -> bool) {
        for participant in self
            .roster
            .all_mut()
            .filter(|found| concerns(&found.authorization.api_key))
        {
            participant.limit_downlink(ctx);
        }
    }
}
