//! Coming in.

use std::sync::Arc;

use livekit_protocol::participant_info::State;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    ClientConfiguration, Codec, DisconnectReason, IceServer, JoinResponse, ServerInfo, leave_request::Action,
    server_info::Edition,
};
use southbound::Channel;

use super::Room;
use crate::client_rules::Disabled;
use crate::context::{Context, Timer};
use crate::data::{LOSSY, RELIABLE};
use crate::ids::ParticipantKey;
use crate::limits::CONNECT_TIMEOUT;
use crate::livekit::{Admission, PeerMode};
use crate::negotiation::{Peer, codecs};
use crate::participant::Participant;
use crate::{ConnectionId, Event};

/// Clients decide by the version of the server what it can do; this is the one whose protocol we speak.
const SERVER_VERSION: &str = "1.13.5";
const PROTOCOL_VERSION: i32 = 17;
/// How often a client pings, in seconds.
const PING_INTERVAL: i32 = 5;
/// How long a client waits for any message before it gives the connection up, in seconds.
const PING_TIMEOUT: i32 = 15;

impl Room {
    /// Lets a participant in. Whoever was there under the same identity is put out: the newer one is where the person is.
    pub(crate) fn join(
        &mut self,
        ctx: &mut Context<'_>,
        connection: ConnectionId,
        mut admission: Admission,
    ) -> ParticipantKey {
        if let Some(old) = self.by_identity(admission.identity()) {
            self.dismiss(ctx, old, DisconnectReason::DuplicateIdentity, Action::Disconnect);
        }
        let (tracks, offer) = (std::mem::take(&mut admission.tracks), admission.offer.take());
        let mut participant = Participant::new(ctx, connection, admission);
        let key = participant.key;
        self.acts(key);
        let place = self.place(key);
        participant.deadlines.connect = Some(ctx.wake(CONNECT_TIMEOUT, Timer::Participant(place)));
        if participant.mode == PeerMode::Dual {
            self.open_subscriber(ctx, &mut participant);
        }
        self.greet(ctx, &mut participant);
        ctx.event(Event::Joined {
            room: self.name.clone(),
            identity: participant.identity.clone(),
            connection,
        });
        let starts_recording = participant.permission.recorder && !self.is_recorded();
        self.participants.insert(key, participant);
        self.empty_since = None;
        self.announce(ctx, key);
        self.population_changed(ctx);
        if starts_recording {
            self.tell_population(ctx);
        }
        for request in tracks {
            self.add_track(ctx, key, request);
        }
        self.subscribe_to_everybody(ctx, key);
        if let Some(offer) = offer {
            self.take_first_offer(ctx, key, offer.read());
        }
        self.refresh_token_if_due(ctx, key);
        key
    }

    /// The peer connection a client waits for before it calls itself connected, with the data channels that everything is sent on.
    fn open_subscriber(&mut self, ctx: &mut Context<'_>, participant: &mut Participant) {
        let transport = ctx.core.ids.transport();
        let channels = vec![
            Channel {
                label: Arc::from(RELIABLE),
                ordered: true,
                retransmits_max: None,
            },
            Channel {
                label: Arc::from(LOSSY),
                ordered: false,
                retransmits_max: Some(0),
            },
        ];
        let mut peer = Peer::new(transport, &mut ctx.core.random, channels, participant.disabled);
        peer.add_data_section();
        peer.offering.needed = true;
        ctx.core.index.transports.insert(transport, self.place(participant.key));
        ctx.command(peer.open());
        participant.subscriber = Some(peer);
        self.touched.insert(participant.key);
    }

    /// The first message: everything there is to know.
    fn greet(&mut self, ctx: &mut Context<'_>, participant: &mut Participant) {
        let visible = ctx.core.config.visible;
        let others = self
            .participants
            .values()
            .filter(|other| other.is_visible(visible))
            .map(Participant::info)
            .collect();
        participant.version += 1;
        let mut room = self.info(ctx);
        room.num_participants += u32::from(!participant.permission.hidden);
        room.active_recording |= participant.permission.recorder;
        let config = &ctx.core.config;
        let join = JoinResponse {
            room: Some(room),
            participant: Some(participant.info()),
            other_participants: others,
            server_version: SERVER_VERSION.to_owned(),
            ice_servers: ice_servers(ctx),
            subscriber_primary: participant.mode == PeerMode::Dual,
            client_configuration: Some(client_configuration(participant)),
            server_region: config.region.clone(),
            ping_timeout: PING_TIMEOUT,
            ping_interval: PING_INTERVAL,
            server_info: Some(server_info(ctx)),
            enabled_publish_codecs: enabled_codecs(participant.disabled),
            fast_publish: participant.permission.publish,
            ..JoinResponse::default()
        };
        participant.send(ctx, Message::Join(join));
        participant.state = State::Joined;
    }
}

pub(super) fn server_info(ctx: &Context<'_>) -> ServerInfo {
    ServerInfo {
        edition: Edition::Standard.into(),
        version: SERVER_VERSION.to_owned(),
        protocol: PROTOCOL_VERSION,
        region: ctx.core.config.region.clone(),
        node_id: ctx.core.config.node_id.clone(),
        ..ServerInfo::default()
    }
}

pub(super) fn ice_servers(ctx: &Context<'_>) -> Vec<IceServer> {
    let servers = ctx.core.config.ice_servers.iter();
    servers
        .map(|server| IceServer {
            urls: server.urls.clone(),
            username: server.username.clone(),
            credential: server.credential.clone(),
        })
        .collect()
}

pub(super) fn client_configuration(participant: &Participant) -> ClientConfiguration {
    ClientConfiguration {
        disabled_codecs: participant.disabled.to_proto(),
        ..ClientConfiguration::default()
    }
}

/// The codecs of a client that may publish all but the disabled ones.
pub(super) fn enabled_codecs(disabled: Disabled) -> Vec<Codec> {
    let enabled = codecs::MIME_TYPES
        .iter()
        .filter(|(_, codec)| disabled.may_publish(*codec));
    let named = enabled.map(|(mime, _)| Codec {
        mime: (*mime).to_owned(),
        fmtp_line: String::new(),
    });
    named.collect()
}
