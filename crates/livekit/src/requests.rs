//! From a client's message to the controller's request, and back where the protocol repeats a
//! request in its answer.

use controller::{
    AddTrack, CodecRequest, Counter, GetBlob, IceProtocol, MuteTrack, Ping, RefusalReason, Request, Scenario,
    StoreBlob, SyncState, TrackPermission, TrackSettings, UpdateAudioTrack, UpdateLayers, UpdateMetadata,
    UpdateSubscription, UpdateTrackPermissions, UpdateVideoTrack,
};
use livekit_protocol as proto;
use livekit_protocol::request_response;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::simulate_scenario::Scenario as ProtoScenario;
use wire::MediaKind;

use crate::blobs;
use crate::bounds::Exceeded;
use crate::convert::{Numbered, numbers, value, values};
use crate::data::tracks as data_tracks;
use crate::infos::{layers, layers_told};
use crate::limits::CID_MAX;

/// The outcome of a message.
pub(crate) enum Translated {
    /// The controller decides about it.
    Request(Request),
    /// It is refused here.
    Refused(Refused),
}

/// A refusal of the front end's own.
pub(crate) struct Refused {
    pub(crate) counter: Counter,
    /// `None` where the protocol has no answer.
    pub(crate) answer: Option<Box<Message>>,
}

/// Translates a message whose limits have been checked.
pub(crate) fn translate(said: Said) -> Translated {
    Translated::Request(match said {
        // Descriptions come as such. We are found at one address and find clients by their checks:
        // candidates tell us nothing.
        Said::Offer(_) | Said::Answer(_) | Said::Trickle(_) => Request::Alive,
        Said::AddTrack(request) => Request::AddTrack(add_track(request)),
        Said::Mute(request) => Request::MuteTrack(MuteTrack {
            sid: request.sid,
            muted: request.muted,
        }),
        Said::Subscription(request) => Request::UpdateSubscription(UpdateSubscription {
            subscribe: request.subscribe,
            track_sids: listed(request),
        }),
        Said::TrackSetting(request) => Request::UpdateTrackSettings(settings(request)),
        Said::Leave(_) => Request::Leave,
        Said::UpdateLayers(request) => Request::UpdateLayers(UpdateLayers {
            track_sid: request.track_sid,
            layers: layers(request.layers),
        }),
        Said::SubscriptionPermission(request) => Request::UpdateTrackPermissions(permissions(request)),
        Said::SyncState(state) => Request::SyncState(sync_state(state)),
        Said::Simulate(scenario) => Request::SimulateFault(scenario.scenario.and_then(self::scenario)),
        Said::Ping(_) => Request::Ping(Ping::Plain),
        Said::PingReq(ping) => Request::Ping(Ping::Timed(ping.timestamp)),
        Said::UpdateMetadata(request) => Request::UpdateMetadata(UpdateMetadata {
            request_id: request.request_id,
            name: request.name,
            metadata: request.metadata,
            attributes: request.attributes.into_iter().collect(),
        }),
        Said::UpdateAudioTrack(request) => Request::UpdateAudioTrack(UpdateAudioTrack {
            track_sid: request.track_sid,
            features: values(request.features),
        }),
        Said::UpdateVideoTrack(request) => Request::UpdateVideoTrack(UpdateVideoTrack {
            track_sid: request.track_sid,
            width: request.width,
            height: request.height,
        }),
        Said::PublishDataTrackRequest(request) => match data_tracks::publish(&request) {
            Some(request) => Request::PublishDataTrack(request),
            None => {
                let request = request_response::Request::PublishDataTrack(request);
                let (reason, text) = (RefusalReason::InvalidRequest, "encoding identifier is empty");
                return Translated::Refused(Refused::answered(0, reason, text, request));
            }
        },
        Said::UnpublishDataTrackRequest(request) => Request::UnpublishDataTrack(request.pub_handle),
        Said::UpdateDataSubscription(request) => {
            let updates = request.updates.into_iter();
            Request::UpdateDataSubscription(updates.map(|update| (update.track_sid, update.subscribe)).collect())
        }
        Said::StoreDataBlobRequest(request) => {
            return checked(request.request_id, blobs::store(request).map(Request::StoreBlob));
        }
        Said::GetDataBlobRequest(request) => {
            return checked(request.request_id, blobs::get(request).map(Request::GetBlob));
        }
    })
}

