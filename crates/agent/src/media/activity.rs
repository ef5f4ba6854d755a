//! Which encodings of a track arrive.
//!
//! A publisher stops encodings it has no bandwidth for without a word; receivers must be served from another one then.

use std::time::Duration;

use dataplane::StreamKey;
use southbound::{Notice, TrackId};

use super::Media;
use crate::context::Context;
use crate::timers::Timer;

/// An encoding of which nothing has come for this long does not arrive any more.
const SILENCE_MAX: Duration = Duration::from_millis(1_500);

/// How often that is looked at.
const INTERVAL: Duration = Duration::from_millis(250);

impl Media {
    /// A packet of this stream came.
    pub(super) fn heard_from(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let Some(uplink) = self.uplinks.get_mut(&key) else {
            return;
        };
        let Some(track) = self.tracks.get_mut(&uplink.track) else {
            return;
        };
        if track.encodings[uplink.encoding].active.replace(cx.now).is_some() {
            return;
        }
        uplink.key_frames.restart();
        uplink.meter.restart(cx.now);
        let id = uplink.track;
        if !std::mem::replace(&mut track.started, true) {
            cx.notice(Notice::Started { track: id });
        }
        cx.notice(Notice::Encodings {
            track: id,
            active: track.active(),
        });
        cx.routine_timer_by(Timer::Activity(id), cx.now + INTERVAL);
        self.reselect(cx, id);
        self.ask_again(cx, key);
    }

    /// Looks for encodings that have stopped.
    pub(crate) fn check_activity(&mut self, cx: &mut Context<'_>, id: TrackId) {
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
            self.reselect(cx, id);
        }
    }

    /// Those who wait for this stream asked while it did not arrive: asks again, now that it does.
    fn ask_again(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let Some(track) = self.uplinks.get(&key).and_then(|uplink| self.tracks.get(&uplink.track)) else {
            return;
        };
        if track.subscribers.iter().any(|id| self.awaits(*id, key)) {
            self.want_key_frame(cx, key);
        }
    }
}
