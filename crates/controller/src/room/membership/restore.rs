//! Going on with participants that another controller served.

use crate::ParticipantState;
use crate::context::{Context, Timer};
use crate::limits::{CONNECT_TIMEOUT, RESUME_TIMEOUT, SILENCE_TIMEOUT};
use crate::participant::Participant;
use crate::room::Room;

impl Room {
    /// Takes participants over, with everything they publish and receive. Their clients have no
    /// connection until they come back.
    pub(crate) fn restore(&mut self, ctx: &mut Context<'_>, participants: Vec<Participant>) {
        for participant in &participants {
            self.data.tracks.add_published(participant);
        }
        for mut participant in participants {
            let key = participant.key;
            let participant_ref = self.roster.participant_ref(key);
            ctx.core.usage.participant_joined(&participant.authorization.api_key);
            ctx.core.nodes.participant_joined(participant.media.node);
            let index = &mut ctx.core.index;
            let transports = participant.media.peers().map(|peer| peer.transport);
            index.transports.extend(transports.map(|id| (id, participant_ref)));
            let subscriptions = participant.subscriptions.iter().map(|subscription| subscription.id);
            index
                .subscriptions
                .extend(subscriptions.map(|id| (id, participant_ref)));
            for track in participant.publications.tracks.values() {
                index.tracks.extend(track.ids().map(|id| (id, participant_ref)));
                self.publications.insert(track.sid(), key, track.id);
            }
            self.data.tracks.add_receiver(&participant);
            let last_sequence = participant.data.packets.last_sequence;
            participant.data.packets = self.data.state();
            participant.data.packets.last_sequence = last_sequence;
            let timer = Timer::Participant(participant_ref);
            if participant.profile.state != ParticipantState::Active {
                participant.signalling.deadlines.connect = Some(ctx.wake(CONNECT_TIMEOUT, timer));
            }
            ctx.wake(SILENCE_TIMEOUT, timer);
            ctx.wake(RESUME_TIMEOUT, timer);
            self.roster.insert(participant);
        }
        let is_deserted = self.roster.is_deserted();
        self.lifetime.review(ctx, self.roster.timer(), is_deserted);
        self.updates.population_changed(ctx, &self.roster);
        self.speaking.begin_anew(ctx, &self.roster);
    }
}
