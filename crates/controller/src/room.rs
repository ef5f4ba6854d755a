//! One room: who is in it and who gets what from whom.

mod audience;
mod backup;
mod budgets;
mod crowd;
mod data;
mod deliver;
mod demand;
mod join;
mod leave;
mod matching;
mod messages;
mod metadata;
mod negotiate;
mod notices;
mod pauses;
mod publish;
mod quality;
mod renegotiate;
mod resume;
mod rights;
mod simulate;
mod speakers;
mod subscribe;
mod tick;
mod updates;
mod voices;

pub(crate) use leave::leave;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use livekit_protocol::{ParticipantInfo, Room as RoomInfo};

use southbound::TrackId;

use crate::attention::Attention;
use crate::budget::Budget;
use crate::client_rules::Disabled;
use crate::context::{Context, Place};
use crate::ids::{ParticipantKey, RoomKey};
use crate::participant::Participant;
use crate::speakers::Speakers;
use crate::voices::Voices;

/// One room.
pub(crate) struct Room {
    pub(crate) key: RoomKey,
    pub(crate) name: String,
    pub(crate) sid: String,
    pub(crate) participants: BTreeMap<ParticipantKey, Participant>,
    /// Whose track an id names.
    track_sids: BTreeMap<String, (ParticipantKey, TrackId)>,
    /// When the last participant left; `None` while somebody is there.
    pub(crate) empty_since: Option<Instant>,
    /// Since 1970-01-01 UTC.
    created: Duration,
    metadata: String,
    /// Those who left lately, for those who were away when they did.
    departed: VecDeque<(Instant, ParticipantInfo)>,
    /// Whose subscriptions changed while this input was handled.
    touched: BTreeSet<ParticipantKey>,
    /// Tracks of which more or less may be wanted since.
    demanded: BTreeSet<TrackId>,
    /// Whose action this input is.
    actor: Option<ParticipantKey>,
    /// What everybody is told with the next tick.
    crowd: crowd::Crowd,
    /// How much the others may yet hear of each, by identity.
    budgets: BTreeMap<String, Budget>,
    speakers: Speakers,
    attention: Attention,
    /// The place the agent was told of, for the pictures that have one.
    attended: BTreeMap<TrackId, u8>,
    /// Which microphones are heard; `None` when all are.
    voices: Option<Voices>,
    /// When everybody is told how many are here; `None` while they know.
    census: Option<Instant>,
}

impl Room {
    pub(crate) fn new(ctx: &mut Context<'_>, name: String) -> Self {
        Self {
            key: ctx.core.ids.room(),
            name,
            sid: ctx.core.random.sid("RM_"),
            participants: BTreeMap::new(),
            track_sids: BTreeMap::new(),
            empty_since: Some(ctx.now),
            created: ctx.unix(),
            metadata: String::new(),
            departed: VecDeque::new(),
            touched: BTreeSet::new(),
            demanded: BTreeSet::new(),
            actor: None,
            crowd: crowd::Crowd::default(),
            budgets: BTreeMap::new(),
            speakers: Speakers::default(),
            attention: Attention::default(),
            attended: BTreeMap::new(),
            voices: ctx.core.config.voices.map(Voices::new),
            census: None,
        }
    }

    /// Does what the input that was just handled made necessary: offers and requests for media sections, one for all changes,
    /// and word to publishers of what is wanted of them.
    pub(crate) fn settle(&mut self, ctx: &mut Context<'_>) {
        self.postpone(ctx);
        while let Some(key) = self.touched.pop_first() {
            self.renegotiate(ctx, key);
        }
        while let Some(track) = self.demanded.pop_first() {
            self.tell_demand(ctx, track);
        }
    }

    pub(crate) fn info(&self, ctx: &Context<'_>) -> RoomInfo {
        let visible = self
            .participants
            .values()
            .filter(|participant| !participant.permission.hidden);
        let publishers = visible.clone().filter(|participant| !participant.tracks.is_empty());
        RoomInfo {
            sid: self.sid.clone(),
            name: self.name.clone(),
            empty_timeout: ctx.core.config.empty_timeout.as_secs() as u32,
            departure_timeout: ctx.core.config.empty_timeout.as_secs() as u32,
            max_participants: ctx.core.config.participants_max as u32,
            creation_time: self.created.as_secs() as i64,
            creation_time_ms: self.created.as_millis() as i64,
            enabled_codecs: join::enabled_codecs(Disabled::default()),
            metadata: self.metadata.clone(),
            num_participants: visible.count() as u32,
            num_publishers: publishers.count() as u32,
            active_recording: self.is_recorded(),
            ..RoomInfo::default()
        }
    }

    /// Whether somebody records, seen or not.
    fn is_recorded(&self) -> bool {
        self.participants
            .values()
            .any(|participant| participant.permission.recorder)
    }

    fn place(&self, participant: ParticipantKey) -> Place {
        Place {
            room: self.key,
            participant,
        }
    }

    fn by_identity(&self, identity: &str) -> Option<ParticipantKey> {
        self.participants
            .values()
            .find(|participant| participant.identity == identity)
            .map(|found| found.key)
    }

    fn by_sid(&self, sid: &str) -> Option<ParticipantKey> {
        self.participants
            .values()
            .find(|participant| participant.sid == sid)
            .map(|found| found.key)
    }

    fn others(&self, key: ParticipantKey) -> Vec<ParticipantKey> {
        self.participants
            .keys()
            .copied()
            .filter(|other| *other != key)
            .collect()
    }
}
