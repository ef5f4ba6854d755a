//! Rooms, participants and tracks in the protocol's form.

use std::sync::Arc;

use controller::{
    CodecInfo, IceServer, ParticipantInfo, ParticipantSnapshot, RoomInfo, ServerInfo, TrackInfo, VideoLayer,
};
use livekit_protocol as proto;
use livekit_protocol::server_info::Edition;
use prost::Message;
use wire::MediaKind;

use crate::client_rules::enabled_codecs;
use crate::convert::{Numbered, numbers, permission, value};
use crate::data::tracks as data_tracks;
use crate::frame::{Entry, Ledger};

/// Clients decide by the version of the server what it can do; this is the one whose protocol we
/// speak.
pub(crate) const SERVER_VERSION: &str = "1.13.5";
const PROTOCOL_VERSION: i32 = 17;
/// The version of the protocol of agents that it speaks.
const AGENT_PROTOCOL: i32 = 1;

pub(crate) fn room(room: RoomInfo) -> proto::Room {
    proto::Room {
        sid: room.sid,
        name: room.name,
        empty_timeout: room.empty_timeout.as_secs() as u32,
        departure_timeout: room.departure_timeout.as_secs() as u32,
        max_participants: room.max_participants,
        creation_time: room.created.as_secs() as i64,
        creation_time_ms: room.created.as_millis() as i64,
        enabled_codecs: enabled_codecs(Default::default()),
        metadata: room.metadata,
        num_participants: room.num_participants,
        num_publishers: room.num_publishers,
        active_recording: room.active_recording,
        ..proto::Room::default()
    }
}

pub(crate) fn participant(info: ParticipantInfo) -> proto::ParticipantInfo {
    proto::ParticipantInfo {
        sid: info.sid,
        identity: info.identity,
        state: info.state.number(),
        tracks: info.tracks.into_iter().map(track).collect(),
        data_tracks: info.data_tracks.into_iter().map(data_tracks::info).collect(),
        metadata: info.metadata,
        joined_at: info.joined.as_secs() as i64,
        joined_at_ms: info.joined.as_millis() as i64,
        name: info.name,
        version: info.version,
        permission: Some(permission(info.permission)),
        is_publisher: info.is_publisher,
        kind: info.kind.number(),
        kind_details: numbers(info.kind_details),
        attributes: info.attributes.into_iter().collect(),
        disconnect_reason: info.disconnect_reason.map_or(0, Numbered::number),
        client_protocol: info.client_protocol,
        capabilities: numbers(info.capabilities),
        ..proto::ParticipantInfo::default()
    }
}

pub(crate) fn participants(snapshots: &[ParticipantSnapshot]) -> Vec<proto::ParticipantInfo> {
    let infos = snapshots.iter().map(|snapshot| (**snapshot).clone());
    infos.map(participant).collect()
}

/// A participant as an element of a list, after the tag of its field. It is encoded once for all
/// who are sent it at the same time.
pub(crate) fn element(ledger: &Ledger, snapshot: &ParticipantSnapshot) -> Arc<Entry> {
    snapshot.form(|info| ledger.entry(participant(info.clone()).encode_length_delimited_to_vec()))
}

pub(crate) fn track(info: TrackInfo) -> proto::TrackInfo {
    let r#type = match info.kind {
        MediaKind::Audio => proto::TrackType::Audio,
        MediaKind::Video => proto::TrackType::Video,
    };
    proto::TrackInfo {
        sid: info.sid,
        r#type: r#type.into(),
        name: info.name,
        muted: info.muted,
        width: info.width,
        height: info.height,
        simulcast: info.simulcast,
        disable_dtx: info.disable_dtx,
        source: info.source.number(),
        layers: layers_told(info.layers),
        mime_type: info.mime_type,
        mid: info.mid,
        codecs: info.codecs.into_iter().map(codec).collect(),
        stereo: info.stereo,
        disable_red: info.disable_red,
        encryption: info.encryption.number(),
        stream: info.stream,
        version: None,
        audio_features: numbers(info.audio_features),
        backup_codec_policy: info.backup_codec_policy.number(),
        packet_trailer_features: numbers(info.packet_trailer_features),
    }
}

fn codec(info: CodecInfo) -> proto::SimulcastCodecInfo {
    proto::SimulcastCodecInfo {
        mime_type: info.mime_type,
        mid: info.mid,
        cid: info.cid,
        layers: layers_told(info.layers),
        video_layer_mode: info.video_layer_mode.number(),
        sdp_cid: String::new(),
    }
}

/// Sizes in the protocol's form.
pub(crate) fn layers_told(layers: Vec<VideoLayer>) -> Vec<proto::VideoLayer> {
    let told = layers.into_iter().map(|layer| proto::VideoLayer {
        quality: layer.quality.number(),
        width: layer.width,
        height: layer.height,
        bitrate: layer.bitrate,
        ssrc: layer.ssrc,
        spatial_layer: layer.spatial_layer,
        rid: layer.rid,
        repair_ssrc: layer.repair_ssrc,
    });
    told.collect()
}

/// Sizes in the controller's form.
pub(crate) fn layers(layers: Vec<proto::VideoLayer>) -> Vec<VideoLayer> {
    let layers = layers.into_iter().map(|layer| VideoLayer {
        quality: value(layer.quality),
        width: layer.width,
        height: layer.height,
        bitrate: layer.bitrate,
        ssrc: layer.ssrc,
        spatial_layer: layer.spatial_layer,
        rid: layer.rid,
        repair_ssrc: layer.repair_ssrc,
    });
    layers.collect()
}

pub(crate) fn server(server: &ServerInfo) -> proto::ServerInfo {
    proto::ServerInfo {
        edition: Edition::Standard.into(),
        version: SERVER_VERSION.to_owned(),
        protocol: PROTOCOL_VERSION,
        agent_protocol: AGENT_PROTOCOL,
        region: server.region.clone(),
        node_id: server.node_id.clone(),
        ..proto::ServerInfo::default()
    }
}

pub(crate) fn ice_servers(servers: Vec<IceServer>) -> Vec<proto::IceServer> {
    let servers = servers.into_iter().map(|server| proto::IceServer {
        urls: server.urls,
        username: server.username,
        credential: server.credential,
    });
    servers.collect()
}
