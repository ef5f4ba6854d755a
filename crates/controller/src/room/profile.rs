//! A room as clients are told of it.

use std::sync::Arc;
use std::time::Duration;

use crate::RoomInfo;
use crate::context::Context;
use crate::room::lifetime::Lifetime;
use crate::room::roster::Roster;
use slots::{Account, Held};

/// Names and texts of a room.
pub(crate) struct RoomProfile {
    name: Arc<str>,
    /// The API key that it counts for.
    api_key: String,
    sid: String,
    /// Since 1970-01-01 UTC.
    created: Duration,
    metadata: String,
    metadata_held: Held,
    account: Account,
}

impl RoomProfile {
    pub(in crate::room) fn new(ctx: &mut Context<'_>, api_key: &str, account: Account) -> Self {
        Self {
            name: ctx.room.clone(),
            api_key: api_key.to_owned(),
            sid: ctx.core.random.sid("RM_"),
            created: ctx.unix(),
            metadata: String::new(),
            metadata_held: account.hold(),
            account,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name, for everything that bears it.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(crate) fn api_key(&self) -> &str {
        &self.api_key
    }

    pub(crate) fn created(&self) -> Duration {
        self.created
    }

    pub(in crate::room) fn metadata(&self) -> &str {
        &self.metadata
    }

    /// Whether the room may have metadata of this length.
    pub(in crate::room) fn takes_metadata(&self, len: usize) -> bool {
        self.account.takes(len, len.saturating_sub(self.metadata_held.bytes()))
    }

    pub(in crate::room) fn set_metadata(&mut self, metadata: String) {
        self.metadata_held.set(metadata.len());
        self.metadata = metadata;
    }

    /// Takes over what was known of a room that another controller served.
    pub(in crate::room) fn restore(&mut self, sid: String, created: Duration, metadata: String) {
        (self.sid, self.created) = (sid, created);
        self.set_metadata(metadata);
    }

    /// The room at this moment.
    pub(in crate::room) fn info(&self, lifetime: &Lifetime, roster: &Roster) -> RoomInfo {
        let counted = roster.all().filter(|participant| !participant.is_dependent());
        let publishers = roster.all().filter(|participant| participant.is_publisher());
        RoomInfo {
            sid: self.sid.clone(),
            name: self.name.to_string(),
            empty_timeout: lifetime.empty_timeout,
            departure_timeout: lifetime.departure_timeout,
            max_participants: roster.participants_max() as u32,
            created: self.created,
            metadata: self.metadata.clone(),
            num_participants: counted.count() as u32,
            num_publishers: publishers.count() as u32,
            active_recording: roster.is_recorded(),
        }
    }
}
