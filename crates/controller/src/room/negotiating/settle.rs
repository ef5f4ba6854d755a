//! The changes that an input or a tick leaves, each carried out once.

use crate::context::Context;
use crate::room::negotiating::renegotiate;
use crate::room::publishing::tell_demand;
use crate::room::roster::Roster;
use crate::room::subscribing::Subscribers;
use crate::room::updates::{Tick, Updates};

impl Subscribers {
    /// Carries out the changes of an input.
    pub(in crate::room) fn settle(&mut self, ctx: &mut Context<'_>, roster: &mut Roster, updates: &Updates) {
        while let Some(key) = self.next_negotiation() {
            renegotiate(ctx, roster, updates, key);
        }
        while let Some(track) = self.next_demand() {
            tell_demand(ctx, roster, track);
        }
    }

    /// Does what waited for a tick.
    pub(in crate::room) fn carry_out(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        tick: Tick,
    ) {
        for key in tick.released {
            let tracks: Vec<_> = roster[key].publications.tracks.keys().copied().collect();
            for track in tracks {
                self.offer_to_everybody(ctx, roster, updates, key, track);
            }
        }
        for key in tick.told {
            self.tell_track_permissions_of(ctx, roster, updates, key);
        }
        for key in tick.negotiations {
            renegotiate(ctx, roster, updates, key);
        }
        for track in tick.demands {
            tell_demand(ctx, roster, track);
        }
    }
}
