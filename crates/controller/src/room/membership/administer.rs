//! An administrator's changes to a room and to its participants.

use access::{Permission, VideoGrant};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::Room;
use crate::room::membership::metadata::Excess;
use crate::room::membership::metadata::refresh_token;
use crate::room::publishing::mute;
use crate::room::trunks::note_arrival_changed;
use crate::{AdminError, CreateRoom, MuteTrack, Notification, ParticipantInfo, RoomInfo, TrackInfo, UpdateParticipant};

impl Room {
    /// Sets a new room up; what is not said stays as the operator has it.
    pub(crate) fn set_up(&mut self, ctx: &mut Context<'_>, request: CreateRoom) -> RoomInfo {
        self.lifetime.set_up(ctx, self.roster.timer(), &request);
        if let Some(max) = request.max_participants {
            self.roster.limit(&ctx.core.config, max);
        }
        let is_new = !request.metadata.is_empty() && request.metadata != self.profile.metadata();
        if is_new && self.profile.takes_metadata(request.metadata.len()) {
            self.profile.set_metadata(request.metadata);
            self.updates.tell_population(ctx, &self.roster, self.info());
        }
        self.info()
    }

    /// Changes the room's metadata.
    ///
    /// Errors: [`AdminError::StoreFull`].
    pub(crate) fn update_metadata_by_server(
        &mut self,
        ctx: &mut Context<'_>,
        metadata: String,
    ) -> Result<RoomInfo, AdminError> {
        if !self.profile.takes_metadata(metadata.len()) {
            return Err(AdminError::StoreFull);
        }
        self.profile.set_metadata(metadata);
        self.updates.tell_population(ctx, &self.roster, self.info());
        Ok(self.info())
    }

    /// Mutes or unmutes a participant's track: its client is told, and does it.
    pub(crate) fn mute_by_server(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        sid: &str,
        muted: bool,
    ) -> Result<TrackInfo, AdminError> {
        if !muted && !ctx.core.config.remote_unmute {
            return Err(AdminError::RemoteUnmuteDisabled);
        }
        let found = self.roster.get(key);
        let participant = found.ok_or(AdminError::ParticipantNotFound)?;
        participant.publications.by_sid(sid).ok_or(AdminError::TrackNotFound)?;
        let track_sid = sid.to_owned();
        participant.notify(ctx, Notification::MuteTrack { track_sid, muted });
        let sid = sid.to_owned();
        let request = MuteTrack {
            sid: sid.clone(),
            muted,
        };
        let is_news = mute(ctx, &mut self.roster, key, &request);
        note_arrival_changed(self, &sid);
        if is_news {
            self.updates.announce(ctx, &mut self.roster, key);
        }
        let track = self.roster[key].publications.by_sid(&sid);
        track.map(|track| track.info.clone()).ok_or(AdminError::TrackNotFound)
    }

    /// Changes what is said of a participant, and what it may do.
    pub(crate) fn update_by_server(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateParticipant,
    ) -> Result<ParticipantInfo, AdminError> {
        let (updates, roster) = (&mut self.updates, &mut self.roster);
        updates
            .change_metadata(ctx, roster, key, &request.name, &request.metadata, &request.attributes)
            .map_err(|excess| match excess {
                Excess::Attributes => AdminError::InvalidArgument("attributes size exceeds limits"),
                Excess::Store => AdminError::StoreFull,
            })?;
        if let Some(permission) = request.permission {
            if let Some(participant) = self.roster.get_mut(key) {
                grant(&mut participant.authorization.claims.video, &permission);
            }
            self.set_permission(ctx, key, permission);
            if let Some(participant) = self.roster.get(key) {
                // Others were told; it has to know what it may do as well.
                participant.notify(ctx, Notification::Participants(vec![participant.snapshot()]));
            }
            refresh_token(ctx, &self.roster, key);
        }
        let participant = self.roster.get(key);
        participant
            .map(|participant| participant.info())
            .ok_or(AdminError::ParticipantNotFound)
    }
}

/// Writes a permission into the grant that refreshed tokens are made of, so that a client that
/// starts over keeps it.
fn grant(grant: &mut VideoGrant, permission: &Permission) {
    let sources = permission.sources.iter().flatten();
    grant.can_publish = Some(permission.publish);
    grant.can_subscribe = Some(permission.subscribe);
    grant.can_publish_data = Some(permission.publish_data);
    grant.can_publish_sources = sources.map(|source| source.name().to_owned()).collect();
    grant.can_update_own_metadata = Some(permission.update_metadata);
    grant.hidden = permission.hidden;
    grant.recorder = permission.recorder;
    grant.agent = permission.agent;
    grant.can_subscribe_metrics = Some(permission.subscribe_metrics);
    grant.can_manage_agent_session = Some(permission.manage_agent_session);
}
