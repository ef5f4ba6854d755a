//! Notices of nodes, and messages that arrived there.

use std::collections::BTreeMap;
use std::time::Instant;

use southbound::{AudioActivity, Command, MessageId, Notice, TransportId};

use super::Controller;
use crate::context::ParticipantRef;
use crate::ids::{ParticipantKey, RoomKey};
use crate::{Counter, DataMessage, Event, Output};

impl Controller {
    pub(super) fn notice(&mut self, now: Instant, notice: Notice, out: &mut Vec<Output>) {
        match notice {
            Notice::Node(node) => self.core.node = Some(node),
            Notice::Audio(activities) => self.audio(now, activities, out),
            Notice::Refused { why, .. } => out.push(Output::Event(Event::Refused { why })),
            // Of calls that somebody else controls.
            Notice::Relay(_) => {}
            // Front ends read messages and pass them on as such. Nobody has read this one.
            Notice::MessageReceived { transport, message, .. } => self.data(now, transport, message, None, out),
            notice => self.about_somebody(now, notice, out),
        }
    }

    pub(super) fn data(
        &mut self,
        now: Instant,
        transport: TransportId,
        message: MessageId,
        data: Option<Box<DataMessage>>,
        out: &mut Vec<Output>,
    ) {
        let index = &mut self.core.index;
        if let Some(participant_ref) = index.transports.get(&transport).copied() {
            self.in_room(now, participant_ref.room, out, |room, ctx| {
                room.take_data(ctx, participant_ref.participant, data, message)
            });
        } else if let Some(leaver) = index.leavers.get_mut(now, transport) {
            let key = leaver.participant_ref.room;
            self.in_room(now, key, out, |room, ctx| {
                room.take_last_data(ctx, transport, data, message)
            });
        } else {
            out.push(Output::Count(Counter::StaleNotice));
        }
        out.push(Output::Command(Command::MessageHandled { message }));
    }

    fn about_somebody(&mut self, now: Instant, notice: Notice, out: &mut Vec<Output>) {
        let Some(participant_ref) = self.subject(&notice) else {
            return out.push(Output::Count(Counter::StaleNotice));
        };
        self.in_room(now, participant_ref.room, out, |room, ctx| {
            room.notice(ctx, participant_ref.participant, notice)
        });
    }

    /// The participant that a notice is about.
    fn subject(&self, notice: &Notice) -> Option<ParticipantRef> {
        let of_transport = |transport: &TransportId| self.core.index.transports.get(transport).copied();
        match notice {
            Notice::Connected { transport, .. }
            | Notice::Disconnected { transport }
            | Notice::Closed { transport, .. }
            | Notice::ChannelOpened { transport, .. }
            | Notice::ChannelClosed { transport, .. }
            | Notice::Quality { transport, .. } => of_transport(transport),
            Notice::TrackStarted { track } | Notice::Encodings { track, .. } => {
                self.core.index.tracks.get(track).copied()
            }
            Notice::SubscriptionStarted { subscription } | Notice::Paused { subscription, .. } => {
                self.core.index.subscriptions.get(subscription).copied()
            }
            Notice::Node(_)
            | Notice::Audio(_)
            | Notice::MessageReceived { .. }
            | Notice::Refused { .. }
            | Notice::Relay(_) => None,
        }
    }

    fn audio(&mut self, now: Instant, activities: Vec<AudioActivity>, out: &mut Vec<Output>) {
        let mut heard: BTreeMap<RoomKey, Vec<(ParticipantKey, AudioActivity)>> = BTreeMap::new();
        for activity in activities {
            if let Some(participant_ref) = self.core.index.tracks.get(&activity.track) {
                heard
                    .entry(participant_ref.room)
                    .or_default()
                    .push((participant_ref.participant, activity));
            }
        }
        for (key, heard) in heard {
            self.in_room(now, key, out, |room, ctx| room.take_audio(ctx, heard.into_iter()));
        }
    }
}
