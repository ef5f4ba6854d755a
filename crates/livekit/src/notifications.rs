//! From what the controller tells a participant to the message a client knows.

use controller::{
    CodecDemand, DisabledCodecs, EndAction, EndReason, Joined, LocalDescription, Notification, PeerMode, QualityInfo,
    Request, Resumed, SpeakerInfo, StreamState, TrackDemand, VideoQuality,
};
use livekit_protocol as proto;
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_response::Message;
use prost::Message as _;
use wire::{Codec, MediaKind};

use crate::blobs;
use crate::client_rules::{enabled_codecs, told};
use crate::convert::Numbered;
use crate::data::tracks as data_tracks;
use crate::frame::{Ledger, Parts};
use crate::infos;
use crate::requests;

/// The seconds by which clients notice that their connection is lost.
#[derive(Clone, Copy, Debug)]
pub struct Pings {
    /// How often a client pings.
    pub interval: u16,
    /// How long a client waits for any message before it gives the connection up.
    pub timeout: u16,
}

impl Default for Pings {
    fn default() -> Self {
        Pings {
            interval: 5,
            timeout: 15,
        }
    }
}

/// Numbers of fields: of messages in `SignalResponse`, and of the lists of participants in them.
mod field {
    pub(super) const JOIN: u32 = 1;
    pub(super) const UPDATE: u32 = 5;
    pub(super) const OTHER_PARTICIPANTS: u32 = 3;
    pub(super) const PARTICIPANTS: u32 = 1;
}

/// A notification whose list of participants is shared with other messages.
///
/// Errors: the notification, if it has no such list.
#[expect(
    clippy::result_large_err,
    reason = "a notification without a list goes on as it came"
)]
pub(crate) fn parts(notification: Notification, pings: Pings, ledger: &Ledger) -> Result<Parts, Notification> {
    let (number, before, list, participants) = match notification {
        Notification::Joined(mut joined) => {
            let others = std::mem::take(&mut joined.others);
            let before = join(*joined, pings).encode_to_vec();
            (field::JOIN, before, field::OTHER_PARTICIPANTS, others)
        }
        Notification::Participants(infos) => (field::UPDATE, Vec::new(), field::PARTICIPANTS, infos),
        other => return Err(other),
    };
    let elements = participants.iter().map(|snapshot| infos::element(ledger, snapshot));
    Ok(Parts::new(ledger, number, &before, list, elements))
}

