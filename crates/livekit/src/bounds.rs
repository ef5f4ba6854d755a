//! How much a client's message may hold: every text and every list of every message has its limit
//! here, and nowhere else.
//!
//! Messages are taken apart field by field, so a field that a newer protocol adds does not compile
//! before it has a limit. A message that others are told of is refused whole; lists that only
//! choose among what there is are cut. Values that the protocol has no name for are left out, since
//! the JSON form of a message cannot say them.

use std::collections::{BTreeSet, HashMap};

use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::{
    AddTrackRequest, AudioTrackFeature, BackupCodecPolicy, ClientInfo, DataBlob, DataBlobKey, DataChannelInfo,
    DataChannelReceiveState, DataTrackFrameEncoding, DataTrackInfo, DataTrackSchemaEncoding, DataTrackSchemaId,
    GetDataBlobRequest, JoinRequest, LeaveRequest, MuteTrackRequest, PacketTrailerFeature, ParticipantTracks,
    PublishDataTrackRequest, PublishDataTrackResponse, RegionInfo, SessionDescription, SimulcastCodec,
    SimulcastCodecInfo, StoreDataBlobRequest, SubscriptionPermission, SyncState, TrackInfo, TrackPermission,
    TrackPublishedResponse, TrackSource, TrackType, TrickleRequest, UpdateDataSubscription, UpdateLocalAudioTrack,
    UpdateLocalVideoTrack, UpdateParticipantMetadata, UpdateSubscription, UpdateTrackSettings, UpdateVideoLayers,
    VideoLayer, VideoQuality, client_info, data_blob_key, data_track_frame_encoding, data_track_schema_encoding,
    encryption, video_layer,
};

use crate::limits::{
    ATTRIBUTES_MAX, BLOB_BYTES_MAX, CHANNELS_MAX, CID_MAX, CODECS_MAX, ENCODING_MAX, IDENTITY_MAX, LAYERS_MAX,
    MESSAGE_MAX, METADATA_MAX, NAME_MAX, PARTICIPANTS_MAX, PENDING_TRACKS_MAX, PERMISSIONS_MAX, REGIONS_MAX,
    REQUEST_TRACKS_MAX, RID_MAX, TEXT_MAX, TRACKS_MAX,
};

/// A text or a list that is too long, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded(pub(crate) &'static str);

/// Whether anything was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    Part,
}

/// Checks a message and leaves out of it what is too much of a list.
///
/// Errors: what is too long and cannot be cut.
pub(crate) fn message(message: &mut Said) -> Result<Extent, Exceeded> {
    let mut bounds = Bounds { kept: Extent::All };
    match message {
        Said::Offer(it) | Said::Answer(it) => bounds.description(it),
        Said::Trickle(TrickleRequest {
            candidate_init,
            target: _,
            r#final: _,
        }) => text("candidate", candidate_init, TEXT_MAX),
        Said::AddTrack(it) => add_track(it),
        Said::Mute(MuteTrackRequest { sid, muted: _ }) => id(sid),
        Said::Subscription(it) => bounds.subscription(it),
        Said::TrackSetting(it) => bounds.settings(it),
        Said::Leave(LeaveRequest {
            can_reconnect: _,
            reason: _,
            action: _,
            regions,
        }) => regions
            .iter_mut()
            .try_for_each(|regions| bounds.regions(&mut regions.regions)),
        Said::UpdateLayers(UpdateVideoLayers {
            track_sid,
            layers: sizes,
        }) => id(track_sid).and(layers(sizes)),
        Said::SubscriptionPermission(it) => bounds.permissions(it),
        Said::SyncState(it) => bounds.sync_state(it),
        Said::Simulate(_) | Said::Ping(_) | Said::PingReq(_) => Ok(()),
        Said::UpdateMetadata(it) => metadata(it),
        Said::UpdateAudioTrack(UpdateLocalAudioTrack { track_sid, features }) => {
            set::<AudioTrackFeature>(features);
            id(track_sid)
        }
        Said::UpdateVideoTrack(UpdateLocalVideoTrack {
            track_sid,
            width: _,
            height: _,
        }) => id(track_sid),
        Said::PublishDataTrackRequest(it) => publish_data_track(it),
        Said::UnpublishDataTrackRequest(_) => Ok(()),
        Said::UpdateDataSubscription(it) => bounds.data_subscription(it),
        Said::StoreDataBlobRequest(StoreDataBlobRequest { request_id: _, blob }) => blob.iter().try_for_each(data_blob),
        Said::GetDataBlobRequest(GetDataBlobRequest {
            request_id: _,
            participant_identity,
            key,
        }) => {
            id(participant_identity)?;
            key.iter().try_for_each(blob_key)
        }
    }?;
    Ok(bounds.kept)
}

