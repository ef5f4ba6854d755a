//! Failures on request: clients test with them that they recover.

use livekit_protocol::leave_request::Action;
use livekit_protocol::simulate_scenario::Scenario;
use livekit_protocol::{DisconnectReason, SimulateScenario};

use super::Room;
use super::leave::leave;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::participant::Sabotage;
use crate::speakers::{INTERVAL, Speaker};
use crate::{Counter, Output};

impl Room {
    /// Whatever is asked for happens to the one who asks, and to nobody else.
    pub(super) fn simulate(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, scenario: &SimulateScenario) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        match scenario.scenario {
            Some(Scenario::SpeakerUpdate(_)) => self.pretend_to_speak(ctx, key),
            Some(Scenario::ServerLeave(_)) => {
                self.dismiss(ctx, key, DisconnectReason::ServerShutdown, Action::Disconnect)
            }
            Some(Scenario::LeaveRequestFullReconnect(_)) => {
                self.dismiss(ctx, key, DisconnectReason::ClientInitiated, Action::Reconnect);
            }
            Some(Scenario::NodeFailure(_)) => self.vanish(ctx, key),
            // There is no other node to move to; what a move looks like to a client is to resume and find its session.
            Some(Scenario::Migration(_)) => participant.send(ctx, leave(DisconnectReason::Migration, Action::Resume)),
            Some(Scenario::DisconnectSignalOnResume(_)) => participant.sabotage = Some(Sabotage::Disconnect),
            Some(Scenario::DisconnectSignalOnResumeNoMessages(_)) => {
                participant.sabotage = Some(Sabotage::DisconnectSilently)
            }
            // There is only UDP here; the client starts over by itself and finds it again.
            Some(Scenario::SwitchCandidateProtocol(_)) => {}
            Some(Scenario::SubscriberBandwidth(_)) | None => ctx.count(Counter::NotAllowed),
        }
    }

    fn pretend_to_speak(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let told = [Speaker {
            participant: key,
            level: 0.9,
        }];
        let activity = southbound::AudioActivity {
            track: southbound::TrackId(0),
            level: 3,
            active: INTERVAL,
        };
        self.speakers.hear(key, activity);
        self.speakers.update(ctx.now);
        ctx.wake(INTERVAL * 2, Timer::Room(self.key));
        self.tell_speakers(ctx, &told);
    }

    /// As if the server had crashed: the connection breaks, and who comes back is not known.
    fn vanish(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if let Some(connection) = participant.connection() {
            ctx.out.push(Output::Close {
                connection,
                code: 1011,
                reason: "as the test asked",
            });
            participant.signal.link = crate::participant::Link::Detached { since: ctx.now };
        }
        self.remove(ctx, key, DisconnectReason::StateMismatch);
    }
}
