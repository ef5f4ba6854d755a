//! Joining, offering and answering.

use std::time::Instant;

use livekit_protocol::{
    AddTrackRequest, MediaSectionsRequirement, SessionDescription, TrackSource, TrackType, TrickleRequest, VideoLayer,
    VideoQuality, signal_request, signal_response,
};
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};

use super::{PUBLISHER, Participant, SUBSCRIBER, media_token};
use crate::client::error::ParticipantError;
use crate::client::offer;
use crate::client::plan::Mode;
use crate::net;
use crate::transport::sdp::{Description, Kind, Setup};
use crate::transport::{Route, Transport, TransportError};

/// Receiving sections of each kind that a `/rtc/v1` client offers at first.
const FIRST_SECTIONS: u32 = 3;
const CHANNELS: [(&str, bool); 3] = [("_lossy", false), ("_reliable", true), ("_data_track", false)];

impl Participant {
    pub(super) fn handle_message(
        &mut self,
        now: Instant,
        message: signal_response::Message,
        epoll: &Epoll,
    ) -> Result<(), ParticipantError> {
        use signal_response::Message;
        match message {
            Message::Join(join) => {
                self.milestones.joined = Some(now.duration_since(self.began_at));
                let route = Route::new(self.plan.route, &join.ice_servers);
                self.route = route.ok_or(ParticipantError::NoTurn)?;
                self.settle_tracks(&join.other_participants);
                self.begin(now, epoll)
            }
            Message::Update(update) => {
                self.settle_tracks(&update.participants);
                Ok(())
            }
            Message::TrackPublished(published) => {
                if published.cid == track_id(self.plan.audio_source()) {
                    self.microphone = published.track.map(|track| track.sid);
                }
                self.unconfirmed_tracks = self.unconfirmed_tracks.saturating_sub(1);
                if self.unconfirmed_tracks == 0 {
                    self.offer(now, epoll)
                } else {
                    Ok(())
                }
            }
            Message::Offer(offer) => self.answer(now, &offer, epoll),
            Message::Answer(answer) => self.accept(now, &answer, epoll),
            Message::Trickle(trickle) => self.add_candidate(&trickle),
            Message::MediaSectionsRequirement(required) => self.add_sections(now, required, epoll),
            Message::RequestResponse(response) if response.reason != 0 => Err(ParticipantError::TrackRefused),
            Message::Leave(leave) => Err(ParticipantError::SentAway(leave.reason().as_str_name().into())),
            _ => Ok(()),
        }
    }

    /// After joining: announces tracks. A client that publishes nothing offers at once, if it has
    /// to offer at all.
    fn begin(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        let tracks = self.tracks();
        if self.plan.mode == Mode::V1 && !self.plan.hears.is_empty() {
            self.sections.push(offer::channels("0"));
            self.push_receiving_sections(FIRST_SECTIONS, FIRST_SECTIONS);
        }
        let layered = self.plan.publish.is_some_and(|publish| publish.layered);
        for (kind, source) in &tracks {
            let mid = self.sections.len().to_string();
            self.sections
                .push(offer::sending(*kind, &mid, &track_id(*source), *source, layered));
        }
        self.unconfirmed_tracks = tracks.len();
        for (kind, source) in tracks {
            let request = self.add_track(kind, source);
            self.signal.send(signal_request::Message::AddTrack(request));
        }
        if self.unconfirmed_tracks == 0 {
            self.offer(now, epoll)
        } else {
            Ok(())
        }
    }

    /// The tracks that it publishes: kind and source of each.
    pub(super) fn tracks(&self) -> Vec<(Kind, u32)> {
        let Some(publish) = &self.plan.publish else {
            return Vec::new();
        };
        let video = publish.video.map(|_| (Kind::Video, self.plan.video_source()));
        let audio = publish.audio.then(|| (Kind::Audio, self.plan.audio_source()));
        video.into_iter().chain(audio).collect()
    }

    fn add_track(&self, kind: Kind, source: u32) -> AddTrackRequest {
        let mut request = AddTrackRequest {
            cid: track_id(source),
            name: track_id(source),
            ..Default::default()
        };
        if kind == Kind::Audio {
            request.set_type(TrackType::Audio);
            request.set_source(TrackSource::Microphone);
            request.disable_red = true;
            return request;
        }
        request.set_type(TrackType::Video);
        request.set_source(TrackSource::Camera);
        (request.width, request.height) = (1280, 720);
        let bitrate = self
            .plan
            .publish
            .and_then(|publish| publish.video)
            .map_or(0, |video| video.bitrate as u32);
        let mut layer = VideoLayer {
            width: 1280,
            height: 720,
            bitrate,
            ..VideoLayer::default()
        };
        layer.set_quality(VideoQuality::High);
        request.layers.push(layer);
        request
    }

