//! The encodings of a track that arrive.
//!
//! A publisher stops encodings for lack of bandwidth without any message; receivers must then be
//! served from another one.

use std::time::Duration;

use dataplane::StreamKey;
use southbound::{Notice, TrackId};

use super::{StreamChange, Uplink};
use crate::context::Context;
use crate::timers::Timer;

/// An encoding without packets for this long does not arrive any more.
const SILENCE_MAX: Duration = Duration::from_millis(1_500);

/// How often that is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

impl Uplink {
    /// A packet of this stream arrived.
    pub(super) fn heard_from(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        let Some(track) = self.tracks.get_mut(&stream.track) else {
            return;
        };
        if track.encodings[stream.encoding].active.replace(cx.now).is_some() {
            return;
        }
        stream.key_frames.restart();
        stream.layer_bitrate.restart(cx.now);
        let id = stream.track;
        if !std::mem::replace(&mut track.started, true) {
            cx.notice(Notice::TrackStarted { track: id });
        }
        cx.notice(Notice::Encodings {
            track: id,
            active: track.active(),
        });
        cx.routine_timer_by(Timer::Activity(id), cx.now + INTERVAL);
        self.changed(id);
        self.changes.push(StreamChange::Arrives(id, key));
    }

    /// Looks for encodings that have stopped.
    pub(in crate::media) fn check_activity(&mut self, cx: &mut Context<'_>, id: TrackId) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        let before = track.active();
        for encoding in &mut track.encodings {
            encoding.active = encoding
                .active
                .filter(|at| cx.now.saturating_duration_since(*at) < SILENCE_MAX);
        }
        let after = track.active();
        if after != 0 {
            cx.routine_timer(Timer::Activity(id), cx.now + INTERVAL);
        }
        if before != after {
            cx.notice(Notice::Encodings {
                track: id,
                active: after,
            });
            self.changed(id);
        }
    }
}
