//! Telling who speaks.

use southbound::{AudioActivity, TrackId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::roster::Roster;
use crate::room::speaking::Speaking;
use crate::room::speaking::levels::{INTERVAL, Speaker};
use crate::{Notification, SpeakerInfo};

impl Speaking {
    /// Takes the audio levels of this room's tracks in the last interval.
    pub(crate) fn take_audio(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        heard: &[(ParticipantKey, AudioActivity)],
    ) {
        let heard: Vec<_> = heard
            .iter()
            .copied()
            .filter(|(key, activity)| !Self::is_muted(roster, *key, activity.track))
            .collect();
        for (key, activity) in &heard {
            self.speakers.hear(*key, *activity);
        }
        self.hear_voices(&heard);
        self.choose_voices(ctx, roster);
        self.update_speakers(ctx, roster);
    }

    fn is_muted(roster: &Roster, key: ParticipantKey, track: TrackId) -> bool {
        let found = roster
            .get(key)
            .and_then(|participant| participant.publications.tracks.get(&track));
        found.is_none_or(|track| track.info.muted)
    }

    /// Nothing heard is not reported, so silence has to be noticed here.
    pub(in crate::room) fn notice_silence(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        if self.speakers.is_due(ctx.now) && self.is_anybody_heard() {
            self.update_speakers(ctx, roster);
        }
    }

    fn update_speakers(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let changed = self.speakers.update(ctx.now);
        self.rank_speakers(ctx, roster);
        if self.is_anybody_heard() {
            // Somewhat later than the next report is due, so as not to run ahead of it.
            ctx.wake(INTERVAL + INTERVAL / 5, roster.timer());
        }
        if !changed.is_empty() {
            self.tell_speakers(ctx, roster, &changed);
        }
    }

    /// Has a participant speak for one interval, for clients that test how they show it.
    pub(in crate::room) fn pretend_to_speak(&mut self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
        let told = [Speaker {
            participant: key,
            level: 0.9,
        }];
        let activity = AudioActivity {
            track: TrackId(0),
            level: 3,
            active: INTERVAL,
        };
        self.speakers.hear(key, activity);
        self.speakers.update(ctx.now);
        ctx.wake(INTERVAL * 2, roster.timer());
        self.tell_speakers(ctx, roster, &told);
    }

    /// Speakers are told to themselves and to those who receive something of them.
    fn tell_speakers(&self, ctx: &mut Context<'_>, roster: &Roster, changed: &[Speaker]) {
        for participant in roster.all() {
            let concerns = |speaker: &&Speaker| {
                speaker.participant == participant.key || participant.subscriptions.include(speaker.participant)
            };
            let speakers: Vec<_> = changed
                .iter()
                .filter(concerns)
                .filter_map(|speaker| Self::speaker_info(roster, *speaker))
                .collect();
            if !speakers.is_empty() {
                participant.notify(ctx, Notification::Speakers(speakers));
            }
        }
    }

    /// Tells a newcomer who is speaking.
    pub(in crate::room) fn send_speakers(&self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
        let Some(participant) = roster.get(key) else {
            return;
        };
        let speaking = self
            .speakers
            .speaking()
            .filter(|speaker| participant.subscriptions.include(speaker.participant));
        let speakers: Vec<_> = speaking
            .filter_map(|speaker| Self::speaker_info(roster, speaker))
            .collect();
        if !speakers.is_empty() {
            participant.notify(ctx, Notification::Speakers(speakers));
        }
    }

    fn speaker_info(roster: &Roster, speaker: Speaker) -> Option<SpeakerInfo> {
        Some(SpeakerInfo {
            participant_sid: roster.get(speaker.participant)?.profile.sid.clone(),
            level: speaker.level,
        })
    }
}
