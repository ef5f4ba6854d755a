//! Messages as frames and back: protobuf, or its JSON form for clients that speak it.

mod ledger;

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use livekit_protocol::{SignalRequest, SignalResponse, signal_request, signal_response};
use prost::Message;
use prost::encoding::WireType;

pub(crate) use self::ledger::Entry;
pub use self::ledger::Ledger;
use crate::fields;

/// A WebSocket message. A clone is the same memory, so that what is said to many is there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Protobuf.
    Binary(Bytes),
    /// The JSON form of the same, in UTF-8.
    Text(Bytes),
    /// Protobuf in parts that other messages share. Only of ours.
    Parts(Parts),
}

/// A message that ends with a list: what is before the list, and its elements.
#[derive(Clone, Debug)]
pub struct Parts {
    head: Bytes,
    /// The first byte of each element.
    tag: u8,
    elements: Arc<[Arc<Entry>]>,
    len: usize,
}

impl Frame {
    /// Size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Binary(bytes) | Self::Text(bytes) => bytes.len(),
            Self::Parts(parts) => parts.len,
        }
    }

    /// Its bytes, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let (first, parts) = match self {
            Self::Binary(bytes) | Self::Text(bytes) => (&**bytes, None),
            Self::Parts(parts) => (&*parts.head, Some(parts)),
        };
        let elements = parts.into_iter().flat_map(|parts| {
            let elements = parts.elements.iter();
            elements.flat_map(|element| [std::slice::from_ref(&parts.tag), (**element).as_ref()])
        });
        std::iter::once(first).chain(elements)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Binary(bytes) => bytes.clone(),
            _ => {
                let mut bytes = BytesMut::with_capacity(self.len());
                self.pieces().for_each(|piece| bytes.put_slice(piece));
                bytes.freeze()
            }
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Parts {
    fn eq(&self, other: &Self) -> bool {
        let pieces = |parts: &Self| Frame::Parts(parts.clone()).to_bytes();
        pieces(self) == pieces(other)
    }
}

impl Eq for Parts {}

impl Parts {
    /// The message of a field of [`SignalResponse`] whose last field, with this number, is a list.
    pub(crate) fn new(
        ledger: &Ledger,
        field: u32,
        before: &[u8],
        list: u32,
        elements: impl Iterator<Item = Arc<Entry>>,
    ) -> Self {
        let elements: Arc<[_]> = elements.collect();
        let list_len: usize = elements.iter().map(|element| 1 + element.as_ref().as_ref().len()).sum();
        let mut head = Vec::with_capacity(before.len() + 16);
        prost::encoding::encode_key(field, WireType::LengthDelimited, &mut head);
        prost::encoding::encode_varint((before.len() + list_len) as u64, &mut head);
        head.extend_from_slice(before);
        Self {
            len: head.len() + list_len,
            head: ledger.enter(head),
            tag: (list << 3) as u8 | WireType::LengthDelimited as u8,
            elements,
        }
    }
}

/// The number of values of a client's message, if it has no more than one may have.
pub(crate) fn values(frame: &Frame) -> Option<usize> {
    match frame {
        Frame::Binary(bytes) => fields::number(bytes, &fields::SIGNAL_REQUEST),
        Frame::Text(text) => fields::number_json(text),
        Frame::Parts(_) => None,
    }
}

/// Reads a client's message. `Ok(None)` is one of a newer protocol, which is skipped.
///
/// Errors: what is wrong with it, for the log.
pub(crate) fn decode(frame: &Frame) -> Result<Option<signal_request::Message>, String> {
    let request = match frame {
        Frame::Binary(bytes) => SignalRequest::decode(bytes.clone()).map_err(|error| error.to_string())?,
        Frame::Text(text) => serde_json::from_slice(text).map_err(|error| error.to_string())?,
        Frame::Parts(_) => return Err("a message of a server".to_owned()),
    };
    Ok(request.message)
}

