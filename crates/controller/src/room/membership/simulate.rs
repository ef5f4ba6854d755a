//! Failures on request: clients test with them that they recover.

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::SimulatedFault;
use crate::room::Room;
use crate::room::membership::resume::break_connection;
use crate::{Counter, EndAction, EndReason, IceProtocol, Notification, Scenario, TurnServer};

impl Room {
    /// The failure happens to the participant that asks for it, and to nobody else.
    pub(in crate::room) fn simulate(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, scenario: Option<Scenario>) {
        let Some(participant) = self.roster.get_mut(key) else {
            return;
        };
        match scenario {
            Some(Scenario::Speaker) => self.speaking.pretend_to_speak(ctx, &self.roster, key),
            Some(Scenario::ServerLeave) => self.dismiss(ctx, key, EndReason::ServerShutdown, EndAction::Disconnect),
            Some(Scenario::FullReconnect) => self.dismiss(ctx, key, EndReason::ClientInitiated, EndAction::Reconnect),
            // As if the server had crashed: the connection breaks, and who comes back is not known.
            Some(Scenario::NodeFailure) => {
                if let Some(connection) = participant.connection() {
                    break_connection(ctx, connection);
                    participant.signalling.detach(ctx.now);
                }
                self.remove(ctx, key, EndReason::StateMismatch);
            }
            // There is no other node to move to; what a move looks like to a client is to resume
            // and find its session.
            Some(Scenario::Migration) => {
                let (reason, action) = (EndReason::Migration, EndAction::Resume);
                participant.notify(ctx, Notification::Ended { reason, action });
            }
            Some(Scenario::DisconnectOnResume) => {
                participant.signalling.simulated_fault = Some(SimulatedFault::Disconnect)
            }
            Some(Scenario::DisconnectOnResumeSilently) => {
                participant.signalling.simulated_fault = Some(SimulatedFault::DisconnectSilently)
            }
            Some(Scenario::SwitchCandidateProtocol(protocol)) => {
                let has_tls = ctx.core.config.turn.as_ref().is_some_and(TurnServer::has_tls);
                // TCP is the nearest there is.
                let protocol = match protocol {
                    IceProtocol::Tls if !has_tls => IceProtocol::Tcp,
                    protocol => protocol,
                };
                let protocols = &mut self.protocols;
                protocols.remember(ctx.now, &participant.profile.identity, protocol);
            }
            Some(Scenario::DownlinkLimit(limit)) => {
                participant.media.simulated_limit = limit;
                participant.limit_downlink(ctx);
            }
            None => ctx.count(Counter::NotAllowed),
        }
    }
}
