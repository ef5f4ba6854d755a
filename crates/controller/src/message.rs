//! A message between participants.

use bytes::Bytes;

use crate::limits::SIGNED_PACKET_MAX;
use crate::{RpcCall, RpcReply};

/// A message between participants, on a data channel or by an administrator.
#[derive(Clone, Debug, PartialEq)]
pub struct DataMessage {
    /// It has to arrive, in order.
    pub reliable: bool,
    /// The sender's number for it; 0 for none. Senders number reliable messages from 1.
    pub sequence: u32,
    /// The id of the sender's stay; empty where others do not see it. The controller writes it.
    pub sender_sid: String,
    /// The sender's identity; empty where others do not see it. The controller writes it over what
    /// the sender says, except for agents that speak for another.
    pub sender_identity: String,
    /// A program wrote it for the one it names as its sender. The controller writes it.
    pub generated: bool,
    /// Receivers by identity; empty is everybody else.
    pub destinations: Vec<String>,
    /// Its content.
    pub content: DataContent,
    /// Bytes it takes on a channel without its sender.
    pub len: usize,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum DataContent {
    /// Bytes of the application.
    User(UserData),
    /// A call by the server.
    RpcCall(RpcCall),
    /// A reply to a call, of the server or of another participant.
    RpcReply(RpcReply),
    /// A packet of a frame of a data track.
    Frame {
        /// The handle of the track: the publisher's, and then the receivers'.
        handle: u16,
        /// The packet as it arrived.
        packet: Bytes,
    },
    /// Something that clients say to each other in their own protocol. Passed through.
    Packet {
        /// Of what kind.
        kind: PacketKind,
        /// As its sender encoded it.
        encoded: Bytes,
    },
}

/// Bytes of the application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserData {
    /// The bytes.
    pub payload: Bytes,
    /// The topic of the bytes.
    pub topic: Option<String>,
    /// The application's name for the message.
    pub id: Option<String>,
    /// When what it is about begins, as the application counts. Passed through.
    pub start_time: Option<u64>,
    /// When what it is about ends, as the application counts. Passed through.
    pub end_time: Option<u64>,
    /// A number that tells messages of one content apart. Passed through.
    pub nonce: Vec<u8>,
    /// Receivers by identity, from clients that say them here.
    pub destinations: Vec<String>,
    /// Receivers by id, from clients that say them here.
    pub destination_sids: Vec<String>,
}

/// Of what kind a packet is, as far as it decides who may send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A chat message, or the beginning of a stream of text: an agent may write one for somebody
    /// else.
    Text,
    /// Speech in writing.
    Transcription,
    /// Measurements of a client.
    Metrics,
    /// Levels of speakers, which only the server sends.
    Speakers,
    /// Nothing, or of a newer protocol.
    Unknown,
    /// Any other.
    Other,
}

impl DataMessage {
    /// Its receivers by identity and by the ids of their stays; neither for everybody else. Clients
    /// from before messages had destinations put them in the content.
    pub fn receivers(&self) -> (&[String], &[String]) {
        match &self.content {
            DataContent::User(user) if self.destinations.is_empty() => (&user.destinations, &user.destination_sids),
            _ => (&self.destinations, &[]),
        }
    }

    /// Whether it is as short, signed, as clients read it.
    pub fn fits(&self) -> bool {
        self.signed_len() <= SIGNED_PACKET_MAX
    }

    /// The most bytes it takes on a channel with its sender.
    fn signed_len(&self) -> usize {
        // Clients from before messages had senders look for them in the content as well.
        let places = match self.content {
            DataContent::User(_) => 2,
            DataContent::Frame { .. } => 0,
            DataContent::RpcCall(_) | DataContent::RpcReply(_) | DataContent::Packet { .. } => 1,
        };
        const TAGS: usize = 8;
        self.len + places * (self.sender_sid.len() + self.sender_identity.len() + TAGS)
    }
}
