//! Decoding of a client's frames, before the front end sees them.
//!
//! Reading is the part of a message that costs by its length. It needs nothing of the rooms, so it
//! is done on the connection's own task: what one client has read keeps nobody else waiting.

mod budget;

use std::time::Instant;

use controller::{Counter, Description};
use livekit_protocol::SessionDescription as Described;
use livekit_protocol::signal_request::Message as Said;

pub(crate) use self::budget::MessageBudget;
use crate::frame::{self, Frame};
use crate::limits::{MESSAGE_MAX, SECTIONS_UNIT, VALUES_UNIT};

/// Reads the frames of one connection, as far as its client may say so much.
#[derive(Debug)]
pub struct Inbox {
    budget: MessageBudget,
}

/// A frame that was read.
#[derive(Clone, Debug)]
pub struct Received {
    /// The client speaks JSON.
    pub(crate) json: bool,
    /// An empty option is a message of a newer protocol, which is skipped.
    pub(crate) message: Result<Option<Incoming>, Unusable>,
}

/// A client's message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incoming {
    /// It offers.
    Offer(Description),
    /// It answers.
    Answer(Description),
    /// Everything else.
    Said(Box<Said>),
}

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unusable {
    /// WebSocket close code.
    pub(crate) code: u16,
    pub(crate) counter: Counter,
    pub(crate) what: String,
}

impl Inbox {
    /// For a connection that is opened now.
    pub fn new(now: Instant) -> Self {
        Self {
            budget: MessageBudget::new(now),
        }
    }

    /// Reads one frame.
    pub fn read(&mut self, now: Instant, frame: &Frame) -> Received {
        Received {
            json: matches!(frame, Frame::Text(_)),
            message: self.message(now, frame),
        }
    }

    fn message(&mut self, now: Instant, frame: &Frame) -> Result<Option<Incoming>, Unusable> {
        if frame.len() > MESSAGE_MAX {
            return Err(Unusable::new(1009, Counter::OversizedMessage, "message too large"));
        }
        if !self.budget.take_frame(now, frame) {
            return Err(Unusable::new(1008, Counter::FloodingConnection, "too many messages"));
        }
        let values = frame::values(frame)
            .ok_or_else(|| Unusable::new(1009, Counter::OversizedMessage, "too many values in a message"))?;
        if !self.budget.take(now, values as f64 / VALUES_UNIT as f64) {
            return Err(Unusable::new(1008, Counter::FloodingConnection, "too many values"));
        }
        let said = frame::decode(frame).map_err(|what| Unusable::new(1007, Counter::MalformedMessage, what))?;
        Ok(match said {
            Some(Said::Offer(offer)) => Some(Incoming::Offer(self.description(now, &offer)?)),
            Some(Said::Answer(answer)) => Some(Incoming::Answer(self.description(now, &answer)?)),
            Some(said) => Some(Incoming::Said(Box::new(said))),
            None => None,
        })
    }

    /// Media sections are work for the controller, however short they are.
    fn description(&mut self, now: Instant, described: &Described) -> Result<Description, Unusable> {
        let description = Description::read(described.id, &described.sdp);
        let sections = description.read.as_ref().map_or(0, |(read, _)| read.sections.len());
        match self.budget.take(now, sections as f64 / SECTIONS_UNIT as f64) {
            true => Ok(description),
            false => Err(Unusable::new(
                1008,
                Counter::FloodingConnection,
                "too many media sections",
            )),
        }
    }
}

impl Unusable {
    fn new(code: u16, counter: Counter, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { code, counter, what }
    }
}

#[cfg(test)]
mod tests {
    use livekit_protocol::SignalRequest;
    use prost::Message;

    use super::*;

    #[test]
    fn offers_of_many_sections_use_a_connection_up() {
        let head = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n";
        let offer = Said::Offer(Described {
            sdp: format!("{head}{}", "m=audio 9 RTP/AVP 0\r\n".repeat(512)),
            ..Described::default()
        });
        let frame = Frame::Binary(SignalRequest { message: Some(offer) }.encode_to_vec().into());
        let now = Instant::now();
        let mut inbox = Inbox::new(now);
        let is_offer = |received: &Received| matches!(received.message, Ok(Some(Incoming::Offer(_))));
        let taken = (0..20).take_while(|_| is_offer(&inbox.read(now, &frame))).count();
        assert!((5..10).contains(&taken), "{taken}");
        assert_eq!(
            inbox.read(now, &frame).message.unwrap_err().counter,
            Counter::FloodingConnection
        );
    }

    #[test]
    fn messages_of_many_values_use_a_connection_up() {
        let attributes = (0..2000)
            .map(|number| (format!("key{number}"), "1".to_owned()))
            .collect();
        let said = Said::UpdateMetadata(livekit_protocol::UpdateParticipantMetadata {
            attributes,
            ..Default::default()
        });
        let frame = Frame::Binary(SignalRequest { message: Some(said) }.encode_to_vec().into());
        let now = Instant::now();
        let mut inbox = Inbox::new(now);
        let taken = (0..100).take_while(|_| inbox.read(now, &frame).message.is_ok()).count();
        assert!((20..40).contains(&taken), "{taken}");
    }
}
