//! Limits for API keys, as they change.

use std::time::Instant;

use super::Controller;
use crate::Output;
use crate::context::Context;
use crate::quota::Quotas;

impl Controller {
    /// Limits API keys like this from now on. Rooms and participants stay, also those beyond a
    /// limit.
    pub fn set_quotas(&mut self, now: Instant, quotas: Quotas, out: &mut Vec<Output>) {
        self.core.config.quotas = quotas;
        self.limit_downlinks(now, |_| true, out);
    }

    /// Tells the agent of shares that changed.
    pub(super) fn share_bitrates(&mut self, now: Instant, out: &mut Vec<Output>) {
        let mut changed = std::mem::take(&mut self.core.usage.changed);
        let core = &self.core;
        changed.retain(|key| core.usage.share(&core.config.quotas, key).is_some());
        if changed.is_empty() {
            return;
        }
        self.limit_downlinks(now, |api_key| changed.contains(api_key), out);
    }

    /// Tells the agent the limits of the participants of some API keys.
    fn limit_downlinks(&mut self, now: Instant, concerns: impl Fn(&str) -> bool, out: &mut Vec<Output>) {
        let Self { core, rooms, .. } = self;
        for room in rooms.values_mut() {
            let mut ctx = Context {
                now,
                room: room.profile().shared_name(),
                core,
                out,
            };
            room.limit_downlinks(&mut ctx, &concerns);
        }
    }
}
