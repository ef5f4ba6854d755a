//! Messages as frames and back: protobuf, or its JSON form for clients that speak it.

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::Bytes;
use livekit_protocol::{SignalRequest, SignalResponse, signal_request, signal_response};
use prost::Message;

use crate::fields;

/// A WebSocket message. A clone is the same memory, so that what is said to many is there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Protobuf.
    Binary(Bytes),
    /// The JSON form of the same.
    Text(Arc<str>),
}

impl Frame {
    /// Size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Binary(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether a client's message has no more values than one may have.
pub(crate) fn fits(frame: &Frame) -> bool {
    match frame {
        Frame::Binary(bytes) => fields::fit(bytes, &fields::SIGNAL_REQUEST),
        Frame::Text(text) => fields::fit_json(text),
    }
}

/// Reads a client's message. `Ok(None)` is one of a newer protocol, which is skipped.
///
/// Errors: what is wrong with it, for the log.
pub(crate) fn decode(frame: &Frame) -> Result<Option<signal_request::Message>, String> {
    let request = match frame {
        Frame::Binary(bytes) => SignalRequest::decode(bytes.clone()).map_err(|error| error.to_string())?,
        Frame::Text(text) => serde_json::from_str(text).map_err(|error| error.to_string())?,
    };
    Ok(request.message)
}

/// A message on its way to one client or to many; it is encoded once for each form that somebody
/// wants.
pub(crate) struct Outgoing {
    response: SignalResponse,
    binary: OnceCell<Bytes>,
    text: OnceCell<Option<Arc<str>>>,
}

impl Outgoing {
    pub(crate) fn new(message: signal_response::Message) -> Self {
        Self {
            response: SignalResponse { message: Some(message) },
            binary: OnceCell::new(),
            text: OnceCell::new(),
        }
    }

    /// In the form a client speaks. A message without a JSON form, as one with a value that has no
    /// name, is sent as protobuf.
    pub(crate) fn frame(&self, json: bool) -> Frame {
        let write = || serde_json::to_string(&self.response).ok().map(Into::into);
        if json && let Some(text) = self.text.get_or_init(write) {
            return Frame::Text(text.clone());
        }
        Frame::Binary(self.binary.get_or_init(|| self.response.encode_to_vec().into()).clone())
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
        let message = Outgoing::new(signal_response::Message::TrackPublished(published));
        assert!(matches!(message.frame(true), Frame::Binary(_)));
    }

    #[test]
    fn a_reply_is_written_in_the_form_asked_for() {
        let pong = Outgoing::new(signal_response::Message::Pong(9));
        assert_eq!(pong.frame(true), Frame::Text(r#"{"pong":"9"}"#.into()));
        assert!(matches!(pong.frame(false), Frame::Binary(_)));
    }
}
