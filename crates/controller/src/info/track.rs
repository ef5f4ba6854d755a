//! A published track, as others are told of it.

use access::TrackSource;
use serde::{Deserialize, Serialize};
use wire::MediaKind;

use super::text_len;

/// A published track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackInfo {
    /// Its id.
    pub sid: String,
    /// Audio or video.
    #[serde(with = "crate::forms::media_kind")]
    pub kind: MediaKind,
    /// Its name, which its publisher gives it.
    pub name: String,
    /// Its publisher sends nothing for now.
    pub muted: bool,
    /// Width in pixels; 0 for audio.
    pub width: u32,
    /// Height in pixels; 0 for audio.
    pub height: u32,
    /// It is sent in several encodings.
    pub simulcast: bool,
    /// Silence is sent as well.
    pub disable_dtx: bool,
    /// Its source.
    pub source: TrackSource,
    /// The sizes it was announced in.
    pub layers: Vec<VideoLayer>,
    /// Its first codec, as `video/VP8`.
    pub mime_type: String,
    /// The media section it is published on.
    pub mid: String,
    /// Its codecs, the first one first.
    pub codecs: Vec<CodecInfo>,
    /// Audio of two channels.
    pub stereo: bool,
    /// Audio without redundancy (RFC 2198).
    pub disable_red: bool,
    /// How it is encrypted from end to end. Passed through.
    pub encryption: Encryption,
    /// Tracks of one stream are played in step.
    pub stream: String,
    /// Its publisher's processing of audio.
    pub audio_features: Vec<AudioFeature>,
    /// When its publisher sends the second codec. Passed through.
    pub backup_codec_policy: BackupCodecPolicy,
    /// Its publisher's data behind packets. Passed through.
    pub packet_trailer_features: Vec<PacketTrailerFeature>,
}

/// One codec of a track.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CodecInfo {
    /// The codec, as `video/VP8`.
    pub mime_type: String,
    /// The media section it is published on.
    pub mid: String,
    /// The client's name for the track in this codec.
    pub cid: String,
    /// The sizes it was announced in.
    pub layers: Vec<VideoLayer>,
    /// How sizes are spread over streams. Passed through.
    pub video_layer_mode: LayerMode,
}

/// One size of a video.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VideoLayer {
    /// How good it is among the sizes of its track.
    pub quality: VideoQuality,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Bits per second, as announced. Passed through.
    pub bitrate: u32,
    /// Its stream, as announced. Passed through.
    pub ssrc: u32,
    /// Its place among spatial layers, as announced. Passed through.
    pub spatial_layer: i32,
    /// The restriction identifier (RFC 8851) it is sent with; empty for none.
    pub rid: String,
    /// The stream of its retransmissions, as announced. Passed through.
    pub repair_ssrc: u32,
}

/// How good a video is, among the sizes of its track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum VideoQuality {
    /// The smallest.
    #[default]
    Low,
    /// The one between.
    Medium,
    /// The largest.
    High,
    /// None at all.
    Off,
}

/// How media is encrypted from end to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encryption {
    /// Not.
    #[default]
    None,
    /// AES-GCM.
    Gcm,
    /// By the application.
    Custom,
}

/// A step of a publisher's audio processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AudioFeature {
    /// It sends two channels.
    Stereo,
    /// It sends silence as well.
    NoDtx,
    /// It evens out loudness.
    AutoGainControl,
    /// It removes echoes.
    EchoCancellation,
    /// It removes noise.
    NoiseSuppression,
    /// It removes noise by a model.
    EnhancedNoiseCancellation,
    /// It sends first what was recorded before it was connected.
    PreconnectBuffer,
}

/// When a publisher sends the second codec of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupCodecPolicy {
    /// In place of the first, if it can.
    #[default]
    PreferRegression,
    /// Beside the first.
    Simulcast,
    /// In place of the first.
    Regression,
}

/// Data that a publisher puts behind the payload of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketTrailerFeature {
    /// A time stamp of the application.
    UserTimestamp,
    /// The number of a frame.
    FrameId,
    /// Data of the application.
    UserData,
}

/// How the sizes of a video are spread over streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LayerMode {
    /// Not said.
    #[default]
    Unused,
    /// One size a stream.
    OneSpatialLayerPerStream,
    /// All sizes in one stream.
    MultipleSpatialLayersPerStream,
    /// One size a stream, and sender reports for some of them only.
    OneSpatialLayerPerStreamIncompleteRtcpSr,
}

impl TrackInfo {
    /// About how many bytes it takes to tell of the track.
    pub(crate) fn told_len(&self) -> usize {
        const NUMBERS: usize = 32;
        let texts = [&self.sid, &self.name, &self.mime_type, &self.mid, &self.stream];
        let texts: usize = texts.into_iter().map(|text| text_len(text)).sum();
        let codecs: usize = self.codecs.iter().map(CodecInfo::told_len).sum();
        let features = self.audio_features.len() + self.packet_trailer_features.len();
        NUMBERS + texts + codecs + layers_len(&self.layers) + features
    }
}

impl CodecInfo {
    fn told_len(&self) -> usize {
        let texts = [&self.mime_type, &self.mid, &self.cid];
        4 + texts.into_iter().map(|text| text_len(text)).sum::<usize>() + layers_len(&self.layers)
    }
}

/// About how many bytes it takes to tell of sizes.
pub(crate) fn layers_len(layers: &[VideoLayer]) -> usize {
    const NUMBERS: usize = 16;
    layers.iter().map(|layer| NUMBERS + text_len(&layer.rid)).sum()
}
