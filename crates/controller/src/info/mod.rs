//! Rooms, participants and tracks, as clients are told of them.
//!
//! Plain values without borrows: a front end writes them in the form of its protocol, and they may
//! be passed to another process. Fields that the controller does not decide by are passed from one
//! client to the others, and say so.

mod data_track;
mod end_reason;
mod ice_server;
mod participant;
mod room;
mod snapshot;
mod track;

pub use data_track::{DataEncoding, DataSchema, DataTrackInfo};
pub use end_reason::EndReason;
pub use ice_server::IceServer;
pub use participant::{ClientCapability, ConnectionQuality, ParticipantInfo, ParticipantState};
pub use room::{RoomInfo, ServerInfo};
pub use snapshot::ParticipantSnapshot;
pub(crate) use track::layers_len;
pub use track::{
    AudioFeature, BackupCodecPolicy, CodecInfo, Encryption, LayerMode, PacketTrailerFeature, TrackInfo, VideoLayer,
    VideoQuality,
};

/// About how many bytes a text takes in a message, with its tag and its length.
fn text_len(text: &str) -> usize {
    text.len() + 2
}
