//! Rooms, participants, publications and subscriptions: the controller decides which media goes
//! where.
//!
//! [`Controller`] is the one type to know. It is a state machine without a clock, a socket or a
//! thread: front ends feed it [`Input`]s (somebody joins, a participant asks for something, the
//! node noticed something), it answers in [`Output`]s (tell this participant that, end that
//! connection, tell this node that [`Command`](southbound::Command)), and
//! [`Controller::poll_timeout`] says when it wants to be called again. With the same seed and the
//! same inputs at the same times it does the same things again.
//!
//! It speaks no protocol of clients. A front end reads what its clients say, makes [`Request`]s of
//! it, and writes [`Notification`]s in the form they understand; what is special about a client it
//! states as [`ClientTraits`]. The `livekit` crate is such a front end.
//!
//! Media is negotiated here and never seen: addresses, keys and packets are the agent's and the
//! data plane's.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]
pub mod limits;

mod admin;
mod blob;
mod budget;
mod config;
mod context;
mod controller;
mod forms;
mod ids;
mod info;
mod io;
mod leavers;
mod message;
mod negotiation;
mod nodes;
mod notification;
mod own_data;
mod participant;
mod quality;
mod quota;
mod request;
mod room;
mod room_event;
mod rpc;
mod saved;
mod subscription;
mod track;
mod traits;

pub use access::{KindDetail, ParticipantKind, Permission, TrackSource};
pub use admin::{
    AdminError, AdminReply, AdminRequest, AgentRequest, CreateRoom, PerformRpc, SendData, UpdateParticipant,
    UpdateSubscriptions,
};
pub use allocation::Loudest;
pub use blob::{Blob, BlobKey};
pub use budget::{Budget, Rate};
pub use config::{Config, PinnedRooms, TurnServer, Visible};
pub use controller::{
    Controller, Downlink, JoinError, Placement, Population, Selection, Subscribed, Takeover, participant_page,
    room_page, room_with_participants, trunks,
};
pub use environment::WallClock;
pub use info::{
    AudioFeature, BackupCodecPolicy, ClientCapability, CodecInfo, ConnectionQuality, DataEncoding, DataSchema,
    DataTrackInfo, Encryption, EndReason, IceServer, LayerMode, PacketTrailerFeature, ParticipantInfo,
    ParticipantSnapshot, ParticipantState, RoomInfo, ServerInfo, TrackInfo, VideoLayer, VideoQuality,
};
pub use io::{AdminRequestId, ConnectionId, Counter, Counters, EndCause, Event, Input, Output};
pub use message::{DataContent, DataMessage, PacketKind, UserData};
pub use negotiation::SavedPeer;
pub use negotiation::codecs::MIME_TYPES;
pub use nodes::{NoNode, NodeStanding};
pub use notification::{
    CodecDemand, DataTrackHandle, EndAction, Joined, LocalDescription, Notification, QualityInfo, RefusalReason,
    Resumed, SpeakerInfo, StreamState, SubscriptionError, TrackDemand,
};
pub use own_data::{EndpointPlace, MessageAuthor};
pub use quota::{Quota, Quotas};
pub use request::{
    AddTrack, CodecRequest, Description, GetBlob, IceProtocol, Join, MuteTrack, PeerMode, Ping, PublishDataTrack,
    Request, Resume, Scenario, StoreBlob, SyncState, TrackPermission, TrackSettings, UpdateAudioTrack, UpdateLayers,
    UpdateMetadata, UpdateSubscription, UpdateTrackPermissions, UpdateVideoTrack,
};
pub use room::data::{DATA_TRACK, LOSSY, RELIABLE};
pub use room::roster::ParticipantChanges;
pub use room::takeover::SavedRoom;
pub use room::trunking::{SavedTrunking, TrunkEndReport, TrunkReport};
pub use room_event::{Publisher, RoomChange, RoomEvent};
pub use rpc::{RpcCall, RpcContent, RpcError, RpcReply};
pub use saved::{RestoreError, SavedBackup, SavedParticipant, SavedSubscription, SavedTrack};
pub use traits::{ClientTraits, CodecSet, DisabledCodecs};
