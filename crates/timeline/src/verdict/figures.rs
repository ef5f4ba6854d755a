//! Figures and names in sentences.

use operator::TimelineTrack;
use operator::observation::TrackSource;
use operator::receivers::MediaKind;

/// A rate of bits per second, as `310 kbit/s`.
pub(super) fn rate(bps: u32) -> String {
    match bps {
        0..1_000_000 => format!("{} kbit/s", (bps + 500) / 1_000),
        _ => format!("{:.1} Mbit/s", f64::from(bps) / 1e6),
    }
}

/// A part of a whole, as `4.1 %`.
pub(super) fn percent(part: f64) -> String {
    match part {
        part if part <= 0.0 => "0 %".to_owned(),
        part if part < 0.001 => "less than 0.1 %".to_owned(),
        part => format!("{:.1} %", part * 100.0),
    }
}

/// The word for a track, as people see or hear it.
pub(super) fn noun(track: &TimelineTrack) -> &'static str {
    match (track.kind, track.source) {
        (MediaKind::Video, TrackSource::ScreenShare) => "screen",
        (MediaKind::Video, _) => "picture",
        (MediaKind::Audio, TrackSource::ScreenShareAudio) => "sound of the screen",
        (MediaKind::Audio, _) => "sound",
    }
}
