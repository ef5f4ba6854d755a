//! Requests to publishers for key frames, no more often than is useful.
//!
//! A stream is asked as soon as a receiver needs a key frame of it, but not twice within half a
//! second; receivers in between are served by the same key frame. While a replica waits, the
//! request is repeated: it, or the key frame, may have been lost.

use dataplane::StreamKey;

use super::key_frames::{INTERVAL, KeyFrames};
use super::{Track, Uplink};
use crate::context::Context;
use crate::counters::Counter;
use crate::media::media_transport::MediaTransports;
use crate::timers::Timer;

impl Uplink {
    /// A receiver needs a key frame of this stream.
    pub(in crate::media) fn want_key_frame(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        key: StreamKey,
    ) {
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        if !self.tracks.get(&stream.track).is_some_and(Track::has_key_frames) {
            return;
        }
        match stream.key_frames.may_ask(cx.now) {
            Ok(()) if self.is_put_off(cx, key) => {}
            Ok(()) => self.ask_key_frame(cx, transports, key),
            Err(later) => {
                cx.count(Counter::KeyFrameThrottled);
                cx.timer_by(Timer::KeyFrame(key), later);
            }
        }
    }

    /// Forgets the requests to a stream: those on an earlier path may be lost.
    pub(in crate::media) fn forget_key_frame_requests(&mut self, key: StreamKey) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.key_frames = KeyFrames::default();
        }
    }

    /// Whether a key frame of this stream would be asked for at once.
    pub(in crate::media) fn may_ask_key_frame(&self, cx: &Context<'_>, key: StreamKey) -> bool {
        let stream = self.streams.get(&key);
        stream.is_some_and(|stream| stream.key_frames.may_ask(cx.now).is_ok())
    }

    /// A receiver got a key frame of this stream.
    pub(in crate::media) fn key_frame_arrived(&mut self, key: StreamKey) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.key_frames.restart();
        }
    }

    /// Repeats a request while a receiver waits.
    pub(in crate::media) fn repeat_key_frame(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        key: StreamKey,
        is_awaited: bool,
    ) {
        if self.is_put_off(cx, key) {
            return;
        }
        let stream = self.streams.get_mut(&key);
        if stream.is_some_and(|stream| stream.key_frames.repeat(is_awaited)) {
            self.ask_key_frame(cx, transports, key);
        }
    }

    /// Whether a request has to wait because there is too much to do already; it is thought of
    /// again later.
    fn is_put_off(&mut self, cx: &mut Context<'_>, key: StreamKey) -> bool {
        let stream = self.streams.get(&key);
        let is_recent = stream.is_some_and(|stream| stream.key_frames.is_recent(cx.now));
        let is_put_off = is_recent && self.overload.is_seen(cx.now, cx.plane);
        if is_put_off {
            cx.count(Counter::KeyFrameThrottled);
            cx.timer(Timer::KeyFrame(key), cx.now + INTERVAL);
        }
        is_put_off
    }

    fn ask_key_frame(&mut self, cx: &mut Context<'_>, transports: &MediaTransports, key: StreamKey) {
        let (Some(publisher), Some(stream)) = (transports.by_leg(key.leg), self.streams.get_mut(&key)) else {
            return;
        };
        let mut compound = Vec::new();
        publisher.compound(&mut compound, &[]).pli(key.ssrc);
        cx.send_rtcp(key.leg, &compound);
        cx.count(Counter::KeyFrameRequested);
        let again = stream.key_frames.asked(cx.now);
        cx.timer(Timer::KeyFrame(key), again);
    }
}