/// A request, or a refusal that says why it makes no sense.
fn checked(request_id: u32, read: Result<Request, &'static str>) -> Translated {
    match read {
        Ok(request) => Translated::Request(request),
        Err(text) => Translated::Refused(Refused::answered(request_id, RefusalReason::InvalidRequest, text, None)),
    }
}

impl Refused {
    fn silent(counter: Counter) -> Self {
        Self { counter, answer: None }
    }

    fn answered(
        request_id: u32,
        reason: RefusalReason,
        text: impl Into<String>,
        request: impl Into<Option<request_response::Request>>,
    ) -> Self {
        let counter = match reason {
            RefusalReason::NotFound => Counter::NotFound,
            RefusalReason::LimitExceeded => Counter::LimitExceeded,
            _ => Counter::NotAllowed,
        };
        Self {
            counter,
            answer: Some(Box::new(refused(request_id, reason, text.into(), request.into()))),
        }
    }

    /// A text or a list is too long. The answer names the request by its ids and does not repeat
    /// it; messages without an answer in the protocol are as if they had not come.
    pub(crate) fn excess(message: Said, what: Exceeded) -> Self {
        use request_response::Request;
        let (id, request) = match message {
            Said::Trickle(_) => (0, Request::Trickle(proto::TrickleRequest::default())),
            Said::AddTrack(request) => (0, Request::AddTrack(named(request))),
            Said::Mute(_) => (0, Request::Mute(proto::MuteTrackRequest::default())),
            Said::UpdateMetadata(proto::UpdateParticipantMetadata { request_id, .. }) => {
                let request = proto::UpdateParticipantMetadata {
                    request_id,
                    ..proto::UpdateParticipantMetadata::default()
                };
                (request_id, Request::UpdateMetadata(request))
            }
            Said::UpdateAudioTrack(_) => (0, Request::UpdateAudioTrack(proto::UpdateLocalAudioTrack::default())),
            Said::UpdateVideoTrack(_) => (0, Request::UpdateVideoTrack(proto::UpdateLocalVideoTrack::default())),
            Said::PublishDataTrackRequest(proto::PublishDataTrackRequest { pub_handle, .. }) => {
                let request = proto::PublishDataTrackRequest {
                    pub_handle,
                    ..proto::PublishDataTrackRequest::default()
                };
                (0, Request::PublishDataTrack(request))
            }
            Said::StoreDataBlobRequest(proto::StoreDataBlobRequest { request_id, .. })
            | Said::GetDataBlobRequest(proto::GetDataBlobRequest { request_id, .. }) => {
                return Self::blob_excess(request_id, what);
            }
            _ => return Self::silent(Counter::LimitExceeded),
        };
        let text = format!("{} too long", what.0);
        Self::answered(id, RefusalReason::LimitExceeded, text, request)
    }

    /// LiveKit answers a key that is too long as one that makes no sense.
    fn blob_excess(request_id: u32, what: Exceeded) -> Self {
        let reason = match what {
            Exceeded("blob") => RefusalReason::LimitExceeded,
            Exceeded(_) => RefusalReason::InvalidRequest,
        };
        Self {
            counter: Counter::LimitExceeded,
            ..Self::answered(request_id, reason, format!("{} too long", what.0), None)
        }
    }
}

/// A request that a client's message held and the front end refuses.
fn refused(
    request_id: u32,
    reason: RefusalReason,
    message: String,
    request: Option<request_response::Request>,
) -> Message {
    Message::RequestResponse(proto::RequestResponse {
        request_id,
        reason: reason.number(),
        message,
        request,
    })
}

