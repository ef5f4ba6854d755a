//! Settings of the operator.

use std::time::Duration;

use allocation::Loudest;

use access::{ApiKeys, RoomNames, TurnSecret};
use southbound::ControllerId;

use crate::quota::Quotas;
use crate::{IceProtocol, IceServer};

/// Settings of the operator.
#[derive(Clone, Debug)]
pub struct Config {
    /// Tells the ids that this controller assigns from those of others, where a node has several
    /// controllers: another one each time it starts.
    pub controller: ControllerId,
    /// Keys that sign access tokens.
    pub keys: ApiKeys,
    /// Whether joining a room that is not there creates it.
    pub auto_create: bool,
    /// How long a room stays while nobody has joined.
    pub empty_timeout: Duration,
    /// How long a room stays after its last participant left, so that a reload finds it as it was.
    pub departure_timeout: Duration,
    /// The most participants a room takes; one more is refused.
    pub participants_max: usize,
    /// The limits of API keys.
    pub quotas: Quotas,
    /// The participants of a room that are shown to the others.
    pub visible: Visible,
    /// Whether an administrator may unmute what a participant has muted.
    pub remote_unmute: bool,
    /// Whether events of rooms are output, for those outside of them.
    pub room_events: bool,
    /// Whether observations of participants are output, for timelines.
    pub observations: bool,
    /// How the voices are chosen that a large room hears; `None` for all of them, however many
    /// there are.
    pub voices: Option<Loudest>,
    /// STUN and TURN servers for clients whose access does not change. Ours needs none: it is
    /// reached at its own address.
    pub ice_servers: Vec<IceServer>,
    /// A TURN server that shares a secret with this one.
    pub turn: Option<TurnServer>,
    /// The rooms that may only be in some regions. The first that a room is of counts for it.
    pub pinned: Vec<PinnedRooms>,
    /// The region of this server, as shown to clients.
    pub region: String,
    /// The name of this server among others, as shown to clients.
    pub node_id: String,
}

impl Config {
    /// The defaults: rooms are created by joining, wait five minutes for their first participant,
    /// and stay 20 seconds after the last one left.
    pub fn new(keys: ApiKeys) -> Self {
        Self {
            controller: ControllerId::default(),
            keys,
            auto_create: true,
            empty_timeout: Duration::from_secs(300),
            departure_timeout: Duration::from_secs(20),
            participants_max: crate::limits::PARTICIPANTS_MAX,
            quotas: Quotas::default(),
            visible: Visible::Everybody,
            remote_unmute: false,
            room_events: false,
            observations: false,
            voices: Some(Loudest::default()),
            ice_servers: Vec::new(),
            turn: None,
            pinned: Vec::new(),
            region: String::new(),
            node_id: "weir".to_owned(),
        }
    }

    /// The regions that a room may be in; any if there is none.
    pub(crate) fn regions_of(&self, room: &str) -> &[String] {
        let found = self.pinned.iter().find(|pinned| pinned.rooms.admits(room));
        found.map_or(&[], |pinned| &pinned.regions)
    }
}

/// Rooms that may only be in some regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedRooms {
    /// The rooms, by their names.
    pub rooms: RoomNames,
    /// The regions of the media nodes that their participants may be on.
    pub regions: Vec<String>,
}

/// The participants of a room that are shown to the others, hidden ones apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visible {
    /// All of them.
    #[default]
    Everybody,
    /// Participants that publish, or have since joining. The others are counted and not listed, so
    /// that updates grow with the number of publishers.
    Publishers,
}

/// A TURN server that shares a secret with this one: each participant gets credentials of its own.
#[derive(Clone, Debug)]
pub struct TurnServer {
    /// `turn:` and `turns:` addresses.
    pub urls: Vec<String>,
    /// The secret.
    pub secret: TurnSecret,
    /// How long credentials are valid.
    pub valid_for: Duration,
}

impl TurnServer {
    /// Whether it is reached over TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.urls.iter().any(|url| is_tls(url))
    }

    /// The server for one participant, valid from `unix` on, since 1970-01-01 UTC. Of its addresses
    /// only those over TLS if that is what the participant asked for.
    pub(crate) fn for_participant(&self, sid: &str, protocol: IceProtocol, unix: Duration) -> IceServer {
        let is_wanted = |url: &&String| protocol != IceProtocol::Tls || is_tls(url);
        let credentials = self.secret.credentials(sid, unix + self.valid_for);
        IceServer {
            urls: self.urls.iter().filter(is_wanted).cloned().collect(),
            username: credentials.username,
            credential: credentials.password,
        }
    }
}

fn is_tls(url: &str) -> bool {
    url.starts_with("turns:")
}
