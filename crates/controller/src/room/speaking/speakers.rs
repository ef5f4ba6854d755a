//! Telling who speaks.

use southbound::{AudioActivity, TrackId};

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::room::Room;
use crate::room::speaking::levels::{INTERVAL, Speaker};
use crate::{Notification, SpeakerInfo};

impl Room {
    /// Takes the audio levels of this room's tracks in the last interval.
    pub(crate) fn take_audio(
        &mut self,
        ctx: &mut Context<'_>,
        heard: impl Iterator<Item = (ParticipantKey, AudioActivity)>,
    ) {
        let heard: Vec<_> = heard
            .filter(|(key, activity)| !self.is_muted(*key, activity.track))
            .collect();
        for (key, activity) in &heard {
            self.speaking.speakers.hear(*key, *activity);
        }
        self.hear_voices(&heard);
        self.choose_voices(ctx);
        self.update_speakers(ctx);
    }

    fn is_muted(&self, key: ParticipantKey, track: TrackId) -> bool {
        let found = self
            .participants
            .get(&key)
            .and_then(|participant| participant.tracks.get(&track));
        found.is_none_or(|track| track.info.muted)
    }

    /// Nothing heard is not reported, so silence has to be noticed here.
    pub(in crate::room) fn notice_silence(&mut self, ctx: &mut Context<'_>) {
        if self.speaking.speakers.is_due(ctx.now) && self.speaking.is_anybody_heard() {
            self.update_speakers(ctx);
        }
    }

    fn update_speakers(&mut self, ctx: &mut Context<'_>) {
        let changed = self.speaking.speakers.update(ctx.now);
        self.rank_speakers(ctx);
        if self.speaking.is_anybody_heard() {
            // Somewhat later than the next report is due, so as not to run ahead of it.
            ctx.wake(INTERVAL + INTERVAL / 5, Timer::Room(self.key));
        }
        if !changed.is_empty() {
            self.tell_speakers(ctx, &changed);
        }
    }

    /// Has a participant speak for one interval, for clients that test how they show it.
    pub(in crate::room) fn pretend_to_speak(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let told = [Speaker {
            participant: key,
            level: 0.9,
        }];
        let activity = AudioActivity {
            track: TrackId(0),
            level: 3,
            active: INTERVAL,
        };
        self.speaking.speakers.hear(key, activity);
        self.speaking.speakers.update(ctx.now);
        ctx.wake(INTERVAL * 2, Timer::Room(self.key));
        self.tell_speakers(ctx, &told);
    }

    /// Speakers are told to themselves and to those who receive something of them.
    fn tell_speakers(&self, ctx: &mut Context<'_>, changed: &[Speaker]) {
        for participant in self.participants.values() {
            let concerns = |speaker: &&Speaker| {
                speaker.participant == participant.key || participant.subscriptions.include(speaker.participant)
            };
            let speakers: Vec<_> = changed
                .iter()
                .filter(concerns)
                .filter_map(|speaker| self.speaker_info(*speaker))
                .collect();
            if !speakers.is_empty() {
                participant.notify(ctx, Notification::Speakers(speakers));
            }
        }
    }

    /// Tells a newcomer who is speaking.
    pub(in crate::room) fn send_speakers(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        let speaking = self
            .speaking
            .speakers
            .speaking()
            .filter(|speaker| participant.subscriptions.include(speaker.participant));
        let speakers: Vec<_> = speaking.filter_map(|speaker| self.speaker_info(speaker)).collect();
        if !speakers.is_empty() {
            participant.notify(ctx, Notification::Speakers(speakers));
        }
    }

    fn speaker_info(&self, speaker: Speaker) -> Option<SpeakerInfo> {
        Some(SpeakerInfo {
            participant_sid: self.participants.get(&speaker.participant)?.sid.clone(),
            level: speaker.level,
        })
    }
}
