//! Who gets which track.

use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    SubscriptionError, SubscriptionPermission, SubscriptionPermissionUpdate, SubscriptionResponse, TrackSubscribed,
    UpdateSubscription, UpdateTrackSettings,
};
use southbound::{Command, SubscriptionId, TrackId};
use wire::Mid;
use wire::sdp::Msid;

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{PERMISSIONS_MAX, REQUEST_TRACKS_MAX, SUBSCRIPTIONS_MAX};
use crate::negotiation::{Downlink, Peer, Usage, codecs};
use crate::participant::{Audience, Participant};
use crate::subscription::{Settings, Subscription, SubscriptionState};
use crate::track::Track;

impl Room {
    /// A newcomer gets what everybody publishes, as far as it wants and may.
    pub(super) fn subscribe_to_everybody(&mut self, ctx: &mut Context<'_>, receiver: ParticipantKey) {
        let tracks: Vec<_> = self
            .participants
            .values()
            .flat_map(|publisher| publisher.tracks.keys().map(|track| (publisher.key, *track)))
            .collect();
        for (publisher, track) in tracks {
            self.reconcile(ctx, receiver, publisher, track);
        }
    }

    /// A new track goes to everybody who wants and may have it.
    pub(super) fn offer_to_everybody(&mut self, ctx: &mut Context<'_>, publisher: ParticipantKey, track: TrackId) {
        for receiver in self.others(publisher) {
            self.reconcile(ctx, receiver, publisher, track);
        }
    }

    /// Begins or ends a subscription, whichever brings it to how it should be.
    fn reconcile(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        let Some(existing) = self
            .participants
            .get(&receiver)
            .map(|found| found.subscription_to(track).map(|found| found.id))
        else {
            return;
        };
        match (self.should_have(receiver, publisher, track), existing) {
            (true, None) => self.begin_subscription(ctx, receiver, publisher, track),
            (false, Some(subscription)) => self.end_subscription(ctx, receiver, subscription),
            _ => {}
        }
    }

    fn should_have(&self, receiver: ParticipantKey, publisher: ParticipantKey, track: TrackId) -> bool {
        let (Some(to), Some(from)) = (self.participants.get(&receiver), self.participants.get(&publisher)) else {
            return false;
        };
        let Some(track) = from.tracks.get(&track).filter(|track| track.arrival.is_some()) else {
            return false;
        };
        let wished = to.wishes.get(track.sid()).copied().unwrap_or(to.auto_subscribe);
        let allowed = to.permission.subscribe && from.audience.admits(&to.identity, track.sid());
        wished && allowed && receiver != publisher && !from.permission.hidden
    }

