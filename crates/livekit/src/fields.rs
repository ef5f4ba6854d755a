//! How many values a message has, counted before it is decoded: a decoder takes hundreds of bytes
//! for a value that came in two.
//!
//! Source: the encoding of Protocol Buffers, and which fields of the protocol's messages may be
//! many.

use crate::limits::FIELDS_MAX;

/// Which fields of a message are messages of which there may be many, or that contain such.
pub(crate) struct Shape(&'static [(u64, &'static Shape)]);

const PLAIN: Shape = Shape(&[]);
const OF_PLAIN_3: Shape = Shape(&[(3, &PLAIN)]);
const CODEC: Shape = Shape(&[(4, &PLAIN)]);
const ADD_TRACK: Shape = Shape(&[(9, &PLAIN), (10, &CODEC)]);
const TRACK_INFO: Shape = Shape(&[(10, &PLAIN), (13, &CODEC)]);
const TRACK_PUBLISHED: Shape = Shape(&[(2, &TRACK_INFO)]);
const SYNC_STATE: Shape = Shape(&[
    (1, &PLAIN),
    (2, &OF_PLAIN_3),
    (3, &TRACK_PUBLISHED),
    (5, &PLAIN),
    (9, &PLAIN),
]);
const PERMISSIONS: Shape = Shape(&[(2, &PLAIN)]);

/// `SignalRequest`.
pub(crate) const SIGNAL_REQUEST: Shape = Shape(&[
    (1, &PLAIN),
    (2, &PLAIN),
    (4, &ADD_TRACK),
    (6, &OF_PLAIN_3),
    (7, &PLAIN),
    (10, &PLAIN),
    (11, &PERMISSIONS),
    (12, &SYNC_STATE),
    (15, &PLAIN),
    (17, &PLAIN),
    (21, &PLAIN),
]);

/// `JoinRequest`.
pub(crate) const JOIN_REQUEST: Shape = Shape(&[(1, &PLAIN), (5, &ADD_TRACK), (6, &PLAIN), (10, &SYNC_STATE)]);

/// The number of fields of a message of this shape, if it is at most [`FIELDS_MAX`]. Of one that is
/// malformed, what is in front of the mistake is counted.
pub(crate) fn number(message: &[u8], shape: &Shape) -> Option<usize> {
    let mut left = FIELDS_MAX;
    count(message, shape, &mut left)?;
    Some(FIELDS_MAX - left)
}

/// Whether a message of this shape has at most [`FIELDS_MAX`] fields.
pub(crate) fn fit(message: &[u8], shape: &Shape) -> bool {
    number(message, shape).is_some()
}

/// `None` when there are more than are left.
fn count(message: &[u8], shape: &Shape, left: &mut usize) -> Option<()> {
    let mut rest = message;
    while let Some((field, content)) = next_field(&mut rest) {
        *left = left.checked_sub(1)?;
        let inner = shape.0.iter().find(|(number, _)| *number == field);
        if let (Some((_, inner)), Some(content)) = (inner, content) {
            count(content, inner, left)?;
        }
    }
    Some(())
}

/// The number of the next field and, where it has a length, its content.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let tag = varint(rest)?;
    let content = match tag & 7 {
        0 => varint(rest).map(|_| None)?,
        1 => take(rest, 8).map(|_| None)?,
        2 => {
            let len = varint(rest)?;
            Some(take(rest, len)?)
        }
        // The begin and the end of groups.
        3 | 4 => None,
        5 => take(rest, 4).map(|_| None)?,
        _ => return None,
    };
    Some((tag >> 3, content))
}

fn take<'a>(rest: &mut &'a [u8], len: u64) -> Option<&'a [u8]> {
    let (content, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
    *rest = after;
    Some(content)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (position, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * position).min(63);
        if byte & 0x80 == 0 {
            *rest = &rest[position + 1..];
            return Some(value);
        }
    }
    None
}