/// A notification as a message; `None` for what the protocol has no message for.
pub(crate) fn message(notification: Notification, pings: Pings) -> Option<Message> {
    Some(match notification {
        Notification::Joined(joined) => Message::Join(join(*joined, pings)),
        Notification::Resumed(resumed) => Message::Reconnect(reconnect(resumed)),
        Notification::Offer(offer) => Message::Offer(description("offer", offer)),
        Notification::Answer(answer) => Message::Answer(description("answer", answer)),
        Notification::TrackPublished { cid, track } => Message::TrackPublished(proto::TrackPublishedResponse {
            cid,
            track: Some(infos::track(track)),
        }),
        Notification::TrackUnpublished { track_sid } => {
            Message::TrackUnpublished(proto::TrackUnpublishedResponse { track_sid })
        }
        Notification::TrackSubscribed { track_sid } => Message::TrackSubscribed(proto::TrackSubscribed { track_sid }),
        Notification::MuteTrack { track_sid, muted } => {
            Message::Mute(proto::MuteTrackRequest { sid: track_sid, muted })
        }
        Notification::TrackDemand(demand) => match demand.kind {
            MediaKind::Audio => Message::SubscribedAudioCodecUpdate(audio_demand(demand)),
            MediaKind::Video => Message::SubscribedQualityUpdate(track_demand(demand)),
        },
        Notification::Participants(infos) => Message::Update(proto::ParticipantUpdate {
            participants: infos::participants(&infos),
        }),
        Notification::Room(room) => Message::RoomUpdate(proto::RoomUpdate {
            room: Some(infos::room(room)),
        }),
        Notification::Speakers(speakers) => Message::SpeakersChanged(proto::SpeakersChanged {
            speakers: speakers.into_iter().map(speaker).collect(),
        }),
        Notification::ConnectionQuality(updates) => Message::ConnectionQuality(proto::ConnectionQualityUpdate {
            updates: updates.into_iter().map(quality).collect(),
        }),
        Notification::StreamStates(states) => Message::StreamStateUpdate(proto::StreamStateUpdate {
            stream_states: states.into_iter().map(stream_state).collect(),
        }),
        Notification::TrackPermission {
            participant_sid,
            track_sid,
            allowed,
        } => Message::SubscriptionPermissionUpdate(proto::SubscriptionPermissionUpdate {
            participant_sid,
            track_sid,
            allowed,
        }),
        Notification::SubscriptionFailed { track_sid, error } => {
            let err = error.number();
            Message::SubscriptionResponse(proto::SubscriptionResponse { track_sid, err })
        }
        Notification::SectionsNeeded { audios, videos } => {
            Message::MediaSectionsRequirement(proto::MediaSectionsRequirement {
                num_audios: audios,
                num_videos: videos,
            })
        }
        Notification::Token(token) => Message::RefreshToken(token),
        Notification::Pong { asked: None, now } => Message::Pong(now),
        Notification::Pong {
            asked: Some(asked),
            now,
        } => Message::PongResp(proto::Pong {
            last_ping_timestamp: asked,
            timestamp: now,
        }),
        Notification::DataTrackPublished(info) => Message::PublishDataTrackResponse(proto::PublishDataTrackResponse {
            info: Some(data_tracks::info(info)),
        }),
        Notification::DataTrackUnpublished(info) => {
            Message::UnpublishDataTrackResponse(proto::UnpublishDataTrackResponse {
                info: Some(data_tracks::info(info)),
            })
        }
        Notification::DataTrackHandles(handles) => Message::DataTrackSubscriberHandles(data_tracks::handles(handles)),
        Notification::BlobStored { request_id, key } => Message::StoreDataBlobResponse(proto::StoreDataBlobResponse {
            request_id,
            key: Some(blobs::key(key)),
        }),
        Notification::Blob { request_id, blob } => Message::GetDataBlobResponse(proto::GetDataBlobResponse {
            request_id,
            blob: Some(blobs::blob(blob)),
        }),
        Notification::Accepted(request) => Message::RequestResponse(response(Reason::Ok.into(), "", request)?),
        Notification::Refused {
            request,
            reason,
            message,
        } => Message::RequestResponse(response(reason.number(), message, request)?),
        Notification::Ended { reason, action } => leave(reason, action),
    })
}

/// `None` for requests that the protocol does not answer.
fn response(reason: i32, message: &str, request: Request) -> Option<proto::RequestResponse> {
    let (request_id, request) = requests::repeated(request)?;
    Some(proto::RequestResponse {
        request_id,
        reason,
        message: message.to_owned(),
        request,
    })
}

/// The protocol's way to say that a session is over, or must begin anew.
fn leave(reason: EndReason, action: EndAction) -> Message {
    Message::Leave(proto::LeaveRequest {
        // For clients from before there were actions.
        can_reconnect: action != EndAction::Disconnect,
        reason: reason.number(),
        action: action.number(),
        regions: None,
    })
}

/// The first message: everything there is to know.
fn join(joined: Joined, pings: Pings) -> proto::JoinResponse {
    let fast_publish = joined.participant.permission.publish;
    let configuration = configuration(joined.disabled_codecs, joined.server.relay_only);
    proto::JoinResponse {
        room: Some(infos::room(joined.room)),
        participant: Some(infos::participant(joined.participant)),
        other_participants: infos::participants(&joined.others),
        server_version: infos::SERVER_VERSION.to_owned(),
        server_info: Some(infos::server(&joined.server)),
        ice_servers: infos::ice_servers(joined.server.ice_servers),
        subscriber_primary: joined.mode == PeerMode::Dual,
        client_configuration: Some(configuration),
        server_region: joined.server.region,
        ping_timeout: pings.timeout.into(),
        ping_interval: pings.interval.into(),
        enabled_publish_codecs: enabled_codecs(joined.disabled_codecs),
        fast_publish,
        ..proto::JoinResponse::default()
    }
}