/// Checks what a client says of itself when it joins.
///
/// Errors: what is too long.
pub(crate) fn join(request: &mut JoinRequest) -> Result<(), Exceeded> {
    let mut bounds = Bounds { kept: Extent::All };
    let JoinRequest {
        client_info,
        connection_settings: _,
        metadata,
        participant_attributes,
        add_track_requests,
        publisher_offer,
        reconnect: _,
        reconnect_reason: _,
        participant_sid,
        sync_state,
    } = request;
    text("metadata", metadata, METADATA_MAX)?;
    attributes(participant_attributes)?;
    id(participant_sid)?;
    few("tracks", add_track_requests, PENDING_TRACKS_MAX)?;
    client_info.iter_mut().try_for_each(client)?;
    add_track_requests.iter_mut().try_for_each(add_track)?;
    publisher_offer
        .iter_mut()
        .try_for_each(|offer| bounds.description(offer))?;
    sync_state.iter_mut().try_for_each(|state| bounds.sync_state(state))
}

fn client(client: &mut ClientInfo) -> Result<(), Exceeded> {
    let ClientInfo {
        sdk,
        version,
        protocol: _,
        os,
        os_version,
        device_model,
        browser,
        browser_version,
        address,
        network,
        other_sdks,
        client_protocol: _,
        capabilities,
    } = client;
    known::<client_info::Sdk>(sdk);
    set::<client_info::Capability>(capabilities);
    let texts = [
        version,
        os,
        os_version,
        device_model,
        browser,
        browser_version,
        address,
        network,
        other_sdks,
    ];
    texts
        .into_iter()
        .try_for_each(|said| text("client information", said, TEXT_MAX))
}

fn add_track(request: &mut AddTrackRequest) -> Result<(), Exceeded> {
    let AddTrackRequest {
        cid,
        name,
        r#type,
        width: _,
        height: _,
        muted: _,
        disable_dtx: _,
        source,
        layers: sizes,
        simulcast_codecs,
        sid,
        stereo: _,
        disable_red: _,
        encryption,
        stream,
        backup_codec_policy,
        audio_features,
        packet_trailer_features,
    } = request;
    if TrackType::try_from(*r#type).is_err() {
        // A kind that nobody knows is no media.
        *r#type = TrackType::Data.into();
    }
    known::<TrackSource>(source);
    known::<encryption::Type>(encryption);
    known::<BackupCodecPolicy>(backup_codec_policy);
    set::<AudioTrackFeature>(audio_features);
    set::<PacketTrailerFeature>(packet_trailer_features);
    text("client id", cid, CID_MAX)?;
    text("name", name, TEXT_MAX)?;
    text("stream", stream, TEXT_MAX)?;
    id(sid)?;
    layers(sizes)?;
    few("codecs", simulcast_codecs, CODECS_MAX)?;
    for SimulcastCodec {
        codec,
        cid,
        layers: sizes,
        video_layer_mode,
    } in simulcast_codecs
    {
        known::<video_layer::Mode>(video_layer_mode);
        text("codec", codec, CID_MAX)?;
        text("client id", cid, CID_MAX)?;
        layers(sizes)?;
    }
    Ok(())
}

fn layers(layers: &mut Vec<VideoLayer>) -> Result<(), Exceeded> {
    few("layers", layers, LAYERS_MAX)?;
    for layer in layers {
        let VideoLayer {
            quality,
            width: _,
            height: _,
            bitrate: _,
            ssrc: _,
            spatial_layer: _,
            rid,
            repair_ssrc: _,
        } = layer;
        known::<VideoQuality>(quality);
        text("rid", rid, RID_MAX)?;
    }
    Ok(())
}

fn metadata(request: &UpdateParticipantMetadata) -> Result<(), Exceeded> {
    let UpdateParticipantMetadata {
        metadata,
        name,
        attributes: said,
        request_id: _,
    } = request;
    text("metadata", metadata, METADATA_MAX)?;
    text("name", name, NAME_MAX)?;
    attributes(said)
}

fn attributes(attributes: &HashMap<String, String>) -> Result<(), Exceeded> {
    let len: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
    (len <= ATTRIBUTES_MAX).then_some(()).ok_or(Exceeded("attributes"))
}

