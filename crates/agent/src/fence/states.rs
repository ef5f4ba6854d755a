//! The last states that notices told of a room. A new owner is told them again, since the last one
//! may not have read them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use southbound::{CloseReason, Notice, SubscriptionId, TrackId, TransportId};
use wire::srtp::SrtpProfile;

use super::belongings::{Belonging, Change};
use crate::limits::CLOSED_PER_ROOM_MAX;

/// The states of one room's belongings, which are as many as those at most.
#[derive(Debug, Default)]
pub(super) struct States {
    connected: BTreeMap<TransportId, Option<SrtpProfile>>,
    disconnected: BTreeSet<TransportId>,
    started: BTreeSet<TrackId>,
    encodings: BTreeMap<TrackId, u8>,
    received: BTreeSet<SubscriptionId>,
    paused: BTreeSet<SubscriptionId>,
    /// Transports that closed by themselves since an owner has said everything.
    closed: VecDeque<(TransportId, CloseReason)>,
}

impl States {
    /// Remembers the state that a notice tells. Returns whether it tells one.
    pub(super) fn note(&mut self, notice: &Notice) -> bool {
        match *notice {
            Notice::Connected { transport, srtp } => {
                self.connected.insert(transport, srtp);
                self.disconnected.remove(&transport);
            }
            Notice::Disconnected { transport } => _ = self.disconnected.insert(transport),
            Notice::Closed { transport, reason } => {
                if self.closed.len() >= CLOSED_PER_ROOM_MAX {
                    self.closed.pop_front();
                }
                self.closed.push_back((transport, reason));
            }
            Notice::TrackStarted { track } => _ = self.started.insert(track),
            Notice::Encodings { track, active } => _ = self.encodings.insert(track, active),
            Notice::SubscriptionStarted { subscription } => _ = self.received.insert(subscription),
            Notice::Paused { subscription, paused } => match paused {
                true => _ = self.paused.insert(subscription),
                false => _ = self.paused.remove(&subscription),
            },
            _ => return false,
        }
        true
    }

    /// Forgets the states of what has ended.
    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Ended(Belonging::Transport(id)) => {
                self.connected.remove(&id);
                self.disconnected.remove(&id);
            }
            Change::Ended(Belonging::Track(id)) => {
                self.started.remove(&id);
                self.encodings.remove(&id);
            }
            Change::Ended(Belonging::Subscription(id)) => {
                self.received.remove(&id);
                self.paused.remove(&id);
            }
            Change::Ended(_) | Change::Begun(_) => {}
        }
    }

    /// The owner has said everything: it knows which transports there are.
    pub(super) fn complete(&mut self) {
        self.closed.clear();
    }

    /// The notices that tell all of it.
    pub(super) fn notices(&self) -> impl Iterator<Item = Notice> {
        let closed = self.closed.iter();
        let closed = closed.map(|&(transport, reason)| Notice::Closed { transport, reason });
        let connected = self.connected.iter();
        let connected = connected.map(|(&transport, &srtp)| Notice::Connected { transport, srtp });
        let disconnected = self.disconnected.iter();
        let disconnected = disconnected.map(|&transport| Notice::Disconnected { transport });
        let started = self.started.iter().map(|&track| Notice::TrackStarted { track });
        let encodings = self.encodings.iter();
        let encodings = encodings.map(|(&track, &active)| Notice::Encodings { track, active });
        let received = self.received.iter();
        let received = received.map(|&subscription| Notice::SubscriptionStarted { subscription });
        let paused = self.paused.iter().map(|&subscription| Notice::Paused {
            subscription,
            paused: true,
        });
        let transports = closed.chain(connected).chain(disconnected);
        transports.chain(started).chain(encodings).chain(received).chain(paused)
    }
}
