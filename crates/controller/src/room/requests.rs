//! A participant's requests, one by one.

use std::time::Duration;

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::{Counter, EndReason, Notification, Ping, RefusalReason, Request};

impl Room {
    pub(crate) fn request(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: Request) {
        self.acts(key);
        // Its first request shows that it has taken the greeting in, and applied its offer.
        self.answer_first_offer(ctx, key);
        match request {
            Request::Offer(offer) => self.take_offer(ctx, key, offer),
            Request::Answer(answer) => self.take_answer(ctx, key, answer),
            Request::AddTrack(request) => self.add_track(ctx, key, request),
            Request::MuteTrack(request) => self.mute(ctx, key, &request),
            Request::UpdateSubscription(request) => self.update_subscription(ctx, key, request),
            Request::UpdateTrackSettings(request) => self.update_track_settings(ctx, key, &request),
            Request::UpdateLayers(request) => self.update_layers(ctx, key, request),
            Request::UpdateTrackPermissions(request) => self.update_track_permissions(ctx, key, request),
            Request::SyncState(state) => self.take_sync_state(ctx, key, state),
            Request::UpdateMetadata(request) => self.update_metadata(ctx, key, request),
            Request::UpdateAudioTrack(request) => self.update_audio_track(ctx, key, request),
            Request::UpdateVideoTrack(request) => self.update_video_track(ctx, key, request),
            Request::PublishDataTrack(request) => self.publish_data_track(ctx, key, request),
            Request::UnpublishDataTrack(handle) => self.unpublish_data_track(ctx, key, handle),
            Request::UpdateDataSubscription(updates) => self.update_data_subscription(ctx, key, &updates),
            Request::StoreBlob(request) => self.store_blob(ctx, key, request),
            Request::GetBlob(request) => self.get_blob(ctx, key, request),
            Request::SimulateFault(scenario) => self.simulate(ctx, key, scenario),
            Request::Ping(ping) => self.pong(ctx, key, ping),
            Request::Alive => {}
            Request::Leave => self.remove(ctx, key, EndReason::ClientInitiated),
        }
    }

    /// Tells a client that a request is not granted.
    pub(super) fn refuse(
        &self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        reason: RefusalReason,
        message: &'static str,
        request: Request,
    ) {
        ctx.count(match reason {
            RefusalReason::NotFound => Counter::NotFound,
            RefusalReason::LimitExceeded => Counter::LimitExceeded,
            RefusalReason::NotAllowed
            | RefusalReason::UnsupportedType
            | RefusalReason::InvalidRequest
            | RefusalReason::InvalidHandle
            | RefusalReason::InvalidName
            | RefusalReason::DuplicateHandle
            | RefusalReason::DuplicateName => Counter::NotAllowed,
        });
        if let Some(participant) = self.participants.get(&key) {
            let refused = Notification::Refused {
                request,
                reason,
                message,
            };
            participant.notify(ctx, refused);
        }
    }

    fn pong(&self, ctx: &mut Context<'_>, key: ParticipantKey, ping: Ping) {
        let asked = match ping {
            Ping::Plain => None,
            Ping::Timed(asked) => Some(asked),
        };
        let now = milliseconds(ctx.unix());
        if let Some(participant) = self.participants.get(&key) {
            participant.notify(ctx, Notification::Pong { asked, now });
        }
    }
}

/// Milliseconds: in nanoseconds the number would not fit what browsers count with.
fn milliseconds(unix: Duration) -> i64 {
    i64::try_from(unix.as_millis()).unwrap_or(i64::MAX)
}