/// A request for a track, by the client's name for it if that is one.
fn named(request: proto::AddTrackRequest) -> proto::AddTrackRequest {
    proto::AddTrackRequest {
        cid: Some(request.cid).filter(|cid| cid.len() <= CID_MAX).unwrap_or_default(),
        r#type: request.r#type,
        source: request.source,
        ..proto::AddTrackRequest::default()
    }
}

/// An announcement of a track.
pub(crate) fn add_track(request: proto::AddTrackRequest) -> AddTrack {
    let kind = match request.r#type() {
        proto::TrackType::Audio => Some(MediaKind::Audio),
        proto::TrackType::Video => Some(MediaKind::Video),
        proto::TrackType::Data => None,
    };
    AddTrack {
        cid: request.cid,
        name: request.name,
        kind,
        width: request.width,
        height: request.height,
        muted: request.muted,
        disable_dtx: request.disable_dtx,
        source: value(request.source),
        layers: layers(request.layers),
        codecs: request.simulcast_codecs.into_iter().map(codec).collect(),
        sid: request.sid,
        stereo: request.stereo,
        disable_red: request.disable_red,
        encryption: value(request.encryption),
        stream: request.stream,
        backup_codec_policy: value(request.backup_codec_policy),
        audio_features: values(request.audio_features),
        packet_trailer_features: values(request.packet_trailer_features),
    }
}

fn codec(codec: proto::SimulcastCodec) -> CodecRequest {
    CodecRequest {
        codec: codec.codec,
        cid: codec.cid,
        layers: layers(codec.layers),
        video_layer_mode: value(codec.video_layer_mode),
    }
}

fn add_track_told(request: AddTrack) -> proto::AddTrackRequest {
    let r#type = match request.kind {
        Some(MediaKind::Audio) => proto::TrackType::Audio,
        Some(MediaKind::Video) => proto::TrackType::Video,
        None => proto::TrackType::Data,
    };
    proto::AddTrackRequest {
        cid: request.cid,
        name: request.name,
        r#type: r#type.into(),
        width: request.width,
        height: request.height,
        muted: request.muted,
        disable_dtx: request.disable_dtx,
        source: request.source.number(),
        layers: layers_told(request.layers),
        simulcast_codecs: request.codecs.into_iter().map(codec_told).collect(),
        sid: request.sid,
        stereo: request.stereo,
        disable_red: request.disable_red,
        encryption: request.encryption.number(),
        stream: request.stream,
        backup_codec_policy: request.backup_codec_policy.number(),
        audio_features: numbers(request.audio_features),
        packet_trailer_features: numbers(request.packet_trailer_features),
    }
}

fn codec_told(codec: CodecRequest) -> proto::SimulcastCodec {
    proto::SimulcastCodec {
        codec: codec.codec,
        cid: codec.cid,
        layers: layers_told(codec.layers),
        video_layer_mode: codec.video_layer_mode.number(),
    }
}

/// All tracks a client names, whichever list they are in.
fn listed(request: proto::UpdateSubscription) -> Vec<String> {
    let listed = request.participant_tracks.into_iter().flat_map(|list| list.track_sids);
    request.track_sids.into_iter().chain(listed).collect()
}

fn settings(request: proto::UpdateTrackSettings) -> TrackSettings {
    TrackSettings {
        disabled: request.disabled,
        quality: value(request.quality),
        width: request.width,
        height: request.height,
        fps: request.fps,
        priority: request.priority,
        track_sids: request.track_sids,
    }
}

fn permissions(request: proto::SubscriptionPermission) -> UpdateTrackPermissions {
    let permissions = request.track_permissions.into_iter().map(|permission| TrackPermission {
        participant_sid: permission.participant_sid,
        participant_identity: permission.participant_identity,
        all_tracks: permission.all_tracks,
        track_sids: permission.track_sids,
    });
    UpdateTrackPermissions {
        all_participants: request.all_participants,
        permissions: permissions.collect(),
    }
}

