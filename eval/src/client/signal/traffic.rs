use std::ops::{AddAssign, Sub};

use livekit_protocol::signal_response::Message;

/// The purpose of a server's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The answer to joining: the room and who is in it.
    Join,
    /// Participants that join, leave or change, and changes of the room.
    Participants,
    /// Active speakers.
    Speakers,
    /// Descriptions and candidates, and which tracks are received.
    Negotiation,
    /// Connection quality, answers to pings, anything else.
    Other,
}

/// Messages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Messages that the server has signalled to a client, by purpose.
///
/// Shape: bytes of protocol messages; WebSocket adds two to ten to each, TCP and IP their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic([Count; Purpose::ALL.len()]);

impl Purpose {
    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::Join,
        Self::Participants,
        Self::Speakers,
        Self::Negotiation,
        Self::Other,
    ];

    /// The purpose of a message.
    pub fn of(message: &Message) -> Self {
        match message {
            Message::Join(_) => Self::Join,
            Message::Update(_) | Message::RoomUpdate(_) | Message::Mute(_) => Self::Participants,
            Message::SpeakersChanged(_) => Self::Speakers,
            Message::Offer(_)
            | Message::Answer(_)
            | Message::Trickle(_)
            | Message::MediaSectionsRequirement(_)
            | Message::TrackPublished(_)
            | Message::TrackSubscribed(_)
            | Message::SubscribedQualityUpdate(_)
            | Message::SubscriptionPermissionUpdate(_)
            | Message::SubscriptionResponse(_) => Self::Negotiation,
            _ => Self::Other,
        }
    }
}

impl Traffic {
    /// Counts one message.
    pub fn count(&mut self, message: &Message, bytes: usize) {
        self.0[Purpose::of(message) as usize] += Count {
            messages: 1,
            bytes: bytes as u64,
        };
    }

    /// Messages with this purpose.
    pub fn of(&self, purpose: Purpose) -> Count {
        self.0[purpose as usize]
    }

    /// Everything.
    pub fn total(&self) -> Count {
        self.0.iter().fold(Count::default(), |mut total, count| {
            total += *count;
            total
        })
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(ours, theirs)| *ours += theirs);
    }
}

impl Sub for Traffic {
    type Output = Self;

    /// Messages since `earlier`.
    fn sub(mut self, earlier: Self) -> Self {
        for (ours, before) in self.0.iter_mut().zip(earlier.0) {
            ours.messages -= before.messages;
            ours.bytes -= before.bytes;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use livekit_protocol::{ParticipantUpdate, Pong};

    use super::*;

    #[test]
    fn messages_are_counted_by_purpose() {
        let mut traffic = Traffic::default();
        traffic.count(&Message::Update(ParticipantUpdate::default()), 100);
        let before = traffic;
        traffic.count(&Message::Update(ParticipantUpdate::default()), 50);
        traffic.count(&Message::PongResp(Pong::default()), 7);
        let since = traffic - before;
        let updates = Count { messages: 1, bytes: 50 };
        assert_eq!(since.of(Purpose::Participants), updates);
        assert_eq!(since.total(), Count { messages: 2, bytes: 57 });
        assert_eq!(traffic.of(Purpose::Join), Count::default());
    }
}