/// The number of values of a message as JSON, if it is at most [`FIELDS_MAX`].
pub(crate) fn number_json(text: &[u8]) -> Option<usize> {
    let (mut values, mut in_text, mut escaped) = (0, false, false);
    for byte in text.iter().copied() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'{' | b'[' if !in_text => values += 1,
            _ => {}
        }
    }
    (values <= FIELDS_MAX).then_some(values)
}

#[cfg(test)]
mod tests {
    use livekit_protocol::signal_request::Message as Said;
    use livekit_protocol::{AddTrackRequest, JoinRequest, SignalRequest, SyncState, TrackInfo, TrackPublishedResponse};
    use livekit_protocol::{UpdateSubscription, VideoLayer};
    use prost::Message;

    use super::*;

    fn fit_json(text: &[u8]) -> bool {
        number_json(text).is_some()
    }

    fn encode(message: Said) -> Vec<u8> {
        SignalRequest { message: Some(message) }.encode_to_vec()
    }

    #[test]
    fn messages_of_a_large_room_fit() {
        let subscription = UpdateSubscription {
            track_sids: vec!["TR_VCxxxxxxxxxxxx".to_owned(); 2000],
            subscribe: true,
            ..UpdateSubscription::default()
        };
        let state = SyncState {
            subscription: Some(subscription.clone()),
            track_sids_disabled: vec!["TR_VCxxxxxxxxxxxx".to_owned(); 2000],
            datachannel_receive_states: vec![Default::default(); 1000],
            publish_tracks: vec![
                TrackPublishedResponse {
                    track: Some(TrackInfo {
                        layers: vec![VideoLayer::default(); 3],
                        ..TrackInfo::default()
                    }),
                    ..TrackPublishedResponse::default()
                };
                64
            ],
            ..SyncState::default()
        };
        for message in [Said::SyncState(state), Said::Subscription(subscription)] {
            let json = serde_json::to_string(&SignalRequest {
                message: Some(message.clone()),
            });
            assert!(fit(&encode(message), &SIGNAL_REQUEST) && fit_json(json.unwrap().as_bytes()));
        }
    }

    #[test]
    fn many_empty_values_do_not_fit_wherever_they_are() {
        let many = FIELDS_MAX + 1;
        let layers = AddTrackRequest {
            layers: vec![VideoLayer::default(); many],
            ..AddTrackRequest::default()
        };
        let tracks = SyncState {
            publish_tracks: vec![TrackPublishedResponse::default(); many],
            ..SyncState::default()
        };
        let deep = SyncState {
            publish_tracks: vec![TrackPublishedResponse {
                track: Some(TrackInfo {
                    layers: vec![VideoLayer::default(); many],
                    ..TrackInfo::default()
                }),
                ..TrackPublishedResponse::default()
            }],
            ..SyncState::default()
        };
        for message in [
            Said::AddTrack(layers.clone()),
            Said::SyncState(tracks.clone()),
            Said::SyncState(deep),
        ] {
            let json = serde_json::to_string(&SignalRequest {
                message: Some(message.clone()),
            });
            assert!(!fit(&encode(message), &SIGNAL_REQUEST) && !fit_json(json.unwrap().as_bytes()));
        }
        let join = JoinRequest {
            add_track_requests: vec![layers],
            ..JoinRequest::default()
        };
        assert!(!fit(&join.encode_to_vec(), &JOIN_REQUEST));
        let join = JoinRequest {
            sync_state: Some(tracks),
            ..JoinRequest::default()
        };
        assert!(!fit(&join.encode_to_vec(), &JOIN_REQUEST));
    }

    #[test]
    fn text_is_not_taken_for_values() {
        let text = r#"{"updateMetadata":{"metadata":"\",,,,[[[[{{{{\\"}}"#.replace(",,,,", &",".repeat(FIELDS_MAX));
        assert!(fit_json(text.as_bytes()));
        for malformed in [&[0xff; 12][..], &[0x0a, 0x7f], &[0x07], &[0x0b, 0x0c]] {
            assert!(fit(malformed, &SIGNAL_REQUEST));
        }
    }
}
