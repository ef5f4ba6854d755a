//! Settings that may change while there are rooms.

use access::ApiKeys;

use super::Controller;
use crate::WallClock;

impl Controller {
    /// Sets the wall clock from now on: the system's clock may be corrected while the program runs.
    pub fn set_clock(&mut self, clock: WallClock) {
        self.core.clock = clock;
    }

    /// Signs refreshed tokens with these keys from now on. Participants stay, whoever admitted
    /// them.
    pub fn set_keys(&mut self, keys: ApiKeys) {
        self.core.config.keys = keys;
    }

    /// Lets nobody join and creates no room from now on. Participants stay, and may resume and join
    /// again.
    pub fn drain(&mut self) {
        self.core.is_draining = true;
    }

    /// Whether a media node has said where it is. Nobody can join until then.
    pub fn has_node(&self) -> bool {
        !self.core.nodes.is_empty()
    }

    /// Outputs events of rooms from now on, or no longer.
    pub fn set_room_events(&mut self, wanted: bool) {
        self.core.config.room_events = wanted;
    }
}
