//! Notices of nodes, and messages that arrived there.

use std::collections::BTreeMap;
use std::time::Instant;

use southbound::{AudioActivity, Command, Node, NodeId, Notice, Observation, TransportId};

use super::{Controller, trunks};
use crate::context::{Context, Index};
use crate::ids::{ParticipantKey, ParticipantRef, RoomKey};
use crate::room::Room;
use crate::room::data::Arrived;
use crate::room::timeline;
use crate::room::trunking::TrunkFailure;
use crate::{Counter, DataMessage, EndAction, EndReason, Event, Output};

impl Controller {
    pub(super) fn notice(&mut self, now: Instant, node: NodeId, notice: Notice, out: &mut Vec<Output>) {
        match notice {
            Notice::Node(announced) if announced.node == node => self.announced(now, announced, out),
            Notice::Node(_) => out.push(Output::Count(Counter::StaleNotice)),
            Notice::Audio(activities) => self.audio(now, node, activities, out),
            Notice::Refused { transport, ref why } => {
                observe(self, now, node, &notice, out);
                out.push(Output::Event(Event::Refused { why: why.clone() }));
                trunks::fail(self, now, transport, TrunkFailure::Refused, out);
            }
            // For timelines only: no decision follows.
            notice @ Notice::Observation(_) => observe(self, now, node, &notice, out),
            // Of calls that somebody else controls.
            Notice::Relay(_) => {}
            // Front ends read messages and pass them on as such. Nobody has read this one.
            Notice::MessageReceived {
                transport,
                message,
                passed_on,
                linked,
                ..
            } => {
                let arrived = Arrived {
                    message,
                    passed_on,
                    linked,
                };
                self.data(now, transport, arrived, None, out);
            }
            Notice::Reaches {
                room,
                node: other,
                series,
                number,
            } => {
                if let Some(key) = self.by_name.get(&*room).copied() {
                    let source = Command::SetSource { node, series, number };
                    self.with_room(now, key, out, |room, ctx| {
                        room.messages().tell_source(ctx, other, source)
                    });
                }
            }
            Notice::Missed {
                room,
                sender,
                transport,
                label,
                payload,
            } => {
                if let Some(key) = self.by_name.get(&*room).copied() {
                    let missed = Command::Send {
                        to: vec![transport],
                        label,
                        payload,
                        reliable: true,
                        message: None,
                    };
                    self.with_room(now, key, out, |room, ctx| {
                        room.messages().send_missed(ctx, (node, &sender), transport, missed)
                    });
                }
            }
            // A track is known at each node that it comes to. Its publisher's has the word.
            Notice::TrackStarted { track } | Notice::Encodings { track, .. }
                if trunks::is_elsewhere(self, track, node) => {}
            notice => {
                if let Some(notice) = trunks::take_notice(self, now, notice, out) {
                    self.about_somebody(now, node, notice, out);
                }
            }
        }
    }

    /// A node is ready, or has other addresses. One that was there before it has lost everything.
    fn announced(&mut self, now: Instant, node: Node, out: &mut Vec<Output>) {
        for replaced in self.core.nodes.replaced_by(&node) {
            self.node_lost(now, replaced, out);
        }
        if !self.core.nodes.announce(node) {
            let why = "there are as many media nodes as this controller takes".to_owned();
            out.push(Output::Event(Event::Refused { why }));
        }
    }

    /// Ends the sessions of the participants on a node. They may join again, on another one.
    pub(super) fn node_lost(&mut self, now: Instant, node: NodeId, out: &mut Vec<Output>) {
        if !self.core.nodes.remove(node) {
            return out.push(Output::Count(Counter::StaleNotice));
        }
        let rooms = self.rooms.iter().flat_map(|(key, room)| {
            let there = room.roster().all().filter(|participant| participant.media.needs(node));
            there.map(|participant| (*key, participant.key))
        });
        let lost: Vec<_> = rooms.collect();
        for (key, participant) in lost {
            self.in_room(now, key, out, |room, ctx| {
                room.dismiss(ctx, participant, EndReason::ConnectionTimeout, EndAction::Reconnect);
            });
        }
        trunks::lose_node(self, now, node, out);
    }

