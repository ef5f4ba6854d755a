//! Notifications to participants, in no client's protocol.

use wire::{Codec, MediaKind};

use crate::{
    Blob, BlobKey, ConnectionQuality, DataTrackInfo, DisabledCodecs, EndReason, ParticipantInfo, ParticipantSnapshot,
    PeerMode, Request, RoomInfo, ServerInfo, TrackInfo, VideoQuality,
};

/// One thing a participant is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Notification {
    /// It has joined.
    Joined(Box<Joined>),
    /// It has come back.
    Resumed(Resumed),
    /// Our offer on the peer connection it receives on.
    Offer(LocalDescription),
    /// Our answer to its offer.
    Answer(LocalDescription),
    /// Its track is announced.
    TrackPublished {
        /// The client's name for it.
        cid: String,
        /// The track.
        track: TrackInfo,
    },
    /// Its track is taken away from it.
    TrackUnpublished {
        /// The track.
        track_sid: String,
    },
    /// Somebody receives its track for the first time.
    TrackSubscribed {
        /// The track.
        track_sid: String,
    },
    /// The server mutes or unmutes its track: the client is to do so.
    MuteTrack {
        /// The track.
        track_sid: String,
        /// Whether nothing is sent from now on.
        muted: bool,
    },
    /// How much of its track is wanted.
    TrackDemand(TrackDemand),
    /// How participants are now.
    Participants(Vec<ParticipantSnapshot>),
    /// How the room is now.
    Room(RoomInfo),
    /// How loudly participants speak now, those who stopped included.
    Speakers(Vec<SpeakerInfo>),
    /// How good connections are now.
    ConnectionQuality(Vec<QualityInfo>),
    /// Which tracks are paused because its downlink does not carry them, or go on.
    StreamStates(Vec<StreamState>),
    /// A publisher lets it have a track, or no longer.
    TrackPermission {
        /// The publisher.
        participant_sid: String,
        /// The track.
        track_sid: String,
        /// Whether it may have it.
        allowed: bool,
    },
    /// It cannot have a track.
    SubscriptionFailed {
        /// The track.
        track_sid: String,
        /// Why.
        error: SubscriptionError,
    },
    /// It is asked to offer more media sections, to receive on.
    SectionsNeeded {
        /// For audio.
        audios: u32,
        /// For video.
        videos: u32,
    },
    /// A token by which it can start over as what it is now.
    Token(String),
    /// The server is there.
    Pong {
        /// When it was asked, by the client's clock in milliseconds, if it said so.
        asked: Option<i64>,
        /// The time now in milliseconds since 1970-01-01 UTC.
        now: i64,
    },
    /// Its data track is published.
    DataTrackPublished(DataTrackInfo),
    /// Its data track is taken away.
    DataTrackUnpublished(DataTrackInfo),
    /// The data tracks that it is sent: all of them.
    DataTrackHandles(Vec<DataTrackHandle>),
    /// Its data blob is stored.
    BlobStored {
        /// The client's number for the request.
        request_id: u32,
        /// The key of the blob.
        key: BlobKey,
    },
    /// The data blob that it asked for.
    Blob {
        /// The client's number for the request.
        request_id: u32,
        /// The blob.
        blob: Blob,
    },
    /// Its request is done.
    Accepted(Request),
    /// Its request is refused.
    Refused {
        /// The request.
        request: Request,
        /// Why.
        reason: RefusalReason,
        /// The same for people.
        message: &'static str,
    },
    /// Its session is over.
    Ended {
        /// Why.
        reason: EndReason,
        /// The client's next step.
        action: EndAction,
    },
}

/// The first notification of a participant that joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The room.
    pub room: RoomInfo,
    /// Itself.
    pub participant: ParticipantInfo,
    /// Everybody else who is shown.
    pub others: Vec<ParticipantSnapshot>,
    /// How many peer connections it uses.
    pub mode: PeerMode,
    /// Codecs it must do without.
    pub disabled_codecs: DisabledCodecs,
    /// The server.
    pub server: ServerInfo,
}

/// The first notification of a participant that comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// Codecs it must do without.
    pub disabled_codecs: DisabledCodecs,
    /// The server.
    pub server: ServerInfo,
    /// The number of its last reliable message that has arrived.
    pub last_sequence: u32,
}

/// A session description of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalDescription {
    /// Which offer it is or answers.
    pub id: u32,
    /// Its text.
    pub sdp: String,
    /// Which track is sent on which media section: pairs of `a=mid` and track id.
    pub tracks: Vec<(String, String)>,
}

/// How much of a track is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackDemand {
    /// The track.
    pub track_sid: String,
    /// Audio or video. Audio is wanted or not.
    pub kind: MediaKind,
    /// In each of its codecs, the first one first.
    pub codecs: Vec<CodecDemand>,
}

/// How much of one codec of a track is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecDemand {
    /// The codec, if it is known.
    pub codec: Option<Codec>,
    /// The best quality anybody wants; `None` for nothing.
    pub wanted: Option<VideoQuality>,
}

/// How loudly a participant speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeakerInfo {
    /// The participant.
    pub participant_sid: String,
    /// From 0 for silent to 1 for as loud as can be.
    pub level: f32,
}

/// How good a participant's connection is.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityInfo {
    /// The participant.
    pub participant_sid: String,
    /// In a word.
    pub quality: ConnectionQuality,
    /// As a mean opinion score, 1 to 5.
    pub score: f32,
}

/// Whether a track is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Its publisher.
    pub participant_sid: String,
    /// The track.
    pub track_sid: String,
    /// It is not sent, because the receiver's downlink does not carry it.
    pub paused: bool,
}

/// Why a track cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionError {
    /// The receiver decodes none of its codecs.
    CodecUnsupported,
    /// There is no such track.
    TrackNotFound,
}

/// The handle that packets of a data track bear for their receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTrackHandle {
    /// The handle.
    pub handle: u16,
    /// The publisher by its identity.
    pub publisher_identity: String,
    /// The publisher by its id.
    pub publisher_sid: String,
    /// The track.
    pub track_sid: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// There is no such thing.
    NotFound,
    /// The token or the server does not allow it.
    NotAllowed,
    /// It is too much.
    LimitExceeded,
    /// It is not of a kind that is taken.
    UnsupportedType,
    /// It makes no sense.
    InvalidRequest,
    /// The handle of a data track is none.
    InvalidHandle,
    /// The name of a data track is none.
    InvalidName,
    /// Another data track has the handle.
    DuplicateHandle,
    /// Another data track has the name.
    DuplicateName,
}

/// The next step of a client whose session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndAction {
    /// It should stay away.
    Disconnect,
    /// It should come back to the same session.
    Resume,
    /// It should join anew.
    Reconnect,
}
