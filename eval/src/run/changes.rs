//! The server's messages to a crowd about a change of one participant.

use std::time::Duration;

use super::RunError;
use super::world::World;
use crate::client::{Count, Purpose};
use crate::clock;

/// Changes of each kind.
const CHANGES: u32 = 8;
/// From one to the next: longer than servers gather updates for.
const SPACING: Duration = Duration::from_millis(400);

/// Messages about changes, to all clients together.
pub(crate) struct Changed {
    /// How many changes of each kind there were.
    pub changes: u32,
    /// About a publisher that mutes its microphone, or stops.
    pub mutes: Count,
    /// About a listener that leaves.
    pub leaves: Count,
}

impl World {
    /// Lets a publisher mute and unmute, then listeners leave, and counts the messages to everybody
    /// about it.
    pub(crate) fn change(&mut self) -> Result<Changed, RunError> {
        let mutes = self.count_changes(|world, change| world.participants[0].mute(change % 2 == 0))?;
        let leaves = self.count_changes(|world, _| {
            let mut listeners = world.participants.iter_mut().rev();
            if let Some(listener) = listeners.find(|it| it.plan().light && !it.has_left()) {
                listener.leave();
            }
        })?;
        Ok(Changed {
            changes: CHANGES,
            mutes,
            leaves,
        })
    }

    fn count_changes(&mut self, change: impl Fn(&mut Self, u32)) -> Result<Count, RunError> {
        let before = self.traffic();
        for number in 0..CHANGES {
            change(self, number);
            self.turn_until(clock::now() + SPACING)?;
        }
        Ok((self.traffic() - before).of(Purpose::Participants))
    }
}
