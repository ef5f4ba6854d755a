//! Data tracks: published and subscribed to.

mod frames;
mod permissions;
mod restore;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{DATA_TRACK_NAME_MAX, DATA_TRACKS_MAX};
use crate::participant::Participant;
use crate::room::roster::{Roster, STORE_FULL};
use crate::{
    Counter, DataTrackHandle, DataTrackInfo, Notification, ParticipantState, PublishDataTrack, RefusalReason, Request,
};

/// The data tracks of a room by the handles that receivers know. A track has one handle for all
/// of its receivers, so that they share one copy of a frame.
#[derive(Debug, Default)]
pub(crate) struct DataTracks {
    tracks: BTreeMap<u16, DataTrack>,
    sids: BTreeMap<String, u16>,
    /// The handle that was given last. Handles are used again as late as can be.
    last: u16,
    /// Those that changed since nodes were told of them.
    changed: BTreeSet<u16>,
}

#[derive(Debug)]
struct DataTrack {
    publisher: ParticipantKey,
    sid: String,
    receivers: BTreeSet<ParticipantKey>,
}

impl DataTracks {
    fn add(&mut self, publisher: ParticipantKey, sid: &str) -> Option<u16> {
        let after = (self.last.saturating_add(1)..=u16::MAX).chain(1..=self.last);
        let handle = after
            .into_iter()
            .find(|handle| *handle > 0 && !self.tracks.contains_key(handle))?;
        self.last = handle;
        self.changed.insert(handle);
        let track = DataTrack {
            publisher,
            sid: sid.to_owned(),
            receivers: BTreeSet::new(),
        };
        self.tracks.insert(handle, track);
        self.sids.insert(sid.to_owned(), handle);
        Some(handle)
    }

    /// Those that changed since this was asked last.
    pub(super) fn take_changed(&mut self) -> BTreeSet<u16> {
        std::mem::take(&mut self.changed)
    }

    /// The handles of all tracks.
    pub(super) fn handles(&self) -> impl Iterator<Item = u16> {
        self.tracks.keys().copied()
    }

    /// The publisher and the receivers of a track.
    pub(super) fn route(&self, handle: u16) -> Option<(ParticipantKey, &BTreeSet<ParticipantKey>)> {
        let track = self.tracks.get(&handle)?;
        Some((track.publisher, &track.receivers))
    }
}

impl DataTracks {
    /// A participant publishes a data track. Returns the handle that receivers will know, unless it
    /// is refused. The caller tells others and then [offers](Self::offer) it.
    pub(in crate::room) fn publish(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        request: PublishDataTrack,
    ) -> Option<u16> {
        let participant = roster.get(key)?;
        let own_handle = match check(participant, &request) {
            Ok(handle) => handle,
            Err((reason, text)) => {
                roster.refuse(ctx, key, reason, text, Request::PublishDataTrack(request));
                return None;
            }
        };
        let sid = ctx.core.random.sid("DTR_");
        let info = DataTrackInfo {
            handle: own_handle,
            sid: sid.clone(),
            name: request.name.clone(),
            encryption: request.encryption,
            encoding: request.encoding.clone(),
            schema: request.schema.clone(),
        };
        if !roster.takes(key, info.told_len()) {
            let request = Request::PublishDataTrack(request);
            roster.refuse(ctx, key, RefusalReason::LimitExceeded, STORE_FULL, request);
            return None;
        }
        let Some(handle) = self.add(key, &sid) else {
            let text = "too many data tracks in the room";
            let request = Request::PublishDataTrack(request);
            roster.refuse(ctx, key, RefusalReason::LimitExceeded, text, request);
            return None;
        };
        let participant = roster.get_mut(key)?;
        participant.publications.has_published = true;
        let published = &mut participant.data.tracks.published;
        published.insert(own_handle, (handle, info.clone()));
        participant.notify(ctx, Notification::DataTrackPublished(info));
        Some(handle)
    }

