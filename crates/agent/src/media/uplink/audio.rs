//! Audio levels, summed up for the detection of speakers.
//!
//! Source: RFC 6464.

use std::collections::BTreeMap;
use std::time::Duration;

use southbound::{AudioActivity, Notice, TrackId};

use crate::context::Context;
use crate::timers::Timer;

/// Over which the levels are summed up.
const INTERVAL: Duration = Duration::from_millis(500);

/// Quieter packets count as silence, in -dBov.
const AUDIBLE: u8 = 50;

/// The audio that one packet carries: the usual length of an Opus frame.
const PACKET: Duration = Duration::from_millis(20);

/// Audio levels since the last notice.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    heard: BTreeMap<TrackId, Heard>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    packets: u32,
    levels: u32,
}

impl Hearing {
    /// Forgets a track.
    pub(super) fn forget(&mut self, track: TrackId) {
        self.heard.remove(&track);
    }

    /// Reports audio levels; once more, with none, when everybody has fallen silent.
    pub(super) fn report(&mut self, cx: &mut Context<'_>) {
        let activity = |(track, heard): (TrackId, Heard)| AudioActivity {
            track,
            level: (heard.levels / heard.packets) as u8,
            active: (PACKET * heard.packets).min(INTERVAL),
        };
        let heard: Vec<_> = std::mem::take(&mut self.heard).into_iter().map(activity).collect();
        if !heard.is_empty() {
            cx.timer(Timer::Audio, cx.now + INTERVAL);
        }
        cx.notice(Notice::Audio(heard));
    }

    /// A packet of this track had this level.
    pub(super) fn heard(&mut self, cx: &mut Context<'_>, track: TrackId, level: u8) {
        if level > AUDIBLE {
            return;
        }
        let heard = self.heard.entry(track).or_default();
        heard.packets += 1;
        heard.levels += u32::from(level);
        cx.timer_by(Timer::Audio, cx.now + INTERVAL);
    }
}
