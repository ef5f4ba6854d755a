//! Requests of a client's person.

use std::time::Instant;

use livekit_protocol::data_packet::Value;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{
    DataPacket, LeaveRequest, MuteTrackRequest, SimulateScenario, SubscriptionPermission, TrackPermission,
    UpdateParticipantMetadata, UpdateSubscription, UpdateTrackSettings, UserPacket, VideoQuality, signal_request,
};
use prost::Message as _;

use super::uplink::Source;
use super::{Effect, PUBLISHER, Phase, Session, say};
use crate::history::{Demand, Device};

impl Session {
    /// Publishes; a client that is not in the room yet does so as soon as it is.
    pub(crate) fn publish(&mut self, now: Instant, id: u32, device: Device, out: &mut Vec<Effect>) {
        let source = Source::new(id, device, now, &mut self.rng);
        let announcement = source.announcement();
        self.sources.push(source);
        if self.phase != Phase::In {
            return;
        }
        self.add_sending(id);
        // Announcement and offer race each other in real clients. Not here once an announcement may
        // be left without a section: a server that cannot tell tracks by their ids gives a section
        // to the oldest announcement that waits.
        let offer_first = id.is_multiple_of(2) && !self.has_resumed && self.ended.is_empty();
        if offer_first {
            self.offer(now, out);
        }
        out.push(say(signal_request::Message::AddTrack(announcement)));
        if !offer_first {
            self.offer(now, out);
        }
    }

    /// Announces sources that were published before it was in the room.
    pub(super) fn announce_sources(&mut self, now: Instant, out: &mut Vec<Effect>) {
        for source in &self.sources {
            out.push(say(signal_request::Message::AddTrack(source.announcement())));
        }
        if self.add_missing_sections() {
            self.offer(now, out);
        }
    }

    /// Stops publishing one of its sources.
    pub(crate) fn unpublish(&mut self, now: Instant, pick: u32, out: &mut Vec<Effect>) {
        if self.phase != Phase::In || self.sources.is_empty() {
            return;
        }
        let source = self.sources.remove(pick as usize % self.sources.len());
        self.end_sending(source.id);
        self.offer(now, out);
    }

    pub(crate) fn mute(&mut self, pick: u32, muted: bool, out: &mut Vec<Effect>) {
        let count = self.sources.len().max(1);
        let Some(source) = self.sources.get_mut(pick as usize % count) else {
            return;
        };
        source.muted = muted;
        if !muted {
            source.unmuted();
        }
        if let Some(sid) = source.sid.clone() {
            out.push(say(signal_request::Message::Mute(MuteTrackRequest { sid, muted })));
        }
    }

    pub(crate) fn subscribe(&self, pick: u32, subscribe: bool, out: &mut Vec<Effect>) {
        let Some(sid) = self.pick_track(pick) else { return };
        let request = UpdateSubscription {
            track_sids: vec![sid],
            subscribe,
            ..UpdateSubscription::default()
        };
        out.push(say(signal_request::Message::Subscription(request)));
    }

    pub(crate) fn set(&mut self, pick: u32, wish: Demand, out: &mut Vec<Effect>) {
        let Some(sid) = self.pick_track(pick) else { return };
        if wish == Demand::Nothing {
            self.unwanted.insert(sid.clone());
        } else {
            self.unwanted.remove(&sid);
        }
        let mut request = UpdateTrackSettings {
            track_sids: vec![sid],
            ..UpdateTrackSettings::default()
        };
        match wish {
            Demand::Nothing => request.disabled = true,
            Demand::Quality(quality) => {
                request
                    .set_quality([VideoQuality::Low, VideoQuality::Medium, VideoQuality::High][usize::from(quality)]);
            }
            Demand::Width(width) => (request.width, request.height) = (width, width * 9 / 16),
        }
        out.push(say(signal_request::Message::TrackSetting(request)));
    }

    /// Allows everybody, or everybody but one.
    pub(crate) fn permit(&self, pick: u32, allow: bool, out: &mut Vec<Effect>) {
        let excluded = pick as usize % self.identities.len().max(1);
        let others = self
            .identities
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != excluded);
        let permission = |(_, (sid, identity)): (usize, (&String, &String))| TrackPermission {
            participant_sid: sid.clone(),
            participant_identity: identity.clone(),
            all_tracks: true,
            ..TrackPermission::default()
        };
        let track_permissions = if allow {
            Vec::new()
        } else {
            others.map(permission).collect()
        };
        let request = SubscriptionPermission {
            all_participants: allow,
            track_permissions,
        };
        out.push(say(signal_request::Message::SubscriptionPermission(request)));
    }

    /// A message for everybody or for one of the others, under a false name: the server must
    /// correct it.
    pub(crate) fn message(&self, id: u64, reliable: bool, to: Option<u32>) -> (Vec<u8>, Option<String>) {
        let pick = |pick: u32| {
            self.identities
                .values()
                .nth(pick as usize % self.identities.len().max(1))
                .cloned()
        };
        let to = to.and_then(pick);
        let user = UserPacket {
            payload: id.to_be_bytes().to_vec(),
            ..UserPacket::default()
        };
        let packet = DataPacket {
            participant_identity: "somebody else".to_owned(),
            destination_identities: to.iter().cloned().collect(),
            sequence: if reliable { id as u32 } else { 0 },
            value: Some(Value::User(user)),
            ..DataPacket::default()
        };
        (packet.encode_to_vec(), to)
    }

    pub(crate) fn rename(&self, pick: u32, out: &mut Vec<Effect>) {
        let request = UpdateParticipantMetadata {
            name: format!("name {pick}"),
            metadata: format!("{pick}"),
            request_id: pick,
            ..UpdateParticipantMetadata::default()
        };
        out.push(say(signal_request::Message::UpdateMetadata(request)));
    }

    pub(crate) fn simulate(&self, pick: u32, out: &mut Vec<Effect>) {
        let scenario = match pick % 6 {
            0 => Scenario::SpeakerUpdate(2),
            1 => Scenario::NodeFailure(true),
            2 => Scenario::Migration(true),
            3 => Scenario::DisconnectSignalOnResume(true),
            4 => Scenario::DisconnectSignalOnResumeNoMessages(true),
            _ => Scenario::LeaveRequestFullReconnect(true),
        };
        out.push(say(signal_request::Message::Simulate(SimulateScenario {
            scenario: Some(scenario),
        })));
    }

    pub(crate) fn leave(&mut self, out: &mut Vec<Effect>) {
        out.push(say(signal_request::Message::Leave(LeaveRequest::default())));
        out.push(Effect::Over { rejoin: false });
    }

    /// Its receiver has lost every video.
    pub(crate) fn ask_key_frames(&self, out: &mut Vec<Effect>) {
        let peer = if self.how.dual { super::SUBSCRIBER } else { PUBLISHER };
        let mut datagrams = Vec::new();
        if self.transports[peer]
            .as_ref()
            .is_some_and(|transport| transport.is_ready())
        {
            self.downlink.ask_key_frames(&mut datagrams);
        }
        out.extend(datagrams.into_iter().map(|bytes| Effect::Send(peer, bytes)));
    }

    fn pick_track(&self, pick: u32) -> Option<String> {
        let tracks: Vec<&String> = self.others.values().flatten().collect();
        tracks
            .get(pick as usize % tracks.len().max(1))
            .map(|sid| (*sid).clone())
    }
}
