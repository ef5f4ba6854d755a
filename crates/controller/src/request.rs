//! Requests of participants, in no client's protocol.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use access::{Claims, TrackSource};
use wire::MediaKind;
use wire::sdp::{LeftOut, SdpError, SessionDescription};

use crate::{
    AudioFeature, BackupCodecPolicy, Blob, BlobKey, ClientTraits, CreateRoom, DataEncoding, DataSchema, Encryption,
    LayerMode, PacketTrailerFeature, VideoLayer, VideoQuality,
};

/// How many peer connections a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PeerMode {
    /// One for both directions; the client offers, we answer.
    Single,
    /// One to publish, which the client offers, and one to subscribe, which we offer.
    Dual,
}

/// Somebody joins a room.
#[derive(Clone, Debug)]
pub struct Join {
    /// The claims of its token, verified.
    pub claims: Claims,
    /// How many peer connections its client uses.
    pub mode: PeerMode,
    /// Special needs of its client.
    pub traits: ClientTraits,
    /// It wants every track unless it says otherwise.
    pub auto_subscribe: bool,
    /// It wants every data track unless it says otherwise.
    pub auto_subscribe_data: bool,
    /// Attributes to begin with.
    pub attributes: BTreeMap<String, String>,
    /// Metadata to begin with.
    pub metadata: String,
    /// Tracks announced along with joining.
    pub tracks: Vec<AddTrack>,
    /// The first offer, when it came along with joining.
    pub offer: Option<Description>,
    /// How the room is set up if joining creates it. The name is not used.
    pub room: CreateRoom,
    /// The region that its client is in, if it is known.
    pub region: Option<String>,
}

/// A participant comes back on a new connection, with its media still flowing.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The claims of its token, verified.
    pub claims: Claims,
    /// How many peer connections its client uses.
    pub mode: PeerMode,
    /// The id of the stay it wants to go on with.
    pub sid: String,
    /// The client's view of the session, when it came along.
    pub sync_state: Option<SyncState>,
    /// An offer, when it came along.
    pub offer: Option<Description>,
}

/// A session description of a client that was read, or why it cannot be.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Which offer it is or answers; 0 from clients that do not number them.
    pub id: u32,
    /// Its content, and the lines that were left out of it.
    pub read: Result<(SessionDescription, LeftOut), SdpError>,
}

impl Description {
    /// Reads a description.
    pub fn read(id: u32, sdp: &str) -> Self {
        Self {
            id,
            read: SessionDescription::read(sdp),
        }
    }
}

/// One request of a participant.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The client offers.
    Offer(Description),
    /// The client answers.
    Answer(Description),
    /// It announces a track, or the second codec of one.
    AddTrack(AddTrack),
    /// It mutes or unmutes a track of its own.
    MuteTrack(MuteTrack),
    /// It asks for tracks, or asks not to have them.
    UpdateSubscription(UpdateSubscription),
    /// It says how well it wants tracks.
    UpdateTrackSettings(TrackSettings),
    /// The sizes of a track's encodings have changed.
    UpdateLayers(UpdateLayers),
    /// It says who may have its tracks.
    UpdateTrackPermissions(UpdateTrackPermissions),
    /// It says what it believes after it came back.
    SyncState(SyncState),
    /// It changes its own name, metadata or attributes.
    UpdateMetadata(UpdateMetadata),
    /// It says what it does to the audio of a track.
    UpdateAudioTrack(UpdateAudioTrack),
    /// It says how large a track is now.
    UpdateVideoTrack(UpdateVideoTrack),
    /// It publishes a data track.
    PublishDataTrack(PublishDataTrack),
    /// It takes the data track with this handle of its own away.
    UnpublishDataTrack(u32),
    /// It subscribes to data tracks, by their ids, or ends subscriptions.
    UpdateDataSubscription(Vec<(String, bool)>),
    /// It stores a data blob.
    StoreBlob(StoreBlob),
    /// It asks for a data blob.
    GetBlob(GetBlob),
    /// It asks for a failure, to test that it recovers; `None` for one that is not known.
    SimulateFault(Option<Scenario>),
    /// It asks whether the server is there.
    Ping(Ping),
    /// It says something that asks for nothing here. This shows that the client is there and has
    /// read what came before.
    Alive,
    /// It leaves.
    Leave,
}

/// A track is announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddTrack {
    /// The client's name for it.
    pub cid: String,
    /// Its name for others.
    pub name: String,
    /// Audio or video; `None` for what is no media.
    pub kind: Option<MediaKind>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// It begins muted.
    pub muted: bool,
    /// Silence is sent as well.
    pub disable_dtx: bool,
    /// Its source.
    pub source: TrackSource,
    /// The sizes it is sent in.
    pub layers: Vec<VideoLayer>,
    /// The codecs it is or may be sent in, the preferred one first.
    pub codecs: Vec<CodecRequest>,
    /// The track whose second codec this is; empty for a new track.
    pub sid: String,
    /// Audio of two channels.
    pub stereo: bool,
    /// Audio without redundancy (RFC 2198).
    pub disable_red: bool,
    /// How it is encrypted from end to end. Passed through.
    pub encryption: Encryption,
    /// The stream it is played in step with; empty for the usual one of its source.
    pub stream: String,
    /// When the second codec is sent. Passed through.
    pub backup_codec_policy: BackupCodecPolicy,
    /// The client's processing of audio.
    pub audio_features: Vec<AudioFeature>,
    /// The client's data behind packets. Passed through.
    pub packet_trailer_features: Vec<PacketTrailerFeature>,
}