/// The view that a client has of its session when it comes back.
pub(crate) fn sync_state(state: proto::SyncState) -> SyncState {
    let published = state.publish_tracks.into_iter().filter_map(|published| published.track);
    let data_published = state.publish_data_tracks.into_iter();
    let received = state.datachannel_receive_states.into_iter();
    let channels = state.data_channels.into_iter();
    let own = channels.filter(|channel| channel.target() == proto::SignalTarget::Publisher);
    SyncState {
        published_sids: published.map(|track| track.sid).collect(),
        // LiveKit takes one without an id for one that it does not know.
        published_data_sids: data_published
            .map(|published| published.info.unwrap_or_default().sid)
            .collect(),
        received: received.map(|state| (state.publisher_sid, state.last_seq)).collect(),
        exceptions: state.subscription.map(listed),
        disabled_sids: state.track_sids_disabled,
        channels: own
            .filter_map(|channel| Some((channel.label.clone(), u16::try_from(channel.id).ok()?)))
            .collect(),
    }
}

fn scenario(scenario: ProtoScenario) -> Option<Scenario> {
    Some(match scenario {
        ProtoScenario::SpeakerUpdate(_) => Scenario::Speaker,
        ProtoScenario::ServerLeave(_) => Scenario::ServerLeave,
        ProtoScenario::LeaveRequestFullReconnect(_) => Scenario::FullReconnect,
        ProtoScenario::NodeFailure(_) => Scenario::NodeFailure,
        ProtoScenario::Migration(_) => Scenario::Migration,
        ProtoScenario::DisconnectSignalOnResume(_) => Scenario::DisconnectOnResume,
        ProtoScenario::DisconnectSignalOnResumeNoMessages(_) => Scenario::DisconnectOnResumeSilently,
        ProtoScenario::SwitchCandidateProtocol(protocol) => {
            Scenario::SwitchCandidateProtocol(match proto::CandidateProtocol::try_from(protocol).ok()? {
                proto::CandidateProtocol::Udp => IceProtocol::Any,
                proto::CandidateProtocol::Tcp => IceProtocol::Tcp,
                proto::CandidateProtocol::Tls => IceProtocol::Tls,
            })
        }
        // Zero ends the limit; a negative one is none.
        ProtoScenario::SubscriberBandwidth(limit) => {
            Scenario::DownlinkLimit(u64::try_from(limit).ok().filter(|it| *it > 0))
        }
    })
}

/// The client's number for a request, and the request as its answer repeats it if it does; `None`
/// for those that are not answered.
pub(crate) fn repeated(request: Request) -> Option<(u32, Option<request_response::Request>)> {
    use request_response::Request as Repeated;
    let (id, repeated) = match request {
        Request::PublishDataTrack(request) => (0, Repeated::PublishDataTrack(data_tracks::published(request))),
        Request::UnpublishDataTrack(pub_handle) => {
            let repeated = proto::UnpublishDataTrackRequest { pub_handle };
            (0, Repeated::UnpublishDataTrack(repeated))
        }
        Request::StoreBlob(StoreBlob { request_id, .. }) | Request::GetBlob(GetBlob { request_id, .. }) => {
            return Some((request_id, None));
        }
        Request::AddTrack(request) => (0, Repeated::AddTrack(add_track_told(request))),
        Request::MuteTrack(MuteTrack { sid, muted }) => (0, Repeated::Mute(proto::MuteTrackRequest { sid, muted })),
        Request::UpdateMetadata(request) => {
            let repeated = proto::UpdateParticipantMetadata {
                metadata: request.metadata,
                name: request.name,
                attributes: request.attributes.into_iter().collect(),
                request_id: request.request_id,
            };
            (request.request_id, Repeated::UpdateMetadata(repeated))
        }
        Request::UpdateAudioTrack(UpdateAudioTrack { track_sid, features }) => {
            let features = numbers(features);
            let repeated = proto::UpdateLocalAudioTrack { track_sid, features };
            (0, Repeated::UpdateAudioTrack(repeated))
        }
        Request::UpdateVideoTrack(request) => {
            let repeated = proto::UpdateLocalVideoTrack {
                track_sid: request.track_sid,
                width: request.width,
                height: request.height,
            };
            (0, Repeated::UpdateVideoTrack(repeated))
        }
        _ => return None,
    };
    Some((id, Some(repeated)))
}
