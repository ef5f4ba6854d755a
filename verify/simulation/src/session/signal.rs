//! Messages to a client on its signalling connection.

use std::time::Instant;

use livekit_protocol::leave_request::Action;
use livekit_protocol::participant_info::State;
use livekit_protocol::request_response::Request;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    JoinResponse, LeaveRequest, MuteTrackRequest, ParticipantInfo, SyncState, TrackPublishedResponse,
    UpdateSubscription, signal_request,
};

use super::{Effect, PUBLISHER, Phase, Session, say};

impl Session {
    pub(crate) fn hear(&mut self, now: Instant, message: Message, out: &mut Vec<Effect>) {
        match message {
            Message::Join(join) => self.hear_join(now, join, out),
            Message::Reconnect(_) => self.hear_reconnect(now, out),
            Message::Answer(answer) => self.hear_answer(now, &answer, out),
            Message::Offer(offer) => self.hear_offer(now, &offer, out),
            Message::MediaSectionsRequirement(required) => {
                self.add_receiving(required.num_audios, required.num_videos);
                self.offer(now, out);
            }
            Message::TrackPublished(published) => self.hear_published(&published),
            Message::Update(update) => update.participants.iter().for_each(|info| self.hear_of(info)),
            Message::Mute(request) => self.hear_mute(&request, out),
            Message::Leave(leave) => self.hear_leave(&leave, out),
            Message::RequestResponse(response) => {
                // A client that is refused sends all the same: nobody may get it.
                if let Some(Request::AddTrack(request)) = response.request {
                    self.refused.push(request.cid);
                }
            }
            _ => {}
        }
    }

    fn hear_join(&mut self, now: Instant, join: JoinResponse, out: &mut Vec<Effect>) {
        self.phase = Phase::In;
        self.sid = join.participant.map(|participant| participant.sid);
        join.other_participants.iter().for_each(|info| self.hear_of(info));
        self.announce_sources(now, out);
    }

    /// It may go on: it says what it believes, and finds its way to the node anew.
    fn hear_reconnect(&mut self, now: Instant, out: &mut Vec<Effect>) {
        (self.phase, self.has_resumed) = (Phase::In, true);
        let published = self.sources.iter().filter(|source| source.sid.is_some());
        let publish_tracks = published.map(|source| TrackPublishedResponse {
            cid: source.client_id(),
            track: Some(livekit_protocol::TrackInfo {
                sid: source.sid.clone().unwrap_or_default(),
                ..Default::default()
            }),
        });
        let state = SyncState {
            publish_tracks: publish_tracks.collect(),
            subscription: Some(UpdateSubscription {
                subscribe: !self.how.auto_subscribe,
                ..UpdateSubscription::default()
            }),
            ..SyncState::default()
        };
        out.push(say(signal_request::Message::SyncState(state)));
        // The last messages may have been lost.
        self.offering.out = false;
        for source in self
            .sources
            .iter()
            .filter(|source| source.sid.is_none() && !self.refused.contains(&source.client_id()))
        {
            out.push(say(signal_request::Message::AddTrack(source.announcement())));
        }
        for source in &self.sources {
            let Some(sid) = source.sid.clone() else { continue };
            out.push(say(signal_request::Message::Mute(MuteTrackRequest {
                sid,
                muted: source.muted,
            })));
        }
        let added = self.add_missing_sections();
        if let Some(transport) = &mut self.transports[PUBLISHER] {
            transport.restart(&mut self.rng);
        }
        if added || self.transports[PUBLISHER].is_some() {
            self.offer(now, out);
        }
    }

    fn hear_published(&mut self, published: &TrackPublishedResponse) {
        let sid = published.track.as_ref().map(|track| track.sid.clone());
        if let Some(source) = self
            .sources
            .iter_mut()
            .find(|source| source.client_id() == published.cid)
        {
            source.sid = sid;
        }
    }

    fn hear_of(&mut self, info: &ParticipantInfo) {
        if self.sid.as_ref() == Some(&info.sid) {
            return;
        }
        if info.state() == State::Disconnected {
            self.others.remove(&info.sid);
            self.identities.remove(&info.sid);
            return;
        }
        self.others.insert(
            info.sid.clone(),
            info.tracks.iter().map(|track| track.sid.clone()).collect(),
        );
        self.identities.insert(info.sid.clone(), info.identity.clone());
    }

    fn hear_mute(&mut self, request: &MuteTrackRequest, out: &mut Vec<Effect>) {
        let Some(source) = self
            .sources
            .iter_mut()
            .find(|source| source.sid.as_ref() == Some(&request.sid))
        else {
            return;
        };
        source.muted = request.muted;
        out.push(say(signal_request::Message::Mute(request.clone())));
    }

    fn hear_leave(&mut self, leave: &LeaveRequest, out: &mut Vec<Effect>) {
        match leave.action() {
            Action::Resume => out.push(Effect::Resume),
            Action::Reconnect => out.push(Effect::Over { rejoin: true }),
            Action::Disconnect => out.push(Effect::Over { rejoin: false }),
        }
    }
}
