//! One room: who is in it and who gets what from whom.

pub(crate) mod data;
mod events;
mod lifetime;
mod membership;
mod negotiating;
mod notices;
mod profile;
mod publishing;
mod quality;
mod requests;
pub(crate) mod roster;
mod speaking;
mod subscribing;
mod tracks;
mod updates;

use std::time::Instant;

use southbound::{AudioActivity, MessageId, TransportId};

use self::data::Data;
use self::lifetime::Lifetime;
use self::membership::protocols::Protocols;
use self::negotiating::renegotiate;
use self::profile::RoomProfile;
use self::publishing::{Publications, tell_demand};
use self::roster::Roster;
pub(crate) use self::roster::texts_len;
use self::speaking::Speaking;
use self::subscribing::Subscribers;
use self::updates::Updates;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::{AdminError, AdminRequestId, Config, DataMessage, PerformRpc, RoomInfo, UpdateSubscription};

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
    pub(crate) fn new(ctx: &mut Context<'_>, name: String, api_key: &str) -> Self {
        let account = ctx.core.storage.account(api_key);
        let data_account = ctx.core.data_storage.account(api_key);
        let roster = Roster::new(ctx.core.ids.room(), account.clone());
        Self {
            profile: RoomProfile::new(ctx, name, api_key, account),
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

    pub(crate) fn profile(&self) -> &RoomProfile {
        &self.profile
    }

    /// Does what the input that was just handled made necessary: offers and requests for media
    /// sections, one for all changes, and word to publishers of what is wanted of them.
    pub(crate) fn settle(&mut self, ctx: &mut Context<'_>) {
        let postponed = self.subscribers.postponed(self.roster.is_large());
        self.updates.postpone(ctx, &self.roster, postponed);
        while let Some(key) = self.subscribers.next_negotiation() {
            renegotiate(ctx, &mut self.roster, &self.updates, key);
        }
        while let Some(track) = self.subscribers.next_demand() {
            tell_demand(ctx, &mut self.roster, track);
        }
    }

    /// Tells everybody else how a participant is now.
    fn announce(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        self.updates.announce(ctx, &mut self.roster, key);
    }

    /// Tells everybody about the room now.
    fn tell_population(&mut self, ctx: &mut Context<'_>) {
        let info = self.info();
        self.updates.tell_population(ctx, &self.roster, info);
    }

    /// Does what waited for a tick, if it is time.
    fn tick_if_due(&mut self, ctx: &mut Context<'_>) {
        let Some(tick) = self.updates.tick_if_due(ctx, &self.roster) else {
            return;
        };
        for key in tick.released {
            let tracks: Vec<_> = self.roster[key].tracks.keys().copied().collect();
            for track in tracks {
                self.subscribers
                    .offer_to_everybody(ctx, &mut self.roster, &self.updates, key, track);
            }
        }
        for key in tick.told {
            self.subscribers
                .tell_track_permissions_of(ctx, &mut self.roster, &self.updates, key);
        }
        for key in tick.negotiations {
            renegotiate(ctx, &mut self.roster, &self.updates, key);
        }
        for track in tick.demands {
            tell_demand(ctx, &mut self.roster, track);
        }
    }

    /// Whether an identity comes in more often than the size of the room permits.
    pub(crate) fn is_greeted_too_often(&self, now: Instant, identity: &str) -> bool {
        self.updates.is_greeted_too_often(now, identity)
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
        message: MessageId,
    ) {
        self.subscribers.acts(key);
        self.data.take(ctx, &mut self.roster, key, data, message);
    }

    /// The same of a participant that has left since it sent it.
    pub(crate) fn take_last_data(
        &mut self,
        ctx: &mut Context<'_>,
        transport: TransportId,
        data: Option<Box<DataMessage>>,
        message: MessageId,
    ) {
        Data::take_last(ctx, &mut self.roster, transport, data, message);
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

    /// An administrator sends a message.
    pub(crate) fn send_data(&mut self, ctx: &mut Context<'_>, message: &DataMessage) {
        data::send(ctx, &mut self.roster, message);
    }

    /// Calls a method of a participant. The answer comes later.
    ///
    /// Errors: the call was not made.
    pub(crate) fn call(
        &mut self,
        ctx: &mut Context<'_>,
        to: ParticipantKey,
        request_id: AdminRequestId,
        request: PerformRpc,
    ) -> Result<(), AdminError> {
        self.data.calls.call(ctx, &mut self.roster, to, request_id, request)
    }

    /// Takes the audio levels of this room's tracks in the last interval.
    pub(crate) fn take_audio(&mut self, ctx: &mut Context<'_>, heard: &[(ParticipantKey, AudioActivity)]) {
        self.speaking.take_audio(ctx, &self.roster, heard);
    }

    /// Whether it takes nobody who is not in it.
    pub(crate) fn is_full(&self, config: &Config, is_dependent: bool) -> bool {
        self.roster
            .is_full(config, self.lifetime.participants_max, is_dependent)
    }

    /// Tells the agent the limits of downlinks, where they are others than before.
    pub(crate) fn limit_downlinks(&mut self, ctx: &mut Context<'_>, concerns: impl Fn(&str) -> bool) {
        for participant in self.roster.all_mut().filter(|found| concerns(&found.api_key)) {
            participant.limit_downlink(ctx);
        }
    }

    /// Whether the room has been empty for as long as rooms may be.
    pub(crate) fn is_over(&self, ctx: &Context<'_>) -> bool {
        self.lifetime.is_over(ctx.now)
    }
}
