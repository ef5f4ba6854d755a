//! Permissions to receive, derived from the clients' messages and not from the controller's state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use livekit_protocol::data_packet::Value;
use livekit_protocol::leave_request::Action;
use livekit_protocol::{DataPacket, signal_request, signal_response};

use super::{Invariant, Violation};
use crate::grants::Grants;

/// Permissions to receive. Sessions and sources are numbered from 0 in the order they began.
#[derive(Default)]
pub(crate) struct Permissions {
    sessions: Vec<Standing>,
    sources: Vec<SourceState>,
    by_sid: HashMap<String, u32>,
    messages: BTreeMap<u64, Said>,
}

/// State of one client.
struct Standing {
    identity: String,
    grants: Grants,
    /// Whether it is in its room, by the messages that the server has received and sent.
    present: bool,
    auto_subscribe: bool,
    wishes: HashMap<String, bool>,
    /// Clients that may receive its tracks; `None` is all.
    audience: Option<BTreeSet<String>>,
    /// Tracks that it was receiving, and has disabled.
    disabled: BTreeSet<String>,
    /// Tracks it has received since it last subscribed to them.
    receiving: BTreeSet<String>,
}

/// State of one source.
#[derive(Clone, Debug)]
pub(crate) struct SourceState {
    /// Its publisher.
    pub(crate) session: usize,
    /// Whether its publisher's token allows it.
    pub(crate) allowed: bool,
    /// Its publisher ended it.
    pub(crate) over: bool,
    /// The server's names of it: more than one after it was announced again.
    pub(crate) sids: Vec<String>,
}

/// A message on a data channel.
struct Said {
    session: usize,
    to: Option<String>,
    reliable: bool,
    heard_by: BTreeSet<usize>,
}

impl Permissions {
    pub(crate) fn add_session(&mut self, identity: String, grants: Grants, auto_subscribe: bool) {
        self.sessions.push(Standing {
            identity,
            grants,
            present: false,
            auto_subscribe,
            wishes: HashMap::new(),
            audience: None,
            disabled: BTreeSet::new(),
            receiving: BTreeSet::new(),
        });
    }

    pub(crate) fn add_source(&mut self, source_state: SourceState) -> u32 {
        self.sources.push(source_state);
        self.sources.len() as u32 - 1
    }

    pub(crate) fn is_present(&self, session: usize) -> bool {
        self.sessions[session].present
    }

    /// The server announced that a client is in its room. The previous client of its name must be
    /// gone.
    pub(crate) fn joined(&mut self, session: usize) -> Result<(), Violation> {
        if let Some(twin) = self.present(self.sessions[session].grants.room, &self.sessions[session].identity) {
            return Err(Violation::new(
                Invariant::Permissions,
                format!("client {session} joins while client {twin} is there under its name"),
            ));
        }
        self.sessions[session].present = true;
        Ok(())
    }

    /// The server announced that a participant is gone; returns that client.
    pub(crate) fn left(&mut self, room: &str, identity: &str) -> Option<usize> {
        let session = self.present(room, identity)?;
        self.gone(session);
        Some(session)
    }

    /// A client is not in its room any more.
    pub(crate) fn gone(&mut self, session: usize) {
        self.sessions[session].present = false;
    }

    fn present(&self, room: &str, identity: &str) -> Option<usize> {
        self.sessions
            .iter()
            .position(|found| found.present && found.grants.room == room && found.identity == identity)
    }

    /// The server received this message of a client; with an offer come the sources that end with
    /// it.
    pub(crate) fn heard(&mut self, session: usize, message: &signal_request::Message, over: &[u32]) {
        use signal_request::Message;
        over.iter()
            .for_each(|source| self.sources[*source as usize].over = true);
        let standing = &mut self.sessions[session];
        match message {
            Message::Leave(_) => self.gone(session),
            Message::Subscription(request) => {
                for sid in request.track_sids.iter().filter(|sid| self.by_sid.contains_key(*sid)) {
                    standing.wishes.insert(sid.clone(), request.subscribe);
                    if !request.subscribe {
                        standing.disabled.remove(sid);
                        standing.receiving.remove(sid);
                    }
                }
            }
            Message::TrackSetting(request) => {
                for sid in &request.track_sids {
                    if !request.disabled {
                        standing.disabled.remove(sid);
                    } else if standing.receiving.contains(sid) {
                        standing.disabled.insert(sid.clone());
                    }
                }
            }
            Message::SubscriptionPermission(request) => {
                let named = request
                    .track_permissions
                    .iter()
                    .map(|permission| permission.participant_identity.clone());
                standing.audience = (!request.all_participants).then(|| named.collect());
                self.revoke(session);
            }
            _ => {}
        }
    }

    /// Clients that lose the permission for a client's tracks have to start again when they regain
    /// it.
    fn revoke(&mut self, publisher: usize) {
        let audience = self.sessions[publisher].audience.clone();
        let sids: Vec<String> = self
            .sources
            .iter()
            .filter(|source| source.session == publisher)
            .flat_map(|source| source.sids.clone())
            .collect();
        for standing in &mut self.sessions {
            if audience
                .as_ref()
                .is_some_and(|audience| !audience.contains(&standing.identity))
            {
                for sid in &sids {
                    standing.disabled.remove(sid);
                    standing.receiving.remove(sid);
                }
            }
        }
    }

    /// The server sent this message to a client.
    pub(crate) fn said(&mut self, session: usize, message: &signal_response::Message) {
        match message {
            signal_response::Message::TrackPublished(published) => {
                let source = published
                    .cid
                    .strip_prefix("track-")
                    .and_then(|id| id.parse::<u32>().ok());
                let (Some(source), Some(track)) = (source, &published.track) else {
                    return;
                };
                self.by_sid.insert(track.sid.clone(), source);
                self.sources[source as usize].sids.push(track.sid.clone());
            }
            signal_response::Message::Leave(leave) if leave.action() != Action::Resume => self.gone(session),
            _ => {}
        }
    }