    /// Everybody who subscribes to all data tracks gets a new one, once it is announced.
    pub(in crate::room) fn offer(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        publisher: ParticipantKey,
        handle: u16,
    ) {
        // Somebody who is still joining gets all tracks afterwards.
        let others = roster.all_mut().filter(|other| {
            other.key != publisher && other.profile.state == ParticipantState::Active && other.data.tracks.wants_all()
        });
        for other in others {
            if !other.data.tracks.want(handle) {
                ctx.count(Counter::LimitExceeded);
            }
        }
        self.update_receivers(ctx, roster);
    }

    /// A participant that has joined subscribes to all data tracks, if it asked for that.
    pub(in crate::room) fn begin_subscriptions(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
    ) {
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        if !participant.data.tracks.wants_all() {
            return;
        }
        let others = self.tracks.iter().filter(|(_, track)| track.publisher != key);
        for (handle, _) in others {
            if !participant.data.tracks.want(*handle) {
                ctx.count(Counter::LimitExceeded);
            }
        }
        if self.update_handles(ctx, roster, key) {
            self.tell_handles(ctx, roster, key);
        }
    }

    /// A participant takes a data track away. Returns whether it had it; then the caller tells
    /// others.
    pub(in crate::room) fn unpublish(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        handle: u32,
    ) -> bool {
        let Some(participant) = roster.get_mut(key) else {
            return false;
        };
        let published = &mut participant.data.tracks.published;
        let found = u16::try_from(handle).ok().and_then(|handle| published.remove(&handle));
        let Some((handle, info)) = found else {
            let text = "no data track with this handle";
            let request = Request::UnpublishDataTrack(handle);
            roster.refuse(ctx, key, RefusalReason::NotFound, text, request);
            return false;
        };
        participant.notify(ctx, Notification::DataTrackUnpublished(info));
        self.drop_tracks(ctx, roster, &[handle]);
        true
    }

    /// A participant may not publish data any more. The caller tells others.
    pub(in crate::room) fn forbid(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        let published = std::mem::take(&mut participant.data.tracks.published);
        let mut handles = Vec::new();
        for (handle, info) in published.into_values() {
            handles.push(handle);
            participant.notify(ctx, Notification::DataTrackUnpublished(info));
        }
        self.drop_tracks(ctx, roster, &handles);
    }

    /// A participant has left with what it published and received.
    pub(in crate::room) fn forget(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, gone: &Participant) {
        for handle in gone.data.tracks.received() {
            if let Some(track) = self.tracks.get_mut(handle) {
                track.receivers.remove(&gone.key);
                self.changed.insert(*handle);
            }
        }
        let published = gone.data.tracks.published.values();
        let handles: Vec<_> = published.map(|(handle, _)| *handle).collect();
        self.drop_tracks(ctx, roster, &handles);
    }

    fn drop_tracks(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, handles: &[u16]) {
        if handles.is_empty() {
            return;
        }
        for handle in handles {
            if let Some(track) = self.tracks.remove(handle) {
                self.sids.remove(&track.sid);
            }
            self.changed.insert(*handle);
        }
        for participant in roster.all_mut() {
            participant.data.tracks.forget(handles);
        }
        self.update_receivers(ctx, roster);
    }

    /// A participant subscribes to data tracks, or ends subscriptions. It is told its handles in
    /// any case: it waits for them.
    pub(in crate::room) fn update_subscription(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        updates: &[(String, bool)],
    ) {
        let Some(participant) = roster.get_mut(key) else {
            return;
        };
        let own = &mut participant.data.tracks;
        for (sid, subscribe) in updates {
            match self.sids.get(sid) {
                None => ctx.count(Counter::NotFound),
                Some(handle) if !subscribe => own.unwant(*handle),
                Some(handle) if !own.want(*handle) => ctx.count(Counter::LimitExceeded),
                Some(_) => {}
            }
        }
        self.update_handles(ctx, roster, key);
        self.tell_handles(ctx, roster, key);
    }