fn reconnect(resumed: Resumed) -> proto::ReconnectResponse {
    proto::ReconnectResponse {
        client_configuration: Some(configuration(resumed.disabled_codecs, resumed.server.relay_only)),
        server_info: Some(infos::server(&resumed.server)),
        ice_servers: infos::ice_servers(resumed.server.ice_servers),
        last_message_seq: resumed.last_sequence,
    }
}

fn configuration(disabled: DisabledCodecs, relay_only: bool) -> proto::ClientConfiguration {
    let force_relay = match relay_only {
        true => proto::ClientConfigSetting::Enabled,
        false => proto::ClientConfigSetting::Unset,
    };
    proto::ClientConfiguration {
        force_relay: force_relay.into(),
        disabled_codecs: told(disabled),
        ..proto::ClientConfiguration::default()
    }
}

fn description(kind: &str, description: LocalDescription) -> proto::SessionDescription {
    proto::SessionDescription {
        r#type: kind.to_owned(),
        sdp: description.sdp,
        id: description.id,
        mid_to_track_id: description.tracks.into_iter().collect(),
    }
}

fn speaker(speaker: SpeakerInfo) -> proto::SpeakerInfo {
    proto::SpeakerInfo {
        sid: speaker.participant_sid,
        level: speaker.level,
        active: speaker.level > 0.0,
    }
}

fn quality(info: QualityInfo) -> proto::ConnectionQualityInfo {
    proto::ConnectionQualityInfo {
        participant_sid: info.participant_sid,
        quality: info.quality.number(),
        score: info.score,
    }
}

fn stream_state(state: StreamState) -> proto::StreamStateInfo {
    let word = match state.paused {
        true => proto::StreamState::Paused,
        false => proto::StreamState::Active,
    };
    proto::StreamStateInfo {
        participant_sid: state.participant_sid,
        track_sid: state.track_sid,
        state: word.into(),
    }
}

fn track_demand(demand: TrackDemand) -> proto::SubscribedQualityUpdate {
    let first = demand.codecs.first().and_then(|codec| codec.wanted);
    proto::SubscribedQualityUpdate {
        track_sid: demand.track_sid,
        // Older clients read nothing else.
        subscribed_qualities: qualities(first),
        subscribed_codecs: demand.codecs.into_iter().map(codec_demand).collect(),
    }
}

fn audio_demand(demand: TrackDemand) -> proto::SubscribedAudioCodecUpdate {
    let codecs = demand.codecs.into_iter().map(|demand| proto::SubscribedAudioCodec {
        codec: codec_name(demand.codec),
        enabled: demand.wanted.is_some(),
    });
    proto::SubscribedAudioCodecUpdate {
        track_sid: demand.track_sid,
        subscribed_audio_codecs: codecs.collect(),
    }
}

/// In small letters, without the kind, as publishers compare it.
fn codec_name(codec: Option<Codec>) -> String {
    codec
        .map(|codec| codec.to_string().to_ascii_lowercase())
        .unwrap_or_default()
}

fn codec_demand(demand: CodecDemand) -> proto::SubscribedCodec {
    proto::SubscribedCodec {
        codec: codec_name(demand.codec),
        qualities: qualities(demand.wanted),
    }
}

fn qualities(wanted: Option<VideoQuality>) -> Vec<proto::SubscribedQuality> {
    let levels = [VideoQuality::Low, VideoQuality::Medium, VideoQuality::High];
    let qualities = levels.map(|quality| proto::SubscribedQuality {
        quality: quality.number(),
        enabled: wanted.is_some_and(|wanted| quality <= wanted),
    });
    qualities.to_vec()
}
