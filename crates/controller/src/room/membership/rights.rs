//! Coming back with another token: its bearer may now do what that one says.

use access::Permission;
use operator::Observation;
use southbound::TrackId;

use crate::Notification;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::negotiation::{Section, Up};
use crate::room::roster::Roster;
use crate::room::{Room, subscribing, timeline};

impl Room {
    /// Ends what a participant may no longer do, and begins what it may do now.
    pub(in crate::room) fn set_permission(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        permission: Permission,
    ) {
        let was_recorded = self.roster.is_recorded();
        self.roster.note_change(key);
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        let before = std::mem::replace(&mut participant.authorization.permission, permission);
        if participant.authorization.permission == before {
            return;
        }
        let rights = &participant.authorization.permission;
        let observation = Observation::Permission {
            publish: rights.publish,
            subscribe: rights.subscribe,
            data: rights.publish_data,
        };
        timeline::observe(ctx, participant, observation);
        let hidden = participant.authorization.permission.hidden;
        let may_not = participant
            .publications
            .tracks
            .values()
            .filter(|track| !participant.authorization.permission.may_publish(track.info.source));
        let publishes_data = participant.authorization.permission.publish_data;
        for track in may_not.map(|track| track.id).collect::<Vec<_>>() {
            take_off_air(ctx, &mut self.roster, key, track);
            self.unpublish(ctx, key, track);
        }
        if !publishes_data {
            self.data.tracks.forbid(ctx, &mut self.roster, key);
        }
        if hidden && !before.hidden {
            subscribing::forget_denials(&mut self.roster, key);
            self.updates.tell_disappearance(ctx, &mut self.roster, key);
        }
        self.updates.announce(ctx, &mut self.roster, key);
        // Begins and ends its subscriptions, and those to it, as its rights now are.
        self.subscribers
            .subscribe_to_everybody(ctx, &mut self.roster, &self.updates, key);
        let tracks: Vec<_> = self.roster[key].publications.tracks.keys().copied().collect();
        for track in tracks {
            self.subscribers
                .offer_to_everybody(ctx, &mut self.roster, &self.updates, key, track);
        }
        self.data.tracks.update_receivers(ctx, &mut self.roster);
        let is_deserted = self.roster.is_deserted();
        self.lifetime.review(ctx, self.roster.timer(), is_deserted);
        self.updates.population_changed(ctx, &self.roster);
        if self.roster.is_recorded() != was_recorded {
            self.updates.tell_population(ctx, &self.roster, self.info());
        }
    }
}

/// Closes the media sections of a track that its publisher may no longer send. The caller ends it.
fn take_off_air(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey, track: TrackId) {
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    let Some(found) = participant.publications.tracks.get(&track) else {
        return;
    };
    let (ids, track_sid): (Vec<_>, _) = (found.ids().collect(), found.sid().to_owned());
    let sections = participant
        .media
        .publisher
        .iter_mut()
        .flat_map(|peer| &mut peer.sections);
    for sides in sections.filter_map(Section::sides_mut) {
        if matches!(sides.up, Up::Track(uplink) if ids.contains(&uplink.track)) {
            sides.up = Up::Forbidden;
        }
    }
    participant.notify(ctx, Notification::TrackUnpublished { track_sid });
}
