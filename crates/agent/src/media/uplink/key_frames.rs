//! Asking publishers for key frames: no more often than they help.
//!
//! A stream is asked as soon as somebody needs a key frame of it, but not twice within [`INTERVAL`]; whoever comes in between is served by
//! the same one. While a replica waits, the request is repeated: it, or the key frame, may have been lost.

use std::time::{Duration, Instant};

use dataplane::StreamKey;
use wire::rtcp::RtcpWriter;

use crate::Counter;
use crate::context::Context;
use crate::media::Media;
use crate::timers::Timer;

/// Between two requests to one stream.
const INTERVAL: Duration = Duration::from_millis(500);

/// Between repetitions, once the first have not helped.
const INTERVAL_LATER: Duration = Duration::from_secs(1);

/// Between two while the node itself loses packets: key frames for all whose pictures broke are a good part more for it to do.
const INTERVAL_OVERLOADED: Duration = Duration::from_secs(3);

/// After this many repetitions the interval grows.
const QUICK: u32 = 3;

/// After this many, and none of them of use to anybody, it is not repeated until the stream stops and starts again: whatever the reason, asking does not help.
const REPETITIONS_MAX: u32 = 30;

/// The requests to one stream.
#[derive(Debug, Default)]
pub(in crate::media) struct KeyFrames {
    asked: Option<Instant>,
    repetitions: u32,
}

impl KeyFrames {
    /// Whether it may be asked at `now`, else when.
    pub(in crate::media) fn may_ask(&self, now: Instant) -> Result<(), Instant> {
        let earliest = self.asked.map(|asked| asked + INTERVAL);
        earliest.filter(|earliest| *earliest > now).map_or(Ok(()), Err)
    }

    /// The stream starts, perhaps again, or somebody got a key frame of it: past failures say nothing.
    pub(in crate::media) fn restart(&mut self) {
        self.repetitions = 0;
    }
}

impl Media {
    /// Somebody needs a key frame of this stream.
    pub(in crate::media) fn want_key_frame(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            return;
        };
        if !self
            .tracks
            .get(&up_track.track)
            .is_some_and(crate::media::uplink::up_track::Track::has_key_frames)
        {
            return;
        }
        match up_track.key_frames.may_ask(cx.now) {
            Ok(()) if self.is_put_off(cx, key) => {}
            Ok(()) => self.ask_key_frame(cx, key),
            Err(later) => {
                cx.count(Counter::KeyFrameThrottled);
                cx.timer_by(Timer::KeyFrame(key), later);
            }
        }
    }

    /// Repeats a request while somebody waits.
    pub(crate) fn repeat_key_frame(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        if self.is_put_off(cx, key) {
            return;
        }
        let Some(track) = self
            .up_tracks
            .get(&key)
            .and_then(|up_track| self.tracks.get(&up_track.track))
        else {
            return;
        };
        let is_awaited = track.subscribers.iter().any(|id| self.awaits(*id, key));
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            return;
        };
        up_track.key_frames.repetitions = if is_awaited {
            up_track.key_frames.repetitions + 1
        } else {
            0
        };
        if (1..=REPETITIONS_MAX).contains(&up_track.key_frames.repetitions) {
            self.ask_key_frame(cx, key);
        }
    }

    /// Whether a request has to wait because there is too much to do already; it is thought of again later.
    fn is_put_off(&mut self, cx: &mut Context<'_>, key: StreamKey) -> bool {
        let asked = self.up_tracks.get(&key).and_then(|up_track| up_track.key_frames.asked);
        let is_recent = asked.is_some_and(|asked| asked + INTERVAL_OVERLOADED > cx.now);
        let is_put_off = is_recent && self.overload.is_seen(cx.now, cx.plane);
        if is_put_off {
            cx.count(Counter::KeyFrameThrottled);
            cx.timer(Timer::KeyFrame(key), cx.now + INTERVAL);
        }
        is_put_off
    }

    fn ask_key_frame(&mut self, cx: &mut Context<'_>, key: StreamKey) {
        let Some(peer) = self
            .by_leg
            .get(&key.leg)
            .and_then(|transport| self.peers.get(transport))
        else {
            return;
        };
        let Some(up_track) = self.up_tracks.get_mut(&key) else {
            return;
        };
        let mut compound = Vec::new();
        RtcpWriter::receiver_report(&mut compound, peer.ssrc, &peer.cname, &[]).pli(key.ssrc);
        cx.send_rtcp(key.leg, &compound);
        cx.count(Counter::KeyFrameRequested);
        up_track.key_frames.asked = Some(cx.now);
        let interval = if up_track.key_frames.repetitions < QUICK {
            INTERVAL
        } else {
            INTERVAL_LATER
        };
        cx.timer(Timer::KeyFrame(key), cx.now + interval);
    }
}
