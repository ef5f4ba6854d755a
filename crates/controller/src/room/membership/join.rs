//! Coming in.

use operator::Observation;
use southbound::NodeId;

use crate::context::{Context, Timer};
use crate::ids::{ParticipantKey, ParticipantRef};
use crate::limits::CONNECT_TIMEOUT;
use crate::participant::Participant;
use crate::room::data::{DATA_TRACK, LOSSY, RELIABLE, channel};
use crate::room::membership::metadata::refresh_token_if_due;
use crate::room::negotiating::keep_first_offer;
use crate::room::roster::Roster;
use crate::room::{Room, timeline};
use crate::{
    ConnectionId, EndAction, EndReason, Event, IceProtocol, Join, Joined, Notification, ParticipantState, PeerMode,
    RoomInfo, ServerInfo,
};

impl Room {
    /// Lets a participant in. A participant of the same identity that was there is put out: the
    /// person is where the newer one is.
    pub(crate) fn join(
        &mut self,
        ctx: &mut Context<'_>,
        connection: ConnectionId,
        node: NodeId,
        mut join: Join,
    ) -> ParticipantKey {
        if let Some(old) = self.roster.by_identity(join.claims.identity()) {
            self.dismiss(ctx, old, EndReason::DuplicateIdentity, EndAction::Disconnect);
        }
        let (tracks, offer) = (std::mem::take(&mut join.tracks), join.offer.take());
        let mut participant = Participant::new(ctx, connection, node, join);
        let key = participant.key;
        participant.client.protocol = self.protocols.of(ctx.now, &participant.profile.identity);
        ctx.core.usage.participant_joined(&participant.authorization.api_key);
        ctx.core.nodes.participant_joined(node);
        self.subscribers.acts(key);
        let participant_ref = self.roster.participant_ref(key);
        participant.signalling.greeting_time =
            self.updates
                .charge_greeting(ctx, &self.roster, &participant.profile.identity);
        let connect_timeout = CONNECT_TIMEOUT + participant.signalling.greeting_time;
        participant.signalling.deadlines.connect = Some(ctx.wake(connect_timeout, Timer::Participant(participant_ref)));
        if participant.media.mode == PeerMode::Dual {
            open_subscriber(ctx, participant_ref, &mut participant);
            self.subscribers.negotiate(key);
        }
        participant.data.packets = self.data.state();
        greet(ctx, &self.roster, self.info(), &mut participant);
        timeline::observe(ctx, &participant, Observation::Join);
        ctx.event(Event::Joined {
            room: self.profile.name().to_owned(),
            identity: participant.profile.identity.clone(),
            connection,
        });
        let starts_recording = participant.authorization.permission.recorder && !self.roster.is_recorded();
        self.roster.insert(participant);
        let is_deserted = self.roster.is_deserted();
        self.lifetime.review(ctx, self.roster.timer(), is_deserted);
        self.updates.announce(ctx, &mut self.roster, key);
        self.updates.population_changed(ctx, &self.roster);
        if starts_recording {
            self.updates.tell_population(ctx, &self.roster, self.info());
        }
        for request in tracks {
            self.add_track(ctx, key, request);
        }
        self.subscribers
            .subscribe_to_everybody(ctx, &mut self.roster, &self.updates, key);
        if let Some(offer) = offer
            && let Some(offer) = keep_first_offer(ctx, &mut self.roster, key, offer)
        {
            self.take_offer(ctx, key, offer);
        }
        refresh_token_if_due(ctx, &mut self.roster, key);
        key
    }
}

/// The peer connection a client waits for before it calls itself connected, with the data
/// channels that everything is sent on.
fn open_subscriber(ctx: &mut Context<'_>, participant_ref: ParticipantRef, participant: &mut Participant) {
    let transport = ctx.core.ids.transport();
    let channels = [RELIABLE, LOSSY, DATA_TRACK].map(channel).to_vec();
    let mut peer = participant.client.peer(transport, &mut ctx.core.random, channels);
    peer.add_data_section();
    peer.offering.needed = true;
    ctx.core.index.transports.insert(transport, participant_ref);
    ctx.command(participant.media.node, peer.open());
    participant.media.subscriber = Some(peer);
    participant.limit_downlink(ctx);
}

/// The first message: everything there is to know.
fn greet(ctx: &mut Context<'_>, roster: &Roster, mut room: RoomInfo, participant: &mut Participant) {
    let visible = ctx.core.config.visible;
    let others = roster
        .all()
        .filter(|other| other.is_visible(visible))
        .map(Participant::snapshot)
        .collect();
    participant.profile.raise_version();
    room.num_participants += u32::from(!participant.is_dependent());
    room.active_recording |= participant.authorization.permission.recorder;
    let joined = Joined {
        room,
        participant: participant.info(),
        others,
        mode: participant.media.mode,
        disabled_codecs: participant.client.traits.disabled_codecs,
        server: server_info(ctx, participant),
    };
    participant.notify(ctx, Notification::Joined(Box::new(joined)));
    participant.profile.state = ParticipantState::Joined;
}

/// The server for a participant.
pub(in crate::room) fn server_info(ctx: &Context<'_>, participant: &Participant) -> ServerInfo {
    let config = &ctx.core.config;
    let (sid, protocol) = (&participant.profile.sid, participant.client.protocol);
    let turn = config.turn.as_ref();
    let turn = turn.map(|turn| turn.for_participant(sid, protocol, ctx.unix()));
    ServerInfo {
        ice_servers: config.ice_servers.iter().cloned().chain(turn).collect(),
        relay_only: protocol == IceProtocol::Tls,
        region: config.region.clone(),
        node_id: config.node_id.clone(),
    }
}
