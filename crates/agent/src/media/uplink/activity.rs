//! The encodings of a track that arrive.
//!
//! A publisher stops encodings for lack of bandwidth without any message; receivers must then be
//! served from another one.

use std::time::Duration;

use dataplane::{LegId, StreamKey};
use southbound::{Notice, TrackId, TransportId};
use wire::Ssrc;

use super::{StreamChange, Uplink};
use crate::context::Context;
use crate::media::media_transport::MediaTransports;
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

    /// The peer says that sources send no more (RFC 3550 section 6.6). One that sends on is heard
    /// again.
    pub(in crate::media) fn ended(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        transport: TransportId,
        leg: LegId,
        sources: impl Iterator<Item = Ssrc>,
    ) {
        let mut is_any = false;
        for ssrc in sources {
            is_any |= self.fell_silent(cx, StreamKey { leg, ssrc });
        }
        if is_any {
            self.map_unmapped(cx, transports, transport);
        }
    }

    /// A stream ends, or pauses. Returns whether it arrived until now.
    fn fell_silent(&mut self, cx: &mut Context<'_>, key: StreamKey) -> bool {
        let Some(stream) = self.streams.get(&key) else {
            return false;
        };
        let (id, encoding) = (stream.track, stream.encoding);
        let Some(track) = self.tracks.get_mut(&id) else {
            return false;
        };
        if track.encodings[encoding].active.take().is_none() {
            return false;
        }
        let active = track.active();
        cx.notice(Notice::Encodings { track: id, active });
        self.changed(id);
        true
    }

    /// Looks for encodings that have stopped. A stream that waits may have their places.
    pub(in crate::media) fn check_activity(&mut self, cx: &mut Context<'_>, transports: &MediaTransports, id: TrackId) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        let transport = track.publication.transport;
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
            self.map_unmapped(cx, transports, transport);
        }
    }
}