    fn begin_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        let Some(kind) = self
            .participants
            .get(&publisher)
            .and_then(|found| found.tracks.get(&track))
            .map(|track| track.kind)
        else {
            return;
        };
        let place = self.place(receiver);
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        if participant.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return ctx.count(crate::Counter::LimitExceeded);
        }
        let id = ctx.core.ids.subscription();
        let settings = Settings::default();
        let subscription = Subscription {
            id,
            track,
            publisher,
            kind,
            settings,
            state: SubscriptionState::Waiting,
        };
        participant.subscriptions.insert(id, subscription);
        ctx.core.index.subscriptions.insert(id, place);
        self.touched.insert(receiver);
    }

    pub(super) fn end_subscription(&mut self, ctx: &mut Context<'_>, receiver: ParticipantKey, id: SubscriptionId) {
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.remove(&id) else {
            return;
        };
        ctx.core.index.subscriptions.remove(&id);
        if let SubscriptionState::Active(_) = subscription.state {
            ctx.command(Command::Unsubscribe { subscription: id });
        }
        release(participant, id);
        self.touched.insert(receiver);
    }

    /// The agent ends the subscriptions of a track that ends, so there is nothing to tell it.
    pub(super) fn end_subscriptions_to(&mut self, ctx: &mut Context<'_>, track: TrackId) {
        for (key, participant) in &mut self.participants {
            let Some(id) = participant.subscription_to(track).map(|found| found.id) else {
                continue;
            };
            participant.subscriptions.remove(&id);
            ctx.core.index.subscriptions.remove(&id);
            release(participant, id);
            self.touched.insert(*key);
        }
    }

    /// A track arrives differently now: what its receivers were told to translate it to has changed with it.
    pub(super) fn refresh_subscriptions_to(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        for receiver in self.others(publisher) {
            let found = self
                .participants
                .get(&receiver)
                .and_then(|found| found.subscription_to(track))
                .map(|found| found.id);
            if let Some(subscription) = found {
                self.send_subscription(ctx, receiver, subscription);
            }
        }
    }

    /// Gives waiting subscriptions the sections that are free for them, on a peer connection where we may only use what the client offered,
    /// or new ones where we offer. Returns those that found one.
    pub(super) fn place_subscriptions(&mut self, receiver: ParticipantKey, may_add: bool) -> Vec<SubscriptionId> {
        let Some(participant) = self.participants.get(&receiver) else {
            return Vec::new();
        };
        let waiting = participant
            .subscriptions
            .values()
            .filter(|found| found.state == SubscriptionState::Waiting);
        let waiting: Vec<_> = waiting.cloned().collect();
        let mut placed = Vec::new();
        for subscription in waiting {
            let Some(publisher) = self.participants.get(&subscription.publisher) else {
                continue;
            };
            let Some(track) = publisher.tracks.get(&subscription.track) else {
                continue;
            };
            let participant = &self.participants[&receiver];
            let (msid, cname, track_sid) = (
                msid(publisher, track, participant),
                publisher.sid.clone(),
                track.sid().to_owned(),
            );
            let participant = self.participants.get_mut(&receiver).expect("it was there a moment ago");
            let Some(peer) = participant.downlink_mut() else {
                continue;
            };
            let (ssrc, repair) = (peer.ssrcs.next(), peer.ssrcs.next());
            let slot = if may_add {
                Some(peer.section_for(subscription.kind))
            } else {
                peer.slots.iter_mut().find(|slot| slot.is_free_for(subscription.kind))
            };
            let Some(slot) = slot else { continue };
            let mid = slot.mid;
            slot.usage = Usage::Down(Downlink {
                subscription: subscription.id,
                ssrc,
                repair,
                msid,
                cname,
                track_sid,
            });
            if let Some(subscription) = participant.subscriptions.get_mut(&subscription.id) {
                subscription.state = SubscriptionState::Offered(mid);
            }
            placed.push(subscription.id);
        }
        placed
    }

    /// Both sides agree on a subscription's section: the agent may send.
    pub(super) fn activate(&mut self, ctx: &mut Context<'_>, receiver: ParticipantKey, id: SubscriptionId) {
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(subscription) = participant.subscriptions.get_mut(&id) else {
            return;
        };
        let SubscriptionState::Offered(mid) = subscription.state else {
            return;
        };
        subscription.state = SubscriptionState::Active(mid);
        let (publisher, track) = (subscription.publisher, subscription.track);
        if !self.send_subscription(ctx, receiver, id) {
            return self.refuse_subscription(ctx, receiver, id);
        }
        let Some(publisher) = self.participants.get_mut(&publisher) else {
            return;
        };
        let Some(track) = publisher.tracks.get_mut(&track) else {
            return;
        };
        if !std::mem::replace(&mut track.subscribed, true) {
            let track_sid = track.sid().to_owned();
            publisher.send(ctx, Message::TrackSubscribed(TrackSubscribed { track_sid }));
        }
    }

    /// The receiver cannot decode what the publisher sends. The wish is forgotten, or it would be tried for ever.
    pub(super) fn refuse_subscription(&mut self, ctx: &mut Context<'_>, receiver: ParticipantKey, id: SubscriptionId) {
        let Some((publisher, track)) = self
            .participants
            .get(&receiver)
            .and_then(|participant| participant.subscriptions.get(&id))
            .map(|subscription| (subscription.publisher, subscription.track))
        else {
            return;
        };
        let track_sid = self
            .participants
            .get(&publisher)
            .and_then(|found| found.tracks.get(&track))
            .map(|track| track.sid().to_owned())
            .unwrap_or_default();
        self.end_subscription(ctx, receiver, id);
        let participant = self.participants.get_mut(&receiver).expect("it was there a moment ago");
        participant.wishes.insert(track_sid.clone(), false);
        let err = SubscriptionError::SeCodecUnsupported.into();
        participant.send(
            ctx,
            Message::SubscriptionResponse(SubscriptionResponse { track_sid, err }),
        );
    }

    /// Tells the agent how a subscription is now; false when receiver and publisher have no codec in common.
    fn send_subscription(&self, ctx: &mut Context<'_>, receiver: ParticipantKey, id: SubscriptionId) -> bool {
        let Some(participant) = self.participants.get(&receiver) else {
            return true;
        };
        let Some(subscription) = participant.subscriptions.get(&id) else {
            return true;
        };
        let SubscriptionState::Active(mid) = subscription.state else {
            return true;
        };
        let Some(publisher) = self.participants.get(&subscription.publisher) else {
            return true;
        };
        let Some(track) = publisher.tracks.get(&subscription.track) else {
            return true;
        };
        match participant
            .downlink()
            .and_then(|peer| describe(peer, mid, subscription, track))
        {
            Some(command) => {
                ctx.command(Command::Subscribe(command));
                true
            }
            None => false,
        }
    }

    /// A client asks for tracks, or asks not to have them.
    pub(super) fn update_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        request: UpdateSubscription,
    ) {
        let listed = request.participant_tracks.into_iter().flat_map(|list| list.track_sids);
        for sid in request.track_sids.into_iter().chain(listed).take(REQUEST_TRACKS_MAX) {
            let Some((publisher, track)) = self.find_track(&sid) else {
                if request.subscribe
                    && let Some(participant) = self.participants.get(&receiver)
                {
                    let err = SubscriptionError::SeTrackNotfound.into();
                    participant.send(
                        ctx,
                        Message::SubscriptionResponse(SubscriptionResponse { track_sid: sid, err }),
                    );
                }
                continue;
            };
            if let Some(participant) = self.participants.get_mut(&receiver) {
                participant.wishes.insert(sid, request.subscribe);
            }
            self.reconcile(ctx, receiver, publisher, track);
        }
        self.forget_old_wishes(receiver);
    }

    /// Wishes about tracks that are gone are dropped, so that the list is never longer than the tracks of the room.
    fn forget_old_wishes(&mut self, receiver: ParticipantKey) {
        let live: std::collections::BTreeSet<String> = self
            .participants
            .values()
            .flat_map(|participant| participant.tracks.values())
            .map(|track| track.sid().to_owned())
            .collect();
        if let Some(participant) = self.participants.get_mut(&receiver) {
            participant.wishes.retain(|sid, _| live.contains(sid));
        }
    }

    fn find_track(&self, sid: &str) -> Option<(ParticipantKey, TrackId)> {
        self.participants
            .values()
            .find_map(|participant| Some((participant.key, participant.track_by_sid(sid)?.id)))
    }

    /// A client says how well it wants tracks.
    pub(super) fn update_track_settings(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        request: &UpdateTrackSettings,
    ) {
        let settings = Settings::from_request(request);
        for sid in request.track_sids.iter().take(REQUEST_TRACKS_MAX) {
            self.set_settings(ctx, receiver, sid, settings);
        }
    }

    pub(super) fn set_settings(
        &mut self,
        ctx: &mut Context<'_>,
        receiver: ParticipantKey,
        sid: &str,
        settings: Settings,
    ) {
        let Some((_, track)) = self.find_track(sid) else { return };
        let Some(participant) = self.participants.get_mut(&receiver) else {
            return;
        };
        let Some(subscription) = participant
            .subscriptions
            .values_mut()
            .find(|found| found.track == track)
        else {
            return;
        };
        if subscription.settings == settings {
            return;
        }
        subscription.settings = settings;
        let id = subscription.id;
        self.send_subscription(ctx, receiver, id);
    }

    /// A publisher says who may have its tracks.
    pub(super) fn update_audience(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        request: SubscriptionPermission,
    ) {
        let audience = if request.all_participants {
            Audience::Everybody
        } else {
            let entries = request.track_permissions.into_iter().take(PERMISSIONS_MAX);
            let named = entries.filter_map(|entry| {
                let identity = match self.by_sid(&entry.participant_sid) {
                    Some(key) => self.participants[&key].identity.clone(),
                    None => entry.participant_identity,
                };
                let tracks = (!entry.all_tracks).then_some(entry.track_sids);
                (!identity.is_empty()).then_some((identity, tracks))
            });
            Audience::Only(named.collect())
        };
        let Some(participant) = self.participants.get_mut(&publisher) else {
            return;
        };
        let before = std::mem::replace(&mut participant.audience, audience);
        let after = participant.audience.clone();
        let participant_sid = participant.sid.clone();
        let tracks: Vec<_> = participant
            .tracks
            .values()
            .map(|track| (track.id, track.sid().to_owned()))
            .collect();
        for receiver in self.others(publisher) {
            for (track, track_sid) in &tracks {
                let to = &self.participants[&receiver];
                let (was, allowed) = (
                    before.admits(&to.identity, track_sid),
                    after.admits(&to.identity, track_sid),
                );
                if was != allowed {
                    let (participant_sid, track_sid) = (participant_sid.clone(), track_sid.clone());
                    let update = SubscriptionPermissionUpdate {
                        participant_sid,
                        track_sid,
                        allowed,
                    };
                    to.send(ctx, Message::SubscriptionPermissionUpdate(update));
                    self.reconcile(ctx, receiver, publisher, *track);
                }
            }
        }
    }
}

