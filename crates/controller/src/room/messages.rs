//! A client's messages, one by one.

use std::time::Duration;

use livekit_protocol::request_response::{Reason, Request};
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    AddTrackRequest, DisconnectReason, MuteTrackRequest, Ping, Pong, PublishDataTrackRequest, RequestResponse,
    TrickleRequest, UpdateLocalAudioTrack, UpdateLocalVideoTrack, UpdateParticipantMetadata,
};

use super::Room;
use crate::Counter;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::CID_MAX;
use crate::livekit::Incoming;
use crate::livekit::bounds::{self, Exceeded, Kept};

impl Room {
    pub(crate) fn message(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, message: Incoming) {
        self.acts(key);
        // Its first message shows that it has taken the greeting in, and applied its offer.
        self.answer_first_offer(ctx, key);
        match message {
            Incoming::Offer(offer) => self.take_offer(ctx, key, offer),
            Incoming::Answer(answer) => self.take_answer(ctx, key, answer),
            Incoming::Said(said) => self.said(ctx, key, *said),
        }
    }

    fn said(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, mut said: Said) {
        match bounds::message(&mut said) {
            Ok(Kept::All) => {}
            Ok(Kept::Part) => ctx.count(Counter::LimitExceeded),
            Err(what) => return self.refuse_excess(ctx, key, said, what),
        }
        match said {
            // Descriptions come as such. We are found at one address and find clients by their checks: candidates tell us nothing.
            Said::Offer(_) | Said::Answer(_) | Said::Trickle(_) => {}
            Said::AddTrack(request) => self.add_track(ctx, key, request),
            Said::Mute(request) => self.mute(ctx, key, &request),
            Said::Subscription(request) => self.update_subscription(ctx, key, request),
            Said::TrackSetting(request) => self.update_track_settings(ctx, key, &request),
            Said::Leave(_) => self.remove(ctx, key, DisconnectReason::ClientInitiated),
            Said::UpdateLayers(request) => self.update_layers(ctx, key, request),
            Said::SubscriptionPermission(request) => self.update_audience(ctx, key, request),
            Said::SyncState(state) => self.take_sync_state(ctx, key, state),
            Said::Simulate(scenario) => self.simulate(ctx, key, &scenario),
            Said::Ping(_) => self.pong(ctx, key),
            Said::PingReq(ping) => self.pong_to(ctx, key, ping),
            Said::UpdateMetadata(request) => self.update_metadata(ctx, key, request),
            Said::UpdateAudioTrack(request) => self.update_audio_track(ctx, key, request),
            Said::UpdateVideoTrack(request) => self.update_video_track(ctx, key, request),
            Said::PublishDataTrackRequest(request) => {
                let text = "data tracks are not offered here";
                self.refuse(
                    ctx,
                    key,
                    0,
                    Reason::NotAllowed,
                    text,
                    Request::PublishDataTrack(request),
                );
            }
            Said::UnpublishDataTrackRequest(request) => {
                let text = "no data track with this handle";
                self.refuse(
                    ctx,
                    key,
                    0,
                    Reason::NotFound,
                    text,
                    Request::UnpublishDataTrack(request),
                );
            }
            Said::UpdateDataSubscription(_) => ctx.count(Counter::NotFound),
            Said::StoreDataBlobRequest(_) | Said::GetDataBlobRequest(_) => ctx.count(Counter::NotAllowed),
        }
    }

    /// A text or a list is too long. The answer names the request by its ids and does not repeat it; messages without an answer in the protocol
    /// are as if they had not come.
    fn refuse_excess(&self, ctx: &mut Context<'_>, key: ParticipantKey, message: Said, what: Exceeded) {
        let (id, request) = match message {
            Said::Trickle(_) => (0, Request::Trickle(TrickleRequest::default())),
            Said::AddTrack(request) => (0, Request::AddTrack(named(request))),
            Said::Mute(_) => (0, Request::Mute(MuteTrackRequest::default())),
            Said::UpdateMetadata(UpdateParticipantMetadata { request_id, .. }) => {
                let request = UpdateParticipantMetadata {
                    request_id,
                    ..UpdateParticipantMetadata::default()
                };
                (request_id, Request::UpdateMetadata(request))
            }
            Said::UpdateAudioTrack(_) => (0, Request::UpdateAudioTrack(UpdateLocalAudioTrack::default())),
            Said::UpdateVideoTrack(_) => (0, Request::UpdateVideoTrack(UpdateLocalVideoTrack::default())),
            Said::PublishDataTrackRequest(PublishDataTrackRequest { pub_handle, .. }) => {
                let request = PublishDataTrackRequest {
                    pub_handle,
                    ..PublishDataTrackRequest::default()
                };
                (0, Request::PublishDataTrack(request))
            }
            _ => return ctx.count(Counter::LimitExceeded),
        };
        let text = format!("{} too long", what.0);
        self.refuse(ctx, key, id, Reason::LimitExceeded, &text, request);
    }

    /// Tells a client that a request is not granted, in the words the protocol has for it.
    pub(super) fn refuse(
        &self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request_id: u32,
        reason: Reason,
        text: &str,
        request: Request,
    ) {
        ctx.count(match reason {
            Reason::NotFound => Counter::NotFound,
            Reason::LimitExceeded => Counter::LimitExceeded,
            _ => Counter::NotAllowed,
        });
        let response = RequestResponse {
            request_id,
            reason: reason.into(),
            message: text.to_owned(),
            request: Some(request),
        };
        if let Some(participant) = self.participants.get(&key) {
            participant.send(ctx, Message::RequestResponse(response));
        }
    }

    fn pong(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let now = milliseconds(ctx.unix());
        if let Some(participant) = self.participants.get(&key) {
            participant.send(ctx, Message::Pong(now));
        }
    }

    fn pong_to(&self, ctx: &mut Context<'_>, key: ParticipantKey, ping: Ping) {
        let pong = Pong {
            last_ping_timestamp: ping.timestamp,
            timestamp: milliseconds(ctx.unix()),
        };
        if let Some(participant) = self.participants.get(&key) {
            participant.send(ctx, Message::PongResp(pong));
        }
    }
}

/// A request for a track, by the client's name for it if that is one.
fn named(request: AddTrackRequest) -> AddTrackRequest {
    AddTrackRequest {
        cid: Some(request.cid).filter(|cid| cid.len() <= CID_MAX).unwrap_or_default(),
        r#type: request.r#type,
        source: request.source,
        ..AddTrackRequest::default()
    }
}

/// Milliseconds: in nanoseconds the number would not fit what browsers count with.
fn milliseconds(unix: Duration) -> i64 {
    i64::try_from(unix.as_millis()).unwrap_or(i64::MAX)
}
