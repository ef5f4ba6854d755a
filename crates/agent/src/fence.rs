//! The fence: of several controllers that believe they own a room, the node obeys the last one.
//!
//! A [`Fence`] stands before an [`Agent`](crate::Agent) that several controllers reach. It takes
//! their [`RoomMessage`]s and hands on those commands that the owner of the room gave. It remembers
//! the parts of each room, so that a new owner may say everything that there is, and the rest ends.
//! No consensus is needed for that, and no clock: an owner has a higher epoch than those before it.

mod belongings;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use southbound::{Command, ControllerId, Epoch, Notice, RoomContent, RoomMessage, RoomState, TransportId};

use crate::limits::{ROOMS_MAX, TRANSPORTS_MAX};
use belongings::Belongings;

/// The rooms of a node, and their owners.
#[derive(Debug, Default)]
pub struct Fence {
    rooms: BTreeMap<Arc<str>, Term>,
    /// The room of each transport.
    transports: BTreeMap<TransportId, Arc<str>>,
    /// Counts claims, to find the oldest.
    claims: u64,
}

/// The last owner of a room.
#[derive(Debug)]
struct Term {
    owner: ControllerId,
    epoch: Epoch,
    revision: u64,
    claimed: u64,
    belongings: Belongings,
}

/// Why a message of a controller is refused. The controller does not own the room, and has to find
/// out who does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceError {
    /// A controller has claimed the room in this later epoch.
    Outdated(Epoch),
    /// Another controller has claimed the room in the same epoch.
    Taken,
    /// The controller has not claimed the room in this epoch.
    Unclaimed,
    /// The node has as many rooms as it can have.
    Full,
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outdated(Epoch(epoch)) => write!(f, "the room has an owner of the later epoch {epoch}"),
            Self::Taken => f.write_str("the room has another owner in this epoch"),
            Self::Unclaimed => f.write_str("the room was not claimed in this epoch"),
            Self::Full => f.write_str("the node has all the rooms it can have"),
        }
    }
}

impl std::error::Error for FenceError {}

impl Fence {
    /// Takes a message of a controller. The commands for the agent are appended to `out`.
    ///
    /// Errors: any [`FenceError`], with nothing changed.
    pub fn take(&mut self, from: ControllerId, message: RoomMessage, out: &mut Vec<Command>) -> Result<(), FenceError> {
        let RoomMessage {
            room,
            epoch,
            revision,
            content,
        } = message;
        if content == RoomContent::Claim {
            return self.claim(from, room, epoch, revision);
        }
        let term = self.rooms.get_mut(&room).ok_or(FenceError::Unclaimed)?;
        term.check(from, epoch)?;
        if epoch != term.epoch {
            return Err(FenceError::Unclaimed);
        }
        term.revision = revision;
        let before = out.len();
        match content {
            RoomContent::Claim => {}
            RoomContent::Command(command) => {
                // The agent refuses one more, with a notice.
                if !is_beyond(&self.transports, &command) {
                    term.belongings.note(&command);
                }
                out.push(command);
            }
            RoomContent::Complete => term.belongings.end_unsaid(out),
            RoomContent::End => term.belongings.end_all(out),
        }
        for command in &out[before..] {
            match command {
                Command::Open(_) if is_beyond(&self.transports, command) => {}
                Command::Open(open) => _ = self.transports.insert(open.transport, room.clone()),
                Command::Close { transport } => _ = self.transports.remove(transport),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes note of what ended by itself.
    pub fn notice(&mut self, notice: &Notice) {
        let Notice::Closed { transport, .. } = notice else {
            return;
        };
        let room = self.transports.remove(transport);
        if let Some(term) = room.and_then(|room| self.rooms.get_mut(&room)) {
            term.belongings.note(&Command::Close { transport: *transport });
        }
    }

    /// The rooms, for a [`Hello`](southbound::Hello).
    pub fn rooms(&self) -> impl Iterator<Item = RoomState> {
        self.rooms.iter().map(|(room, term)| RoomState {
            room: room.clone(),
            epoch: term.epoch,
            revision: term.revision,
        })
    }

    fn claim(&mut self, from: ControllerId, room: Arc<str>, epoch: Epoch, revision: u64) -> Result<(), FenceError> {
        match self.rooms.get(&room) {
            Some(term) => term.check(from, epoch)?,
            None => self.make_place()?,
        }
        self.claims += 1;
        let claimed = self.claims;
        let term = self.rooms.entry(room).or_insert_with(|| Term {
            owner: from,
            epoch,
            revision,
            claimed,
            belongings: Belongings::default(),
        });
        (term.owner, term.epoch, term.revision, term.claimed) = (from, epoch, revision, claimed);
        term.belongings.begin();
        Ok(())
    }

    /// At the limit forgets the room of which there is nothing and whose claim is the oldest. One
    /// of which there is something is never forgotten.
    fn make_place(&mut self) -> Result<(), FenceError> {
        if self.rooms.len() < ROOMS_MAX {
            return Ok(());
        }
        let empty = self.rooms.iter().filter(|(_, term)| term.belongings.is_empty());
        let oldest = empty.min_by_key(|(_, term)| term.claimed);
        let oldest = oldest.map(|(room, _)| room.clone()).ok_or(FenceError::Full)?;
        self.rooms.remove(&oldest);
        Ok(())
    }
}

/// Whether a command opens a transport more than the node can have.
fn is_beyond(transports: &BTreeMap<TransportId, Arc<str>>, command: &Command) -> bool {
    let Command::Open(open) = command else { return false };
    transports.len() >= TRANSPORTS_MAX && !transports.contains_key(&open.transport)
}

impl Term {
    /// Whether a controller may own the room in an epoch.
    fn check(&self, from: ControllerId, epoch: Epoch) -> Result<(), FenceError> {
        match epoch.cmp(&self.epoch) {
            std::cmp::Ordering::Less => Err(FenceError::Outdated(self.epoch)),
            std::cmp::Ordering::Equal if self.owner != from => Err(FenceError::Taken),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