/// A message on its way to one client or to many; it is encoded once for each form that somebody
/// wants.
pub(crate) struct Outgoing<'a> {
    response: SignalResponse,
    ledger: &'a Ledger,
    binary: OnceCell<Bytes>,
    text: OnceCell<Option<Bytes>>,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn new(message: signal_response::Message, ledger: &'a Ledger) -> Self {
        Self {
            response: SignalResponse { message: Some(message) },
            ledger,
            binary: OnceCell::new(),
            text: OnceCell::new(),
        }
    }

    /// In the form a client speaks. A message without a JSON form, as one with a value that has no
    /// name, is sent as protobuf.
    pub(crate) fn frame(&self, json: bool) -> Frame {
        let write = || Some(self.ledger.enter(serde_json::to_vec(&self.response).ok()?));
        if json && let Some(text) = self.text.get_or_init(write) {
            return Frame::Text(text.clone());
        }
        let write = || self.ledger.enter(self.response.encode_to_vec());
        Frame::Binary(self.binary.get_or_init(write).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_mean_the_same() {
        let binary = SignalRequest {
            message: Some(signal_request::Message::Ping(7)),
        }
        .encode_to_vec();
        let expected = Ok(Some(signal_request::Message::Ping(7)));
        assert_eq!(decode(&Frame::Binary(binary.into())), expected);
        assert_eq!(decode(&Frame::Text(r#"{"ping":"7"}"#.into())), expected);
        assert_eq!(decode(&Frame::Text(r#"{"somethingNewer":{}}"#.into())), Ok(None));
        assert!(decode(&Frame::Text("{".into())).is_err());
        assert!(decode(&Frame::Binary(vec![0xff; 9].into())).is_err());
    }

    #[test]
    fn a_value_without_a_name_is_sent_as_protobuf() {
        let track = livekit_protocol::TrackInfo {
            source: 99,
            ..livekit_protocol::TrackInfo::default()
        };
        let published = livekit_protocol::TrackPublishedResponse {
            cid: String::new(),
            track: Some(track),
        };
        let ledger = Ledger::default();
        let message = Outgoing::new(signal_response::Message::TrackPublished(published), &ledger);
        assert!(matches!(message.frame(true), Frame::Binary(_)));
    }

    #[test]
    fn a_list_in_parts_is_the_message_and_its_elements_are_in_memory_once() {
        let participant = |number: usize| livekit_protocol::ParticipantInfo {
            sid: format!("PA_{number}"),
            metadata: "x".repeat(number * 100),
            ..Default::default()
        };
        let participants: Vec<_> = (0..3).map(participant).collect();
        let ledger = Ledger::default();
        let encoded = participants.iter().map(Message::encode_length_delimited_to_vec);
        let elements: Vec<_> = encoded.map(|bytes| Arc::new(ledger.entry(bytes))).collect();
        let parts = || Frame::Parts(Parts::new(&ledger, 5, &[], 1, elements.iter().cloned()));
        let update = livekit_protocol::ParticipantUpdate { participants };
        let message = signal_response::Message::Update(update);
        let plain = Outgoing::new(message.clone(), &Ledger::default()).frame(false);
        assert_eq!((parts().to_bytes(), parts().len()), (plain.to_bytes(), plain.len()));
        let decoded = SignalResponse::decode(parts().to_bytes()).unwrap();
        assert_eq!(decoded.message, Some(message));
        let before = ledger.bytes();
        let many: Vec<_> = (0..100).map(|_| parts()).collect();
        assert!(ledger.bytes() - before < 100 * 32 && many.iter().all(|frame| frame.len() > 300));
    }

    #[test]
    fn a_reply_is_written_in_the_form_asked_for() {
        let ledger = Ledger::default();
        let pong = Outgoing::new(signal_response::Message::Pong(9), &ledger);
        assert_eq!(pong.frame(true), Frame::Text(r#"{"pong":"9"}"#.into()));
        assert!(ledger.bytes() >= 12, "text is on the ledger as well");
        assert!(matches!(pong.frame(false), Frame::Binary(_)));
    }
}
