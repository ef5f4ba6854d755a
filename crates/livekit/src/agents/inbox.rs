//! Reading of a worker's frames, on the task of its connection.

use std::time::Instant;

use livekit_protocol::WorkerMessage;
use livekit_protocol::worker_message::Message as Said;
use prost::Message;

use super::output::Counter;
use crate::frame::Frame;
use crate::inbox::MessageBudget;
use crate::limits::WORKER_MESSAGE_MAX;

/// Reads the frames of one connection, as far as its worker may say so much.
#[derive(Debug)]
pub struct Inbox {
    budget: MessageBudget,
}

/// A frame that was read.
#[derive(Clone, Debug)]
pub struct Received {
    /// The worker speaks JSON.
    pub(super) json: bool,
    /// An empty option is a message of a newer protocol, which is skipped.
    pub(super) message: Result<Option<Said>, Unusable>,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    /// WebSocket close code.
    pub(super) code: u16,
    pub(super) counter: Counter,
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

    fn message(&mut self, now: Instant, frame: &Frame) -> Result<Option<Said>, Unusable> {
        let unusable = |code, counter| Unusable { code, counter };
        if frame.len() > WORKER_MESSAGE_MAX {
            return Err(unusable(1009, Counter::Oversized));
        }
        if !self.budget.take_frame(now, frame) {
            return Err(unusable(1008, Counter::Flood));
        }
        let read = match frame {
            Frame::Binary(bytes) => WorkerMessage::decode(bytes.clone()).ok(),
            Frame::Text(text) => serde_json::from_slice(text).ok(),
            Frame::Parts(_) => None,
        };
        let read = read.ok_or_else(|| unusable(1007, Counter::Malformed))?;
        Ok(read.message)
    }
}