    /// A packet of a source is sent to a client. Returns whether it may be.
    pub(crate) fn media(&mut self, receiver: usize, source: u32) -> Result<(), Violation> {
        let source_state = &self.sources[source as usize];
        let why = match self.may_receive(receiver, source_state) {
            Err(why) => Some(why),
            Ok(()) if self.is_disabled(receiver, source_state) => Some("it said that it does not want it now"),
            Ok(()) => None,
        };
        if let Some(why) = why {
            let what = format!(
                "client {receiver} is sent source {source} of client {}: {why}",
                source_state.session
            );
            return Err(Violation::new(Invariant::Permissions, what));
        }
        let wanted = &self.sessions[receiver];
        let sids: Vec<String> = source_state
            .sids
            .iter()
            .filter(|sid| wanted.wants(sid))
            .cloned()
            .collect();
        self.sessions[receiver].receiving.extend(sids);
        Ok(())
    }

    /// Whether a client must be getting a source when all is quiet; muting is not known here. For a
    /// source that was announced again, the offered name is not known here, so all names must be
    /// wanted.
    pub(crate) fn is_owed(&self, receiver: usize, source: u32) -> bool {
        let source_state = &self.sources[source as usize];
        let wanted = source_state.sids.iter().all(|sid| self.sessions[receiver].wants(sid));
        wanted && self.may_receive(receiver, source_state).is_ok()
    }

    fn is_disabled(&self, receiver: usize, source_state: &SourceState) -> bool {
        let standing = &self.sessions[receiver];
        source_state
            .sids
            .iter()
            .filter(|sid| standing.wants(sid))
            .all(|sid| standing.disabled.contains(sid))
    }

    fn may_receive(&self, receiver: usize, source_state: &SourceState) -> Result<(), &'static str> {
        let (from, to) = (&self.sessions[source_state.session], &self.sessions[receiver]);
        match () {
            () if source_state.session == receiver => Err("it is its own"),
            () if !to.present => Err("the receiver has left"),
            () if !from.present => Err("the publisher has left"),
            () if from.grants.room != to.grants.room => Err("they are in different rooms"),
            () if from.identity == to.identity => Err("they are the same person"),
            () if from.grants.hidden => Err("its publisher is hidden"),
            () if !to.grants.subscribe => Err("the receiver may not subscribe"),
            () if !source_state.allowed => Err("the publisher may not publish it"),
            () if source_state.over => Err("it is over"),
            () if source_state.sids.is_empty() => Err("it was not announced"),
            () if from
                .audience
                .as_ref()
                .is_some_and(|audience| !audience.contains(&to.identity)) =>
            {
                Err("its publisher forbids it")
            }
            () if !source_state.sids.iter().any(|sid| to.wants(sid)) => Err("it did not subscribe"),
            () => Ok(()),
        }
    }

    /// A client sends a message on a data channel. The number identifies it.
    pub(crate) fn message_said(&mut self, id: u64, session: usize, to: Option<String>, reliable: bool) {
        self.messages.insert(
            id,
            Said {
                session,
                to,
                reliable,
                heard_by: BTreeSet::new(),
            },
        );
    }

    /// A message is sent to a client. Returns whether it may be, and whether its sender is right.
    pub(crate) fn message_sent(&mut self, receiver: usize, payload: &[u8]) -> Result<(), Violation> {
        use prost::Message as _;
        let Ok(packet) = DataPacket::decode(payload) else {
            return Err(Violation::new(Invariant::Permissions, "a data packet cannot be read"));
        };
        let Some(Value::User(user)) = packet.value else {
            return Ok(());
        };
        let id = user.payload.try_into().map(u64::from_be_bytes).unwrap_or(u64::MAX);
        let Some(said) = self.messages.get_mut(&id) else {
            return Err(Violation::new(Invariant::Permissions, "a message that no client sent"));
        };
        let (from, to) = (&self.sessions[said.session], &self.sessions[receiver]);
        let why = match () {
            () if said.session == receiver => "it is its own",
            () if !to.present => "the receiver has left",
            () if from.grants.room != to.grants.room => "they are in different rooms",
            () if !from.grants.publish_data => "its sender may not send",
            () if said.to.as_ref().is_some_and(|identity| *identity != to.identity) => "it is for another client",
            () if packet.participant_identity != from.shown_as() => "it is under a false name",
            () if said.reliable && !said.heard_by.insert(receiver) => "it was there before",
            () => return Ok(()),
        };
        let what = format!(
            "client {receiver} is sent message {id} of client {} ({:?}): {why}",
            said.session, packet.participant_identity
        );
        Err(Violation::new(Invariant::Permissions, what))
    }

    /// The server's name of a source.
    pub(crate) fn sids_of(&self, source: u32) -> &[String] {
        &self.sources[source as usize].sids
    }

    /// The source of a track id.
    /// The client that publishes a source.
    pub(crate) fn session_of(&self, source: u32) -> Option<usize> {
        self.sources.get(source as usize).map(|source| source.session)
    }

    pub(crate) fn source_of(&self, sid: &str) -> Option<u32> {
        self.by_sid.get(sid).copied()
    }
}

impl Standing {
    /// The name others see.
    fn shown_as(&self) -> &str {
        if self.grants.hidden { "" } else { &self.identity }
    }

    fn wants(&self, sid: &str) -> bool {
        self.wishes.get(sid).copied().unwrap_or(self.auto_subscribe)
    }
}
