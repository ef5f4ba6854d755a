//! The actions of administrators: a line of the log each, and the newest ones for `/api/audit`.
//!
//! They are the actions of the operator's page and the same calls of the server API. A request that
//! a token does not allow is none, so that strangers cannot push entries out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::Claims;
use controller::AdminRequest;
use livekit::api::{ApiError, Reply};
use operator::{AuditAction, AuditEntry, AuditLog};
use tracing::info;

use crate::os::clock;

/// The entries that are kept. At the limit the oldest goes.
const ENTRIES_MAX: usize = 1_000;

/// Longer names are cut. Shape: bytes.
const NAME_MAX: usize = 256;

/// The newest actions of administrators on this controller.
#[derive(Clone, Default)]
pub(crate) struct AuditTrail(Arc<Mutex<VecDeque<AuditEntry>>>);

/// An action until its result is known. One whose client goes away before is written down as well.
pub(crate) struct PendingAction {
    entry: AuditEntry,
    trail: AuditTrail,
}

impl PendingAction {
    /// Sets the result, before it is written down. `None` is no answer of the controller.
    pub(crate) fn finish(mut self, result: Option<&Result<Reply, ApiError>>) {
        self.entry.error = match result {
            Some(Ok(_)) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("the server did not answer".to_owned()),
        };
    }
}

impl Drop for PendingAction {
    fn drop(&mut self) {
        self.trail.record(self.entry.clone());
    }
}

impl AuditTrail {
    /// The action of a request; `None` for one that is no action of the audit.
    pub(crate) fn begin(&self, claims: &Claims, request: &AdminRequest) -> Option<PendingAction> {
        let (action, room, participant, track) = match request {
            AdminRequest::DeleteRoom { room } => (AuditAction::CloseRoom, room, None, None),
            AdminRequest::RemoveParticipant { room, identity } => {
                (AuditAction::RemoveParticipant, room, Some(identity), None)
            }
            AdminRequest::MuteTrack {
                room,
                identity,
                track_sid,
                muted,
            } => {
                let action = match muted {
                    true => AuditAction::Mute,
                    false => AuditAction::Unmute,
                };
                (action, room, Some(identity), Some(track_sid))
            }
            _ => return None,
        };
        let entry = AuditEntry {
            at_ms: u64::try_from(clock::unix().as_millis()).unwrap_or(u64::MAX),
            identity: shortened(claims.identity()),
            api_key: shortened(&claims.iss),
            action,
            room: shortened(room),
            participant: participant.map(|identity| shortened(identity)),
            track: track.map(|track| shortened(track)),
            error: Some("the client did not wait for the result".to_owned()),
        };
        let trail = self.clone();
        Some(PendingAction { entry, trail })
    }

    fn record(&self, entry: AuditEntry) {
        info!(
            action = entry.action.name(),
            by = entry.identity,
            api_key = entry.api_key,
            room = entry.room,
            participant = entry.participant,
            track = entry.track,
            error = entry.error,
            "audit"
        );
        let mut entries = self.entries();
        if entries.len() >= ENTRIES_MAX {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The entries about rooms that `admits`, the newest first.
    pub(crate) fn log(&self, admits: impl Fn(&str) -> bool) -> AuditLog {
        let entries = self.entries();
        let admitted = entries.iter().rev().filter(|entry| admits(&entry.room));
        AuditLog {
            entries: admitted.cloned().collect(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<AuditEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(name: &str) -> String {
    name[..name.floor_char_boundary(NAME_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remove(trail: &AuditTrail, room: &str, identity: &str) -> PendingAction {
        let request = AdminRequest::RemoveParticipant {
            room: room.to_owned(),
            identity: identity.to_owned(),
        };
        let claims = Claims {
            iss: "devkey".to_owned(),
            sub: "ada".to_owned(),
            ..Claims::default()
        };
        trail.begin(&claims, &request).unwrap()
    }

    #[test]
    fn audit_keeps_the_newest_entries_with_names_cut() {
        let trail = AuditTrail::default();
        for number in 0..ENTRIES_MAX + 5 {
            remove(&trail, "lobby", &number.to_string()).finish(None);
        }
        drop(remove(&trail, "lobby", &"é".repeat(NAME_MAX)));
        let entries = trail.log(|_| true).entries;
        assert_eq!(entries.len(), ENTRIES_MAX);
        let participant = |index: usize| entries[index].participant.as_deref().unwrap();
        assert_eq!(participant(0), "é".repeat(NAME_MAX / 2));
        assert_eq!((participant(1), participant(ENTRIES_MAX - 1)), ("1004", "6"));
        let error = entries[0].error.as_deref();
        assert_eq!(error, Some("the client did not wait for the result"));
    }

    #[test]
    fn audit_shows_rooms_of_the_token_only() {
        let trail = AuditTrail::default();
        remove(&trail, "lobby", "ben").finish(None);
        remove(&trail, "attic", "eve").finish(None);
        let entries = trail.log(|room| room == "attic").entries;
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].room, "attic");
    }
}