fn publish_data_track(request: &PublishDataTrackRequest) -> Result<(), Exceeded> {
    let PublishDataTrackRequest {
        pub_handle: _,
        name,
        encryption: _,
        frame_encoding,
        schema: of,
    } = request;
    text("name", name, TEXT_MAX)?;
    frame_encoding.iter().try_for_each(encoding)?;
    of.iter().try_for_each(schema)
}

fn encoding(encoding: &DataTrackFrameEncoding) -> Result<(), Exceeded> {
    match &encoding.value {
        Some(data_track_frame_encoding::Value::Custom(name)) => text("encoding", name, ENCODING_MAX),
        Some(data_track_frame_encoding::Value::WellKnown(_)) | None => Ok(()),
    }
}

fn schema(schema: &DataTrackSchemaId) -> Result<(), Exceeded> {
    let DataTrackSchemaId { name, encoding } = schema;
    id(name)?;
    match encoding {
        Some(DataTrackSchemaEncoding {
            value: Some(data_track_schema_encoding::Value::Custom(name)),
        }) => text("encoding", name, ENCODING_MAX),
        _ => Ok(()),
    }
}

fn data_blob(blob: &DataBlob) -> Result<(), Exceeded> {
    let DataBlob { key, contents } = blob;
    few("blob", contents, BLOB_BYTES_MAX)?;
    key.iter().try_for_each(blob_key)
}

fn blob_key(key: &DataBlobKey) -> Result<(), Exceeded> {
    match &key.key {
        Some(data_blob_key::Key::Generic(name)) => id(name),
        Some(data_blob_key::Key::SchemaId(of)) => schema(of),
        None => Ok(()),
    }
}

/// The lists that may be cut.
struct Bounds {
    kept: Extent,
}

impl Bounds {
    fn cut<T>(&mut self, list: &mut Vec<T>, max: usize) {
        if list.len() > max {
            list.truncate(max);
            list.shrink_to_fit();
            self.kept = Extent::Part;
        }
    }

    fn ids(&mut self, list: &mut Vec<String>, max: usize) -> Result<(), Exceeded> {
        self.cut(list, max);
        list.iter().try_for_each(|said| id(said))
    }

