//! A participant's requests, one by one.

use std::time::Duration;

use super::{Room, publishing};
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::data::{get_blob, store_blob};
use crate::room::roster::Roster;
use crate::room::trunks::note_arrival_changed;
use crate::{EndReason, Notification, Ping, Request};

impl Room {
    pub(crate) fn request(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: Request) {
        self.subscribers.acts(key);
        // Its first request shows that it has taken the greeting in, and applied its offer.
        let found = self.roster.get_mut(key);
        if let Some(offer) = found.and_then(|found| found.media.take_first_offer()) {
            self.take_offer(ctx, key, offer);
        }
        match request {
            Request::Offer(offer) => self.take_offer(ctx, key, offer),
            Request::Answer(answer) => {
                let subscribers = &mut self.subscribers;
                let taken = subscribers.take_answer(ctx, &mut self.roster, &self.updates, key, answer);
                if let Err(error) = taken {
                    self.give_up(ctx, key, &error);
                }
            }
            Request::AddTrack(request) => self.add_track(ctx, key, request),
            Request::MuteTrack(request) => {
                let is_news = publishing::mute(ctx, &mut self.roster, key, &request);
                note_arrival_changed(self, &request.sid);
                if is_news {
                    self.updates.announce(ctx, &mut self.roster, key);
                }
            }
            Request::UpdateSubscription(request) => self.update_subscription(ctx, key, request),
            Request::UpdateTrackSettings(request) => {
                self.subscribers
                    .update_track_settings(ctx, &mut self.roster, &self.publications, key, &request)
            }
            Request::UpdateLayers(request) => {
                if let Some((mid, track)) = publishing::update_layers(ctx, &mut self.roster, key, request) {
                    self.updates.announce(ctx, &mut self.roster, key);
                    self.arrive(ctx, key, mid, track);
                }
            }
            Request::UpdateTrackPermissions(request) => self.update_track_permissions(ctx, key, request),
            Request::SyncState(state) => self.take_sync_state(ctx, key, state),
            Request::UpdateMetadata(request) => self.updates.update_metadata(ctx, &mut self.roster, key, request),
            Request::UpdateAudioTrack(request) => {
                let is_news = publishing::update_audio(ctx, &mut self.roster, key, request);
                if is_news {
                    self.updates.announce(ctx, &mut self.roster, key);
                }
            }
            Request::UpdateVideoTrack(request) => {
                let is_news = publishing::update_video(ctx, &mut self.roster, key, request);
                if is_news {
                    self.updates.announce(ctx, &mut self.roster, key);
                }
            }
            Request::PublishDataTrack(request) => {
                let published = self.data.tracks.publish(ctx, &mut self.roster, key, request);
                if let Some(handle) = published {
                    self.updates.announce(ctx, &mut self.roster, key);
                    self.data.tracks.offer(ctx, &mut self.roster, key, handle);
                }
            }
            Request::UnpublishDataTrack(handle) => {
                if self.data.tracks.unpublish(ctx, &mut self.roster, key, handle) {
                    self.updates.announce(ctx, &mut self.roster, key);
                }
            }
            Request::UpdateDataSubscription(updates) => {
                self.data
                    .tracks
                    .update_subscription(ctx, &mut self.roster, key, &updates)
            }
            Request::StoreBlob(request) => store_blob(ctx, &mut self.roster, key, request),
            Request::GetBlob(request) => get_blob(ctx, &self.roster, key, request),
            Request::SimulateFault(scenario) => self.simulate(ctx, key, scenario),
            Request::Ping(ping) => pong(ctx, &self.roster, key, ping),
            Request::Alive => {}
            Request::Leave => self.remove(ctx, key, EndReason::ClientInitiated),
        }
    }
}

fn pong(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, ping: Ping) {
    let asked = match ping {
        Ping::Plain => None,
        Ping::Timed(asked) => Some(asked),
    };
    let now = milliseconds(ctx.unix());
    if let Some(participant) = roster.get(key) {
        participant.notify(ctx, Notification::Pong { asked, now });
    }
}

/// Milliseconds: in nanoseconds the number would not fit what browsers count with.
fn milliseconds(unix: Duration) -> i64 {
    i64::try_from(unix.as_millis()).unwrap_or(i64::MAX)
}
