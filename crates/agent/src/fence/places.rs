//! The room of each transport, track and subscription of a node.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use southbound::{Notice, Observation, SubscriptionId, TrackId, TransportId};

use super::belongings::{Belonging, Change};
use crate::limits::CLOSED_MAX;

/// The rooms, by what belongs to them.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) transports: BTreeMap<TransportId, Arc<str>>,
    tracks: BTreeMap<TrackId, Arc<str>>,
    subscriptions: BTreeMap<SubscriptionId, Arc<str>>,
    /// Transports that were closed last, whose last messages are read only then.
    departed: VecDeque<(TransportId, Arc<str>)>,
}

impl Places {
    /// Something of a room has changed.
    pub(super) fn apply(&mut self, change: Change, room: &Arc<str>) {
        match change {
            Change::Begun(Belonging::Transport(id)) => _ = self.transports.insert(id, room.clone()),
            Change::Begun(Belonging::Track(id)) => _ = self.tracks.insert(id, room.clone()),
            Change::Begun(Belonging::Subscription(id)) => _ = self.subscriptions.insert(id, room.clone()),
            Change::Ended(Belonging::Transport(id)) => {
                remove(&mut self.transports, id, room);
                if self.departed.len() >= CLOSED_MAX {
                    self.departed.pop_front();
                }
                self.departed.push_back((id, room.clone()));
            }
            Change::Ended(Belonging::Track(id)) => remove(&mut self.tracks, id, room),
            Change::Ended(Belonging::Subscription(id)) => remove(&mut self.subscriptions, id, room),
            Change::Begun(_) | Change::Ended(_) => {}
        }
    }

    /// The room of a track.
    pub(super) fn of_track(&self, track: TrackId) -> Option<&Arc<str>> {
        self.tracks.get(&track)
    }

    /// The room that a notice is about, if it is about one.
    pub(super) fn of_notice(&self, notice: &Notice) -> Option<&Arc<str>> {
        match notice {
            Notice::Connected { transport, .. }
            | Notice::Disconnected { transport }
            | Notice::Closed { transport, .. }
            | Notice::ChannelOpened { transport, .. }
            | Notice::ChannelClosed { transport, .. }
            | Notice::Quality { transport, .. }
            | Notice::Refused { transport, .. }
            | Notice::Observation(
                Observation::Probe { transport, .. }
                | Observation::Loss { transport, .. }
                | Observation::Estimate { transport, .. }
                | Observation::Path { transport, .. },
            ) => self.transports.get(transport),
            Notice::MessageReceived { transport, .. } => {
                let departed = || self.departed.iter().rev().find(|(departed, _)| departed == transport);
                self.transports
                    .get(transport)
                    .or_else(|| departed().map(|(_, room)| room))
            }
            Notice::TrackStarted { track }
            | Notice::Encodings { track, .. }
            | Notice::Observation(Observation::KeyFrameQuery { track, .. }) => self.tracks.get(track),
            Notice::SubscriptionStarted { subscription }
            | Notice::Paused { subscription, .. }
            | Notice::Observation(
                Observation::LayerSwitch { subscription, .. } | Observation::KeyFrameRequest { subscription },
            ) => self.subscriptions.get(subscription),
            Notice::Node(_) | Notice::Audio(_) | Notice::Relay(_) | Notice::Reaches { .. } | Notice::Missed { .. } => {
                None
            }
        }
    }
}

/// Removes what is a room's, unless another room has it now.
fn remove<K: Ord>(places: &mut BTreeMap<K, Arc<str>>, key: K, room: &Arc<str>) {
    if places.get(&key) == Some(room) {
        places.remove(&key);
    }
}