    fn description(&mut self, description: &mut SessionDescription) -> Result<(), Exceeded> {
        let SessionDescription {
            r#type,
            sdp,
            id: _,
            mid_to_track_id,
        } = description;
        text("type", r#type, CID_MAX)?;
        text("description", sdp, MESSAGE_MAX)?;
        if !mid_to_track_id.is_empty() {
            // Only we say which section is which track.
            mid_to_track_id.clear();
            mid_to_track_id.shrink_to_fit();
        }
        Ok(())
    }

    fn subscription(&mut self, request: &mut UpdateSubscription) -> Result<(), Exceeded> {
        let UpdateSubscription {
            track_sids,
            subscribe: _,
            participant_tracks,
        } = request;
        self.ids(track_sids, REQUEST_TRACKS_MAX)?;
        self.cut(participant_tracks, PARTICIPANTS_MAX);
        for ParticipantTracks {
            participant_sid,
            track_sids,
        } in participant_tracks
        {
            id(participant_sid)?;
            self.ids(track_sids, TRACKS_MAX)?;
        }
        Ok(())
    }

    fn settings(&mut self, request: &mut UpdateTrackSettings) -> Result<(), Exceeded> {
        let UpdateTrackSettings {
            track_sids,
            disabled: _,
            quality,
            width: _,
            height: _,
            fps: _,
            priority: _,
        } = request;
        known::<VideoQuality>(quality);
        self.ids(track_sids, REQUEST_TRACKS_MAX)
    }

    fn regions(&mut self, regions: &mut Vec<RegionInfo>) -> Result<(), Exceeded> {
        self.cut(regions, REGIONS_MAX);
        for RegionInfo {
            region,
            url,
            distance: _,
        } in regions
        {
            text("region", region, TEXT_MAX)?;
            text("region", url, TEXT_MAX)?;
        }
        Ok(())
    }

    fn permissions(&mut self, request: &mut SubscriptionPermission) -> Result<(), Exceeded> {
        let SubscriptionPermission {
            all_participants: _,
            track_permissions,
        } = request;
        self.cut(track_permissions, PERMISSIONS_MAX);
        for permission in track_permissions {
            let TrackPermission {
                participant_sid,
                all_tracks: _,
                track_sids,
                participant_identity,
            } = permission;
            id(participant_sid)?;
            id(participant_identity)?;
            self.ids(track_sids, TRACKS_MAX)?;
        }
        Ok(())
    }

    fn data_subscription(&mut self, request: &mut UpdateDataSubscription) -> Result<(), Exceeded> {
        let UpdateDataSubscription { updates } = request;
        self.cut(updates, REQUEST_TRACKS_MAX);
        updates.iter().try_for_each(|update| id(&update.track_sid))
    }

    fn sync_state(&mut self, state: &mut SyncState) -> Result<(), Exceeded> {
        let SyncState {
            answer,
            subscription,
            publish_tracks,
            data_channels,
            offer,
            track_sids_disabled,
            datachannel_receive_states,
            publish_data_tracks,
            data_subscription,
        } = state;
        let descriptions = answer.iter_mut().chain(offer);
        for description in descriptions {
            self.description(description)?;
        }
        subscription.iter_mut().try_for_each(|it| self.subscription(it))?;
        self.cut(publish_tracks, TRACKS_MAX);
        for TrackPublishedResponse { cid, track } in publish_tracks {
            text("client id", cid, CID_MAX)?;
            track.iter_mut().try_for_each(track_info)?;
        }
        self.cut(data_channels, CHANNELS_MAX);
        for DataChannelInfo {
            label,
            id: _,
            target: _,
        } in data_channels
        {
            text("label", label, CID_MAX)?;
        }
        self.ids(track_sids_disabled, REQUEST_TRACKS_MAX)?;
        self.cut(datachannel_receive_states, PARTICIPANTS_MAX);
        for DataChannelReceiveState {
            publisher_sid,
            last_seq: _,
        } in datachannel_receive_states
        {
            id(publisher_sid)?;
        }
        self.cut(publish_data_tracks, TRACKS_MAX);
        for PublishDataTrackResponse { info } in publish_data_tracks {
            info.iter().try_for_each(data_track)?;
        }
        data_subscription
            .iter_mut()
            .try_for_each(|it| self.data_subscription(it))
    }
}

/// A track as its publisher remembers it.
fn track_info(info: &mut TrackInfo) -> Result<(), Exceeded> {
    let TrackInfo {
        sid,
        r#type: _,
        name,
        muted: _,
        width: _,
        height: _,
        simulcast: _,
        disable_dtx: _,
        source: _,
        layers: sizes,
        mime_type,
        mid,
        codecs,
        stereo: _,
        disable_red: _,
        encryption: _,
        stream,
        version: _,
        audio_features,
        backup_codec_policy: _,
        packet_trailer_features,
    } = info;
    set::<AudioTrackFeature>(audio_features);
    set::<PacketTrailerFeature>(packet_trailer_features);
    id(sid)?;
    id(mime_type)?;
    for said in [mid, name, stream] {
        text("track", said, TEXT_MAX)?;
    }
    layers(sizes)?;
    few("codecs", codecs, CODECS_MAX)?;
    for codec in codecs {
        let SimulcastCodecInfo {
            mime_type,
            mid,
            cid,
            layers: sizes,
            video_layer_mode: _,
            sdp_cid,
        } = codec;
        for said in [mime_type, mid, cid, sdp_cid] {
            text("codec", said, TEXT_MAX)?;
        }
        layers(sizes)?;
    }
    Ok(())
}

fn data_track(info: &DataTrackInfo) -> Result<(), Exceeded> {
    let DataTrackInfo {
        pub_handle: _,
        sid,
        name,
        encryption: _,
        frame_encoding,
        schema: of,
    } = info;
    id(sid)?;
    text("name", name, TEXT_MAX)?;
    frame_encoding.iter().try_for_each(encoding)?;
    of.iter().try_for_each(schema)
}

fn id(said: &str) -> Result<(), Exceeded> {
    text("id", said, IDENTITY_MAX)
}

fn text(what: &'static str, said: &str, max: usize) -> Result<(), Exceeded> {
    few(what, said.as_bytes(), max)
}

fn few<T>(what: &'static str, list: &[T], max: usize) -> Result<(), Exceeded> {
    (list.len() <= max).then_some(()).ok_or(Exceeded(what))
}

/// Each value that has a name once.
fn set<E: TryFrom<i32>>(values: &mut Vec<i32>) {
    let mut seen = BTreeSet::new();
    values.retain(|value| E::try_from(*value).is_ok() && seen.insert(*value));
    values.shrink_to_fit();
}

/// A value that has a name, or else the first.
fn known<E: TryFrom<i32>>(value: &mut i32) {
    if E::try_from(*value).is_err() {
        *value = 0;
    }
}