    pub(super) fn data(
        &mut self,
        now: Instant,
        transport: TransportId,
        arrived: Arrived,
        data: Option<Box<DataMessage>>,
        out: &mut Vec<Output>,
    ) {
        let index = &mut self.core.index;
        let message = arrived.message;
        let node = message.node;
        let mut room = None;
        if let Some(participant_ref) = index.transports.get(&transport).copied() {
            room = Some(participant_ref.room);
            self.with_room(now, participant_ref.room, out, |room, ctx| {
                room.take_data(ctx, participant_ref.participant, data, arrived)
            });
        } else if let Some(leaver) = index.leavers.get_mut(now, transport) {
            let key = leaver.participant_ref.room;
            room = Some(key);
            self.with_room(now, key, out, |room, ctx| {
                room.messages().take_last(ctx, transport, data, &arrived)
            });
        } else {
            out.push(Output::Count(Counter::StaleNotice));
        }
        if self.core.nodes.contains(node) {
            let command = Command::MessageHandled { message };
            let room = room
                .and_then(|key| self.rooms.get(&key))
                .map(|room| room.profile().shared_name());
            out.push(Output::Command { node, room, command });
        }
    }

    fn about_somebody(&mut self, now: Instant, node: NodeId, notice: Notice, out: &mut Vec<Output>) {
        let is_measurement = matches!(notice, Notice::Quality { .. });
        let subject = self.subject(&notice).filter(|subject| self.is_on(*subject, node));
        let Some(participant_ref) = subject else {
            return out.push(Output::Count(Counter::StaleNotice));
        };
        let key = participant_ref.room;
        let take = |room: &mut Room, ctx: &mut Context<'_>| room.notice(ctx, participant_ref.participant, notice);
        match is_measurement {
            true => self.with_room(now, key, out, take),
            false => self.in_room(now, key, out, take),
        };
    }

    /// Whether a participant is on a node. The notices of other nodes are not about it.
    pub(super) fn is_on(&self, participant_ref: ParticipantRef, node: NodeId) -> bool {
        let room = self.rooms.get(&participant_ref.room);
        let participant = room.and_then(|room| room.roster().get(participant_ref.participant));
        participant.is_some_and(|participant| participant.media.node == node)
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
            | Notice::Quality { transport, .. }
            | Notice::Refused { transport, .. } => of_transport(transport),
            Notice::Observation(seen) => subject_of(&self.core.index, seen),
            Notice::TrackStarted { track } | Notice::Encodings { track, .. } => {
                self.core.index.tracks.get(track).copied()
            }
            Notice::SubscriptionStarted { subscription } | Notice::Paused { subscription, .. } => {
                self.core.index.subscriptions.get(subscription).copied()
            }
            Notice::Node(_)
            | Notice::Audio(_)
            | Notice::MessageReceived { .. }
            | Notice::Reaches { .. }
            | Notice::Missed { .. }
            | Notice::Relay(_) => None,
        }
    }

    fn audio(&mut self, now: Instant, node: NodeId, activities: Vec<AudioActivity>, out: &mut Vec<Output>) {
        let mut heard: BTreeMap<RoomKey, Vec<(ParticipantKey, AudioActivity)>> = BTreeMap::new();
        for activity in activities {
            let publisher = self.core.index.tracks.get(&activity.track).copied();
            if let Some(participant_ref) = publisher.filter(|publisher| self.is_on(*publisher, node)) {
                heard
                    .entry(participant_ref.room)
                    .or_default()
                    .push((participant_ref.participant, activity));
            }
        }
        for (key, heard) in heard {
            self.with_room(now, key, out, |room, ctx| room.take_audio(ctx, &heard));
        }
    }
}

/// Passes on what a notice says for the timelines of participants.
fn observe(controller: &mut Controller, now: Instant, node: NodeId, notice: &Notice, out: &mut Vec<Output>) {
    if !controller.core.config.observations {
        return;
    }
    let subject = controller.subject(notice);
    let Some(subject) = subject.filter(|subject| controller.is_on(*subject, node)) else {
        return;
    };
    let Some(room) = controller.rooms.get(&subject.room) else {
        return;
    };
    let mut ctx = Context {
        now,
        room: room.profile().shared_name(),
        core: &mut controller.core,
        out,
    };
    timeline::observe_notice(&mut ctx, room.roster(), subject.participant, notice);
}

/// The participant that an observation is of.
fn subject_of(index: &Index, seen: &Observation) -> Option<ParticipantRef> {
    match seen {
        Observation::Probe { transport, .. }
        | Observation::Loss { transport, .. }
        | Observation::Estimate { transport, .. }
        | Observation::Path { transport, .. } => index.transports.get(transport).copied(),
        Observation::LayerSwitch { subscription, .. } | Observation::KeyFrameRequest { subscription } => {
            index.subscriptions.get(subscription).copied()
        }
        Observation::KeyFrameQuery { track, .. } => index.tracks.get(track).copied(),
    }
}
