//! Packets in place of missing media, for clients that learn of a track by its packets.
//!
//! Such a client announces a track to its application only after the first packet, and a muted
//! track has none. So silence is sent as audio, and padding as video, until media arrives or the
//! limit is reached.
//!
//! Source: LiveKit's `sendPaddingOnMute` (`pkg/sfu/downtrack.go`).

use std::time::Duration;

use southbound::{PayloadFormat, SubscriptionId, TransportId};
use wire::Codec;

use super::down_track::DownTrack;
use super::{Downlink, Env};

use crate::context::Context;
use crate::limits::FILLS_MAX;
use crate::timers::Timer;

/// Time for media to arrive, and interval between two packets in its place.
const INTERVAL: Duration = Duration::from_millis(100);
/// A silent frame of Opus.
const SILENCE: [u8; 3] = [0xf8, 0xff, 0xfe];

impl Downlink {
    /// A transport can be sent its tracks from now on.
    pub(in crate::media) fn keyed(&mut self, cx: &mut Context<'_>, env: &mut Env<'_>, transport: TransportId) {
        for id in self.subscriptions_of(transport) {
            self.begin_filling(cx, env, id);
            if let Some(key) = self.awaited(env, id) {
                env.uplink.request_key_frame_unless_kept(cx, env.transports, key);
            }
        }
    }

    /// A receiver can be sent a track from now on.
    pub(super) fn begin_filling(&self, cx: &mut Context<'_>, env: &Env<'_>, id: SubscriptionId) {
        if self.is_to_fill(env, id) {
            cx.shared.timers.set_by(Timer::Fill(id), cx.now + INTERVAL);
        }
    }

    /// A track has had no media for a while.
    pub(in crate::media) fn fill(&mut self, cx: &mut Context<'_>, env: &Env<'_>, id: SubscriptionId) {
        if !self.is_to_fill(env, id) {
            return;
        }
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let Some((entry, format)) = known.entry.zip(format(known)) else {
            return;
        };
        known.fills += 1;
        let payload: &[u8] = match format.codec {
            Codec::Opus => &SILENCE,
            _ => &[],
        };
        cx.fill(entry.replica, &format, payload);
        cx.shared.timers.set(Timer::Fill(id), cx.now + INTERVAL);
    }

    fn is_to_fill(&self, env: &Env<'_>, id: SubscriptionId) -> bool {
        self.tracks.get(&id).is_some_and(|known| {
            let is_empty = known.subscription.fill && !known.delivered && known.fills < FILLS_MAX;
            is_empty && self.is_keyed(env, id) && known.is_sent() && known.entry.is_some()
        })
    }
}

/// Plain Opus if the receiver takes it, otherwise the receiver's payload type for the publisher's
/// first format.
fn format(known: &DownTrack) -> Option<PayloadFormat> {
    let formats = &known.subscription.formats;
    let opus = formats.iter().find(|(_, format)| format.codec == Codec::Opus);
    opus.or(formats.first()).map(|(_, format)| *format)
}