/// A section whose subscription is over. Its receiver must hear of it before it carries another track.
fn release(participant: &mut Participant, id: SubscriptionId) {
    let Some(peer) = participant.downlink_mut() else { return };
    for slot in &mut peer.slots {
        if matches!(&slot.usage, Usage::Down(downlink) if downlink.subscription == id) {
            slot.usage = Usage::Releasing { told: false };
        }
    }
}

/// Clients find the participant before the bar and the track behind it, or by the track id where browsers keep that.
fn msid(publisher: &Participant, track: &Track, receiver: &Participant) -> Msid {
    const STREAMS_IN_STEP: i32 = 10;
    let by_stream = receiver.protocol() >= STREAMS_IN_STEP && !receiver.is_firefox();
    let behind = if by_stream {
        track.info.stream.as_str()
    } else {
        track.sid()
    };
    Msid {
        stream: format!("{}|{behind}", publisher.sid),
        track: Some(track.sid().to_owned()),
    }
}

fn describe(peer: &Peer, mid: Mid, subscription: &Subscription, track: &Track) -> Option<southbound::Subscription> {
    let slot = peer.slot(mid)?;
    let Usage::Down(downlink) = &slot.usage else {
        return None;
    };
    let formats = codecs::translate(&track.arrival.as_ref()?.formats, &slot.formats);
    if formats.is_empty() {
        return None;
    }
    Some(southbound::Subscription {
        subscription: subscription.id,
        transport: peer.transport,
        track: subscription.track,
        ssrc: downlink.ssrc,
        rtx: slot.repair(downlink),
        mid: Some(mid),
        formats,
        wanted: subscription.settings.wanted(track),
    })
}
