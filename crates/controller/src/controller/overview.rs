//! Rooms and participants in pages, for operators: what they are, without the texts of
//! applications.

use std::ops::Range;
use std::time::Duration;

use access::RoomNames;
use operator::{ParticipantPage, ParticipantSummary, PublishedTrack, RoomOrder, RoomPage, RoomSummary};

use super::Controller;
use crate::ParticipantState;
use crate::participant::Participant;
use crate::room::Room;
use crate::room::timeline::timeline_track;

/// The rooms or participants that an operator asks for.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only in this room.
    pub room: Option<String>,
    /// Only in rooms of this API key.
    pub key_rooms: RoomNames,
    /// Only participants of this identity.
    pub identity: Option<String>,
    /// Only those with this text in the name or the identity, in either case; empty for all.
    pub search: String,
    /// Their places among all that match.
    pub range: Range<usize>,
}

/// A page of rooms.
pub fn room_page(controller: &Controller, selection: &Selection, order: RoomOrder) -> RoomPage {
    let search = selection.search.to_lowercase();
    let rooms = selected(controller, selection).filter(|room| contains(room.profile().name(), &search));
    let mut rooms: Vec<RoomSummary> = rooms.map(room_summary).collect();
    rooms.sort_by(|a, b| order.compare(a, b));
    let total = rooms.len();
    let range = &selection.range;
    let rooms = rooms.into_iter().skip(range.start).take(range.len()).collect();
    RoomPage { rooms, total }
}

/// A page of participants, hidden ones as well, by room and identity.
pub fn participant_page(controller: &Controller, selection: &Selection) -> ParticipantPage {
    let search = selection.search.to_lowercase();
    let matches = |participant: &&Participant| {
        let profile = &participant.profile;
        let is_named = selection.identity.as_ref().is_none_or(|it| *it == profile.identity);
        is_named && (contains(&profile.identity, &search) || contains(&profile.name, &search))
    };
    let range = &selection.range;
    let (mut participants, mut total) = (Vec::new(), 0);
    for room in selected(controller, selection) {
        let mut found: Vec<&Participant> = room.roster().all().filter(matches).collect();
        found.sort_by(|a, b| a.profile.identity.cmp(&b.profile.identity));
        let places = range.len() - participants.len();
        let of_page = found.iter().skip(range.start.saturating_sub(total)).take(places);
        let name = room.profile().name();
        participants.extend(of_page.map(|participant| participant_summary(name, participant)));
        total += found.len();
    }
    ParticipantPage { participants, total }
}

/// The rooms of a selection, in the order of their names.
fn selected<'a>(controller: &'a Controller, selection: &'a Selection) -> impl Iterator<Item = &'a Room> {
    let named: Vec<_> = match &selection.room {
        Some(name) => controller.by_name.get_key_value(name).into_iter().collect(),
        None => controller.by_name.iter().collect(),
    };
    let of_key = named.into_iter().filter(|(name, _)| selection.key_rooms.admits(name));
    of_key.filter_map(|(_, key)| controller.rooms.get(key))
}

fn contains(text: &str, search: &str) -> bool {
    search.is_empty() || text.to_lowercase().contains(search)
}

fn room_summary(room: &Room) -> RoomSummary {
    let publishers = room.roster().all().filter(|participant| participant.is_publisher());
    RoomSummary {
        name: room.profile().name().to_owned(),
        participants: room.roster().len(),
        publishers: publishers.count(),
        created_at_ms: milliseconds(room.profile().created()),
    }
}

fn milliseconds(since_epoch: Duration) -> u64 {
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

fn participant_summary(room: &str, participant: &Participant) -> ParticipantSummary {
    let profile = &participant.profile;
    let tracks = participant.publications.arrived().map(|track| {
        let named = timeline_track(track, &profile.identity);
        PublishedTrack {
            id: named.id,
            kind: named.kind,
            source: named.source,
            is_muted: track.info.muted,
        }
    });
    ParticipantSummary {
        room: room.to_owned(),
        identity: profile.identity.clone(),
        name: profile.name.clone(),
        is_connected: profile.state == ParticipantState::Active,
        joined_at_ms: milliseconds(profile.joined),
        tracks: tracks.collect(),
    }
}
