//! The author of a message, as far as others hear of it.

use access::Permission;
use southbound::MessageRights;

use crate::{Counter, DataContent, DataMessage, PacketKind};

/// The participant that messages are from, as others are told of it.
#[derive(Clone, Copy, Debug)]
pub struct MessageAuthor<'a> {
    /// The id of the author's stay.
    pub sid: &'a str,
    /// The identity in the author's token.
    pub identity: &'a str,
    /// The messages that it may send.
    pub rights: MessageRights,
}

impl MessageAuthor<'_> {
    /// Checks a message and names its author in it, whatever the message says, except that agents
    /// may speak for others.
    ///
    /// Errors: [`Counter::DataNotAllowed`].
    pub fn sign(&self, data: &mut DataMessage) -> Result<(), Counter> {
        if !self.may_send(&data.content) {
            return Err(Counter::DataNotAllowed);
        }
        let is_hidden = self.rights.hidden;
        let named = |name: &str| if is_hidden { String::new() } else { name.to_owned() };
        data.sender_sid = named(self.sid);
        data.generated = self.speaks_for_another(data);
        if !data.generated {
            data.sender_identity = named(self.identity);
        }
        Ok(())
    }

    /// A chat message or a text stream header that an agent writes for somebody keeps that identity
    /// and is marked as generated.
    fn speaks_for_another(&self, data: &DataMessage) -> bool {
        let is_text = matches!(
            data.content,
            DataContent::Packet {
                kind: PacketKind::Text,
                ..
            }
        );
        let named = &data.sender_identity;
        is_text && self.rights.agent && !named.is_empty() && *named != self.identity
    }

    /// Metrics are for those allowed to see them, transcriptions come from agents, and speakers are
    /// told by the server alone. Frames belong to data tracks, which end when their publisher
    /// leaves.
    fn may_send(&self, content: &DataContent) -> bool {
        let publish = self.rights.publish;
        let kind = match content {
            DataContent::Packet { kind, .. } => kind,
            DataContent::Frame { .. } => return false,
            _ => return publish,
        };
        match kind {
            PacketKind::Transcription => self.rights.agent && publish,
            PacketKind::Metrics | PacketKind::Speakers | PacketKind::Unknown => false,
            PacketKind::Text | PacketKind::Other => publish,
        }
    }
}

/// The messages that somebody with a permission may send.
pub(crate) fn message_rights(permission: &Permission) -> MessageRights {
    MessageRights {
        publish: permission.publish_data,
        agent: permission.agent,
        hidden: permission.hidden,
    }
}
