//! Data tracks: requests and notifications about them in the protocol's form, and the header of
//! their packets.

use controller::{DataEncoding, DataSchema, DataTrackHandle, DataTrackInfo, PublishDataTrack};
use livekit_protocol as proto;
use livekit_protocol::data_track_frame_encoding::Value as FrameValue;
use livekit_protocol::data_track_schema_encoding::Value as SchemaValue;
use livekit_protocol::data_track_subscriber_handles::PublishedDataTrack;

use crate::convert::{Numbered, value};

/// Bytes of a packet's header without extensions.
const HEADER_LEN: usize = 12;
/// The bit of the first byte that says that extensions follow.
const EXTENSIONS: u8 = 1 << 2;

/// The track of a packet; `None` for what is no packet of a data track.
///
/// A packet has three bits of its version, a bit each for the first and the last packet of a frame,
/// a bit for extensions, and ten reserved ones; then in two bytes each the handle of the track, the
/// number of the packet and the number of the frame; then a timestamp in four. Extensions begin
/// with their length in two bytes: the number of 32-bit words that they take with it, less one.
/// Numbers are in network byte order.
pub(crate) fn handle(packet: &[u8]) -> Option<u16> {
    let (header, rest) = packet.split_first_chunk::<HEADER_LEN>()?;
    if header[0] & EXTENSIONS != 0 {
        let words = u16::from_be_bytes(*rest.first_chunk()?);
        rest.get(..(usize::from(words) + 1) * 4)?;
    }
    Some(u16::from_be_bytes([header[2], header[3]]))
}

/// A packet with another handle.
pub(crate) fn with_handle(packet: &[u8], handle: u16) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if let Some(place) = packet.get_mut(2..4) {
        place.copy_from_slice(&handle.to_be_bytes());
    }
    packet
}

/// The data track that a client publishes; `None` if its encoding is one without a name.
pub(crate) fn publish(request: &proto::PublishDataTrackRequest) -> Option<PublishDataTrack> {
    let encoding = request.frame_encoding.clone().map(frame_encoding);
    let schema = request.schema.clone().map(schema);
    let encodings = encoding.iter().chain(schema.iter().map(|schema| &schema.encoding));
    let is_named = |encoding: &DataEncoding| *encoding != DataEncoding::Custom(String::new());
    encodings.into_iter().all(is_named).then(|| PublishDataTrack {
        handle: request.pub_handle,
        name: request.name.clone(),
        encryption: value(request.encryption),
        encoding,
        schema,
    })
}

/// The request, as its refusal repeats it.
pub(crate) fn published(request: PublishDataTrack) -> proto::PublishDataTrackRequest {
    proto::PublishDataTrackRequest {
        pub_handle: request.handle,
        name: request.name,
        encryption: request.encryption.number(),
        frame_encoding: request.encoding.map(frame_encoding_told),
        schema: request.schema.map(schema_told),
    }
}

pub(crate) fn info(info: DataTrackInfo) -> proto::DataTrackInfo {
    proto::DataTrackInfo {
        pub_handle: info.handle.into(),
        sid: info.sid,
        name: info.name,
        encryption: info.encryption.number(),
        frame_encoding: info.encoding.map(frame_encoding_told),
        schema: info.schema.map(schema_told),
    }
}

pub(crate) fn handles(handles: Vec<DataTrackHandle>) -> proto::DataTrackSubscriberHandles {
    let named = handles.into_iter().map(|named| {
        let track = PublishedDataTrack {
            publisher_identity: named.publisher_identity,
            publisher_sid: named.publisher_sid,
            track_sid: named.track_sid,
        };
        (named.handle.into(), track)
    });
    proto::DataTrackSubscriberHandles {
        sub_handles: named.collect(),
    }
}

pub(crate) fn schema(schema: proto::DataTrackSchemaId) -> DataSchema {
    DataSchema {
        name: schema.name,
        encoding: match schema.encoding.and_then(|encoding| encoding.value) {
            Some(SchemaValue::WellKnown(number)) => DataEncoding::WellKnown(number),
            Some(SchemaValue::Custom(name)) => DataEncoding::Custom(name),
            None => DataEncoding::Unstated,
        },
    }
}

pub(crate) fn schema_told(schema: DataSchema) -> proto::DataTrackSchemaId {
    let value = match schema.encoding {
        DataEncoding::Unstated => None,
        DataEncoding::WellKnown(number) => Some(SchemaValue::WellKnown(number)),
        DataEncoding::Custom(name) => Some(SchemaValue::Custom(name)),
    };
    proto::DataTrackSchemaId {
        name: schema.name,
        encoding: value.map(|value| proto::DataTrackSchemaEncoding { value: Some(value) }),
    }
}

fn frame_encoding(encoding: proto::DataTrackFrameEncoding) -> DataEncoding {
    match encoding.value {
        Some(FrameValue::WellKnown(number)) => DataEncoding::WellKnown(number),
        Some(FrameValue::Custom(name)) => DataEncoding::Custom(name),
        None => DataEncoding::Unstated,
    }
}

fn frame_encoding_told(encoding: DataEncoding) -> proto::DataTrackFrameEncoding {
    let value = match encoding {
        DataEncoding::Unstated => None,
        DataEncoding::WellKnown(number) => Some(FrameValue::WellKnown(number)),
        DataEncoding::Custom(name) => Some(FrameValue::Custom(name)),
    };
    proto::DataTrackFrameEncoding { value }
}