    fn push_receiving_sections(&mut self, audios: u32, videos: u32) {
        for (kind, count) in [(Kind::Audio, audios), (Kind::Video, videos)] {
            for _ in 0..count {
                let mid = self.sections.len().to_string();
                self.sections.push(offer::receiving(kind, &mid));
            }
        }
    }

    fn add_sections(
        &mut self,
        now: Instant,
        required: MediaSectionsRequirement,
        epoll: &Epoll,
    ) -> Result<(), ParticipantError> {
        self.push_receiving_sections(required.num_audios, required.num_videos);
        self.offer(now, epoll)
    }

    /// Offers the sections there are, unless an offer is still to be answered; then when it has
    /// been.
    fn offer(&mut self, now: Instant, epoll: &Epoll) -> Result<(), ParticipantError> {
        if self.sections.is_empty() {
            return Ok(());
        }
        if self.offer_open {
            self.offer_wanted = true;
            return Ok(());
        }
        (self.offer_open, self.offer_wanted, self.offer_id) = (true, false, self.offer_id + 1);
        let sections = self.sections.clone();
        let sdp = self
            .transport(PUBLISHER, now, epoll)?
            .describe(Setup::ActPass, sections)
            .write();
        let offer = SessionDescription {
            r#type: "offer".into(),
            sdp,
            id: self.offer_id,
            ..Default::default()
        };
        self.signal.send(signal_request::Message::Offer(offer));
        Ok(())
    }

    /// Takes the server's answer to this client's offer.
    fn accept(&mut self, now: Instant, answer: &SessionDescription, epoll: &Epoll) -> Result<(), ParticipantError> {
        if answer.id != 0 && answer.id != self.offer_id {
            return Ok(());
        }
        let description = Description::parse(&answer.sdp).map_err(ParticipantError::Description)?;
        let client = description.setup == Setup::Passive;
        let channels: &[(&str, bool)] = if self.plan.mode == Mode::V1 { &CHANNELS } else { &[] };
        self.transport(PUBLISHER, now, epoll)?
            .start(now, &description, client, channels)?;
        offer::agree(&mut self.inbound, &description, &description);
        self.answer = Some(description);
        self.offer_open = false;
        if self.offer_wanted {
            self.offer(now, epoll)
        } else {
            Ok(())
        }
    }

    /// Answers the server's offer of media to receive.
    fn answer(&mut self, now: Instant, offered: &SessionDescription, epoll: &Epoll) -> Result<(), ParticipantError> {
        let description = Description::parse(&offered.sdp).map_err(ParticipantError::Description)?;
        let client = match description.setup {
            Setup::ActPass => self.plan.dtls_client,
            Setup::Passive => true,
            Setup::Active => false,
        };
        let setup = if client { Setup::Active } else { Setup::Passive };
        let transport = self.transport(SUBSCRIBER, now, epoll)?;
        let answer = offer::answer(transport, &description, setup);
        transport.start(now, &description, client, &[])?;
        offer::agree(&mut self.inbound, &answer, &description);
        let sdp = answer.write();
        let answer = SessionDescription {
            r#type: "answer".into(),
            sdp,
            id: offered.id,
            ..Default::default()
        };
        self.signal.send(signal_request::Message::Answer(answer));
        Ok(())
    }

    fn add_candidate(&mut self, trickle: &TrickleRequest) -> Result<(), ParticipantError> {
        let init: serde_json::Value = serde_json::from_str(&trickle.candidate_init).unwrap_or_default();
        let transport = self
            .transports
            .get_mut(trickle.target as usize)
            .and_then(Option::as_mut);
        if let (Some(transport), Some(candidate)) = (transport, init["candidate"].as_str()) {
            transport.add_candidate(candidate)?;
        }
        Ok(())
    }

    /// The transport, made on first use.
    fn transport(&mut self, which: usize, now: Instant, epoll: &Epoll) -> Result<&mut Transport, ParticipantError> {
        if self.transports[which].is_none() {
            let transport = Transport::new(self.identity.clone(), self.local_ip, which == PUBLISHER, now)?;
            let transport = transport.over(self.route.clone());
            if self.plan.single_datagrams {
                net::deliver_singly(transport.socket()).map_err(TransportError::Socket)?;
            }
            let event = EpollEvent::new(EpollFlags::EPOLLIN, media_token(&self.plan, which));
            epoll.add(transport.socket(), event).map_err(ParticipantError::Wait)?;
            self.transports[which] = Some(transport);
        }
        Ok(self.transports[which].as_mut().expect("made above"))
    }
}

/// The id under which a source's track is announced. The dash after the number keeps `1` from being
/// found in `11`.
pub(super) fn track_id(source: u32) -> String {
    format!("bench-track-{source}-")
}