    /// Brings all subscriptions to data tracks in line with permissions, and tells those that it
    /// changes something for.
    pub(in crate::room) fn update_receivers(&mut self, ctx: &mut Context<'_>, roster: &mut Roster) {
        let concerned = |participant: &&Participant| {
            let own = &participant.data.tracks;
            !(own.wanted().is_empty() && own.received().is_empty())
        };
        let concerned = roster.all().filter(concerned);
        for key in concerned.map(|participant| participant.key).collect::<Vec<_>>() {
            if self.update_handles(ctx, roster, key) {
                self.tell_handles(ctx, roster, key);
            }
        }
    }

    /// Whether it changed anything about what the participant receives.
    fn update_handles(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) -> bool {
        let Some(participant) = roster.get(key) else {
            return false;
        };
        let (mut received, mut denied) = (BTreeSet::new(), BTreeSet::new());
        if participant.authorization.permission.subscribe {
            for handle in participant.data.tracks.wanted() {
                match self.permission(roster, participant, *handle) {
                    Some(true) => _ = received.insert(*handle),
                    Some(false) => _ = denied.insert(*handle),
                    None => {}
                }
            }
            for handle in denied.symmetric_difference(participant.data.tracks.denied()) {
                self.send_permission(ctx, roster, participant, *handle);
            }
        }
        let Some(participant) = roster.get_mut(key) else {
            return false;
        };
        let before = participant.data.tracks.settle(received, denied);
        let received = participant.data.tracks.received();
        let tracks = &mut self.tracks;
        for handle in before.difference(received) {
            tracks.get_mut(handle).map(|track| track.receivers.remove(&key));
        }
        for handle in received.difference(&before) {
            tracks.get_mut(handle).map(|track| track.receivers.insert(key));
        }
        self.changed.extend(before.symmetric_difference(received));
        before != *received
    }

    /// Tells a participant the handles of the data tracks that it receives.
    pub(in crate::room) fn tell_handles(&self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
        let Some(participant) = roster.get(key) else {
            return;
        };
        let received = participant.data.tracks.received().iter();
        let handles = received.filter_map(|handle| {
            let track = self.tracks.get(handle)?;
            let publisher = roster.get(track.publisher)?;
            Some(DataTrackHandle {
                handle: *handle,
                publisher_identity: publisher.profile.identity.clone(),
                publisher_sid: publisher.profile.sid.clone(),
                track_sid: track.sid.clone(),
            })
        });
        participant.notify(ctx, Notification::DataTrackHandles(handles.collect()));
    }

    /// A participant that came back is told its handles again.
    pub(in crate::room) fn tell_handles_again(&self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
        let found = roster.get(key);
        let Some(participant) = found else { return };
        for handle in participant.data.tracks.denied() {
            self.send_permission(ctx, roster, participant, *handle);
        }
        if !participant.data.tracks.received().is_empty() {
            self.tell_handles(ctx, roster, key);
        }
    }
}

/// Checks a request for a data track and returns its handle.
fn check(participant: &Participant, request: &PublishDataTrack) -> Result<u16, (RefusalReason, &'static str)> {
    if !participant.authorization.permission.publish_data {
        return Err((RefusalReason::NotAllowed, "does not have permission to publish data"));
    }
    let handle = u16::try_from(request.handle).ok().filter(|handle| *handle > 0);
    let handle = handle.ok_or((RefusalReason::InvalidHandle, "handle should be > 0 AND < 65536"))?;
    if request.name.is_empty() || request.name.len() > DATA_TRACK_NAME_MAX {
        let text = "name should not be empty and should not exceed 256 characters";
        return Err((RefusalReason::InvalidName, text));
    }
    let published = &participant.data.tracks.published;
    if published.contains_key(&handle) {
        let text = "a data track with same handle already exists";
        return Err((RefusalReason::DuplicateHandle, text));
    }
    if published.values().any(|(_, info)| info.name == request.name) {
        let text = "a data track with same name already exists";
        return Err((RefusalReason::DuplicateName, text));
    }
    if published.len() >= DATA_TRACKS_MAX {
        return Err((RefusalReason::LimitExceeded, "too many data tracks"));
    }
    Ok(handle)
}
