//! The state of a node's rooms, as controllers that connect need it.
//!
//! In one process nothing of this is needed: a controller and its node begin and end together. Over
//! a connection both sides begin with a hello ([`ControllerHello`](crate::ControllerHello),
//! [`NodeHello`](crate::NodeHello)), and a controller says again only the rooms whose
//! [`RoomState`] is not the one it knows.

use std::sync::Arc;

use crate::{Command, ControllerId, Epoch};

/// The versions of this protocol that a program speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The oldest.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
}

impl Versions {
    /// The first version with [`Command::SetEndpoint`] and what belongs to it.
    pub const ENDPOINTS: u32 = 2;

    /// The first version with [`Command::SetDistantEndpoint`] and what belongs to it: nodes send
    /// each other messages over links.
    pub const LINKS: u32 = 3;

    /// The first version with [`Command::SetDistantTrack`] and what belongs to it: packets of data
    /// tracks go over links as well. It is the first with
    /// [`Notice::Missed`](crate::Notice::Missed), too.
    pub const LINKED_TRACKS: u32 = 4;

    /// The first version with [`Channel::stream`](crate::Channel::stream): peers keep their
    /// connections when they move to another node.
    pub const MOVES: u32 = 4;

    /// The first version with [`Observation::Estimate`](crate::Observation::Estimate) and the
    /// observations after it.
    pub const TIMELINES: u32 = 4;

    /// Those of this program.
    pub const OURS: Self = Versions { oldest: 1, newest: 4 };

    /// Those of a program that is to speak none after this one; `None` if it speaks no other.
    pub fn up_to(self, newest: u32) -> Option<Self> {
        (self.oldest..=self.newest)
            .contains(&newest)
            .then_some(Self { newest, ..self })
    }

    /// The newest version that two programs speak.
    pub fn common(self, other: Self) -> Option<u32> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

/// How far a node has followed the owner of a room. An epoch has one owner on a node, so owner,
/// epoch and revision name one history of commands, and no comparison of its content is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomState {
    /// The room's name.
    pub room: Arc<str>,
    /// The last controller that claimed it.
    pub owner: ControllerId,
    /// The epoch of its last owner.
    pub epoch: Epoch,
    /// The owner's number of the last message that was taken.
    pub revision: u64,
    /// The owner has ended the room: the node has nothing of it but its epoch.
    pub has_ended: bool,
}

/// A message of a controller about one of its rooms. The node knows of a room only the name, and
/// which transports, tracks and subscriptions belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomMessage {
    /// The room's name.
    pub room: Arc<str>,
    /// The epoch in which the controller owns it.
    pub epoch: Epoch,
    /// The controller's number of this message.
    pub revision: u64,
    /// The content.
    pub content: RoomContent,
}

/// The content of a message about a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomContent {
    /// The controller owns the room from here on, and says everything of it again. The node answers
    /// with the parts of the room's snapshot, and then with
    /// [`NodeMessage::Claimed`](crate::NodeMessage::Claimed).
    Claim,
    /// A command for the room.
    Command(Command),
    /// Everything was said that there is: the rest of what the node has of the room ends.
    Complete,
    /// The room is over, and everything of it ends.
    End,
    /// The node keeps a part of the room's snapshot, in place of one of the same name. Controllers
    /// seal it, and the node cannot read it.
    Save {
        /// The name: one for each participant, and one for the room.
        part: Arc<str>,
        /// The content, which only controllers can open.
        blob: Arc<[u8]>,
    },
    /// The node forgets a part of the room's snapshot.
    Forget {
        /// The name under which it was saved.
        part: Arc<str>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_programs_speak_the_newest_version_that_both_know() {
        let versions = |oldest, newest| Versions { oldest, newest };
        assert_eq!(versions(1, 2).common(versions(2, 3)), Some(2));
        assert_eq!(versions(2, 3).common(versions(1, 2)), Some(2));
        assert_eq!(versions(1, 1).common(versions(1, 1)), Some(1));
        assert_eq!(versions(1, 1).common(versions(2, 3)), None);
    }

    #[test]
    fn a_program_can_speak_no_version_that_it_does_not_know() {
        let versions = Versions { oldest: 2, newest: 4 };
        let capped = |newest| {
            versions
                .up_to(newest)
                .map(|versions| (versions.oldest, versions.newest))
        };
        assert_eq!([1, 2, 4, 5].map(capped), [None, Some((2, 2)), Some((2, 4)), None]);
    }
}
