//! Requests to publishers for key frames, no more often than is useful.
//!
//! A stream is asked as soon as a receiver needs a key frame of it, but not twice within half a
//! second; receivers in between are served by the same key frame, except those that have moved.
//! While a replica waits, the request is repeated: it, or the key frame, may have been lost.

use std::time::Duration;

use dataplane::StreamKey;
use dataplane::limits::EARLY_MAX;
use southbound::{Notice, Observation};

use super::key_frames::{INTERVAL, INTERVAL_OVERLOADED};
use super::{Track, Uplink};
use crate::context::Context;
use crate::counters::Counter;
use crate::media::media_transport::MediaTransports;
use crate::timers::Timer;

/// Time for the data plane to report that it sent the key frame it had kept for a leg.
const KEPT_REPORTED: Duration = Duration::from_millis(20);

impl Uplink {
    /// A receiver needs a key frame of this stream.
    pub(in crate::media) fn request_key_frame(
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

    /// The same for a receiver that has moved. It may miss the key frames that were requested
    /// before, so one is requested as soon as another may be.
    pub(in crate::media) fn request_key_frame_after_move(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        key: StreamKey,
    ) {
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.key_frames.need_another();
        }
        self.request_key_frame(cx, transports, key);
    }

    /// The same for a receiver that has just got its keys. If the data plane may have kept a key
    /// frame for it, one is requested only if none is reported as sent.
    pub(in crate::media) fn request_key_frame_unless_kept(
        &mut self,
        cx: &mut Context<'_>,
        transports: &MediaTransports,
        key: StreamKey,
    ) {
        let is_kept = self.streams.get(&key).is_some_and(|stream| {
            let asked_within = |time| stream.key_frames.asked_within(cx.now, time);
            asked_within(INTERVAL + EARLY_MAX) && !asked_within(INTERVAL)
        });
        match is_kept {
            true => cx.timer_by(Timer::KeyFrame(key), cx.now + KEPT_REPORTED),
            false => self.request_key_frame(cx, transports, key),
        }
    }

    /// Forgets the requests to a stream: those on an earlier path may be lost. Returns whether
    /// there was one.
    pub(in crate::media) fn take_key_frame_requests(&mut self, key: StreamKey) -> bool {
        let stream = self.streams.get_mut(&key);
        let known = stream.map(|stream| std::mem::take(&mut stream.key_frames));
        known.is_some_and(|known| known.was_asked())
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

    /// Repeats a request while a receiver waits, or makes another that is needed.
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
        let is_recent = stream.is_some_and(|stream| stream.key_frames.asked_within(cx.now, INTERVAL_OVERLOADED));
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
        let (track, attempt) = (stream.track, stream.key_frames.attempt());
        // Of many repetitions some tell as much as all.
        if attempt.is_power_of_two() {
            cx.notice(Notice::Observation(Observation::KeyFrameQuery { track, attempt }));
        }
        let again = stream.key_frames.asked(cx.now);
        cx.timer(Timer::KeyFrame(key), again);
    }
}
