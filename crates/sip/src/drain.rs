//! The end of a relay that is to be replaced.

use crate::Relay;
use crate::call::Call;
use crate::saved::is_encrypted_here;

impl Relay {
    /// Refuses new calls from now on, as if there were too many, so that proxies try another relay.
    /// Calls that have begun continue.
    pub fn drain(&mut self) {
        self.config.calls_max = 0;
    }

    /// The number of calls that are not over and end with the process: all of them, or with
    /// [`Config::saves`](crate::Config::saves) only those that cannot be saved.
    pub fn ending_calls(&self) -> usize {
        let is_alive = |call: &&Call| call.dialogues.iter().any(|dialogue| !dialogue.is_over());
        let ends = |call: &&Call| !self.config.saves || is_encrypted_here(call);
        self.calls.values().filter(is_alive).filter(ends).count()
    }
}
