//! Participants that said that they leave, while messages they sent before are on their way here.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use access::Permission;
use southbound::TransportId;

use crate::ids::ParticipantRef;
use crate::limits::{LEAVERS_MAX, LEAVING_TIME};
use crate::own_data::DataState;

/// Those who left last, by the transport they sent on.
#[derive(Debug, Default)]
pub(crate) struct Leavers {
    all: BTreeMap<TransportId, Leaver>,
    /// In the order they left.
    order: VecDeque<TransportId>,
}

/// A participant that left, as a sender of messages.
#[derive(Debug)]
pub(crate) struct Leaver {
    pub(crate) participant_ref: ParticipantRef,
    pub(crate) sid: String,
    pub(crate) identity: String,
    pub(crate) permission: Permission,
    /// Only the number of its last message is used.
    pub(crate) data: DataState,
    pub(crate) since: Instant,
}

impl Leavers {
    /// Remembers one; the oldest is forgotten at the limit.
    pub(crate) fn add(&mut self, transport: TransportId, leaver: Leaver) {
        let is_over = |oldest: &Leaver| leaver.since >= oldest.since + LEAVING_TIME;
        while let Some(oldest) = self.order.front()
            && (self.order.len() >= LEAVERS_MAX || self.all.get(oldest).is_none_or(is_over))
        {
            self.all.remove(oldest);
            self.order.pop_front();
        }
        self.order.push_back(transport);
        self.all.insert(transport, leaver);
    }

    /// The one that sent on a transport, unless it left too long ago.
    pub(crate) fn get_mut(&mut self, now: Instant, transport: TransportId) -> Option<&mut Leaver> {
        let leaver = self.all.get_mut(&transport)?;
        (now < leaver.since + LEAVING_TIME).then_some(leaver)
    }
}