/// A codec a track is announced in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodecRequest {
    /// Its name, as `vp8` or `video/VP8`.
    pub codec: String,
    /// The client's name for the track in this codec.
    pub cid: String,
    /// The sizes it is sent in; empty for those of the track.
    pub layers: Vec<VideoLayer>,
    /// How sizes are spread over streams. Passed through.
    pub video_layer_mode: LayerMode,
}

/// A track is muted or unmuted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MuteTrack {
    /// The track.
    pub sid: String,
    /// Whether nothing is sent from now on.
    pub muted: bool,
}

/// Tracks are asked for, or asked not to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateSubscription {
    /// The tracks.
    pub track_sids: Vec<String>,
    /// Whether they are wanted.
    pub subscribe: bool,
}

/// How well tracks are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackSettings {
    /// The tracks.
    pub track_sids: Vec<String>,
    /// They are not wanted for now.
    pub disabled: bool,
    /// The best quality that is of use; only without a size.
    pub quality: VideoQuality,
    /// The width it is shown at, in pixels; 0 for none.
    pub width: u32,
    /// The height it is shown at, in pixels; 0 for none.
    pub height: u32,
    /// Frames per second beyond which nothing is gained; 0 for no limit.
    pub fps: u32,
    /// How much it matters: 1 is the most, 0 is not said.
    pub priority: u32,
}

/// The sizes of a track's encodings have changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateLayers {
    /// The track.
    pub track_sid: String,
    /// Its sizes now.
    pub layers: Vec<VideoLayer>,
}

/// The receivers that a publisher's tracks are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateTrackPermissions {
    /// Everybody may.
    pub all_participants: bool,
    /// Otherwise these.
    pub permissions: Vec<TrackPermission>,
}

/// The tracks that one receiver may have of a publisher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackPermission {
    /// The receiver by its id; empty where it is named by its identity.
    pub participant_sid: String,
    /// The receiver by its identity.
    pub participant_identity: String,
    /// All tracks.
    pub all_tracks: bool,
    /// Otherwise these.
    pub track_sids: Vec<String>,
}

/// The view that a client has of its session when it comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncState {
    /// The tracks it publishes.
    pub published_sids: Vec<String>,
    /// The data tracks it publishes.
    pub published_data_sids: Vec<String>,
    /// The number of the last reliable message it has received of each sender, by the sender's id.
    pub received: Vec<(String, u32)>,
    /// Exceptions: the tracks that an automatic subscriber does not want, or that another does.
    pub exceptions: Option<Vec<String>>,
    /// Tracks that it does not want for now.
    pub disabled_sids: Vec<String>,
    /// The data channels that it has opened, by their labels, with their streams.
    pub channels: Vec<(String, u16)>,
}

/// A change of a participant's name, metadata or attributes. Empty ones stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateMetadata {
    /// The client's number for the request.
    pub request_id: u32,
    /// Its name for people.
    pub name: String,
    /// Its metadata.
    pub metadata: String,
    /// Attributes that change; those with an empty value are removed.
    pub attributes: BTreeMap<String, String>,
}

/// A client's processing of the audio of a track.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateAudioTrack {
    /// The track.
    pub track_sid: String,
    /// Its processing.
    pub features: Vec<AudioFeature>,
}

/// How large a track is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateVideoTrack {
    /// The track.
    pub track_sid: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// A data track is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishDataTrack {
    /// The client's number for it.
    pub handle: u32,
    /// Its name.
    pub name: String,
    /// How frames are encrypted from end to end. Passed through.
    pub encryption: Encryption,
    /// The encoding of frames, if it is stated. Passed through.
    pub encoding: Option<DataEncoding>,
    /// The schema of frames, if there is one. Passed through.
    pub schema: Option<DataSchema>,
}

/// A data blob is stored in place of the one with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreBlob {
    /// The client's number for the request.
    pub request_id: u32,
    /// The blob.
    pub blob: Blob,
}

/// A data blob is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetBlob {
    /// The client's number for the request.
    pub request_id: u32,
    /// The participant that stored it.
    pub identity: String,
    /// Its key.
    pub key: BlobKey,
}

/// A client asks whether the server is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    /// It wants to hear the time.
    Plain,
    /// It wants to hear when it asked as well, by its own clock in milliseconds.
    Timed(i64),
}

/// A failure on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// It is said to speak.
    Speaker,
    /// The server lets it go for good.
    ServerLeave,
    /// The server has it start over.
    FullReconnect,
    /// The server crashes and knows it no more.
    NodeFailure,
    /// It moves to another server.
    Migration,
    /// When it resumes its connection breaks after the first messages.
    DisconnectOnResume,
    /// When it resumes its connection breaks before any message.
    DisconnectOnResumeSilently,
    /// It starts over by itself, and is then to find candidates of this protocol only.
    SwitchCandidateProtocol(IceProtocol),
    /// Its downlink carries no more than this; `None` ends that. Shape: bits per second.
    DownlinkLimit(Option<u64>),
}

/// The protocol by which a client reaches the server's media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IceProtocol {
    /// UDP where it passes, and TCP elsewhere.
    #[default]
    Any,
    /// TCP.
    Tcp,
    /// TLS to a TURN server.
    Tls,
}
