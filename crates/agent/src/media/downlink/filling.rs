//! Packets in place of media that does not come, for clients that learn of a track by its packets.
//!
//! Such a client says nothing of a track to its application before the first packet of it, and a muted track has none. So silence is sent as audio, and padding
//! as video, until media comes or there were enough of them.
//!
//! Source: LiveKit's `sendPaddingOnMute` (`pkg/sfu/downtrack.go`).

use std::time::Duration;

use southbound::{PayloadFormat, SubscriptionId};
use wire::Codec;

use crate::context::Context;
use crate::limits::FILLS_MAX;
use crate::media::Media;
use crate::media::downlink::down_track::DownTrack;
use crate::timers::Timer;

/// Media that comes has so long to do so, and between two packets in its place lies as much.
const INTERVAL: Duration = Duration::from_millis(100);
/// A frame of Opus that nothing is heard of.
const SILENCE: [u8; 3] = [0xf8, 0xff, 0xfe];

impl Media {
    /// A receiver can be sent a track from now on.
    pub(in crate::media) fn begin_filling(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if self.is_to_fill(id) {
            cx.shared.timers.set_by(Timer::Fill(id), cx.now + INTERVAL);
        }
    }

    /// Nothing of a track has come for a while.
    pub(crate) fn fill(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if !self.is_to_fill(id) {
            return;
        }
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let Some((entry, format)) = down_track.entry.zip(format(down_track)) else {
            return;
        };
        down_track.fills += 1;
        let payload: &[u8] = match format.codec {
            Codec::Opus => &SILENCE,
            _ => &[],
        };
        cx.fill(entry.replica, &format, payload);
        cx.shared.timers.set(Timer::Fill(id), cx.now + INTERVAL);
    }

    fn is_to_fill(&self, id: SubscriptionId) -> bool {
        self.down_tracks.get(&id).is_some_and(|down_track| {
            let is_keyed = self.peers.get(&down_track.subscription.transport);
            let is_keyed = is_keyed.is_some_and(|peer| peer.keyed);
            let is_empty = down_track.subscription.fill && !down_track.delivered && down_track.fills < FILLS_MAX;
            is_empty && is_keyed && down_track.is_sent() && down_track.entry.is_some()
        })
    }
}

/// Plain Opus where the receiver takes it, else what it calls the publisher's first format.
fn format(down_track: &DownTrack) -> Option<PayloadFormat> {
    let formats = &down_track.subscription.formats;
    let opus = formats.iter().find(|(_, format)| format.codec == Codec::Opus);
    opus.or(formats.first()).map(|(_, format)| *format)
}
