//! Packets in place of media that does not come, for clients that learn of a track by its packets.
//!
//! Such a client says nothing of a track to its application before the first packet of it, and a muted track has none. So silence is sent as audio, and padding
//! as video, until media comes or there were enough of them.
//!
//! Source: LiveKit's `sendPaddingOnMute` (`pkg/sfu/downtrack.go`).

use std::time::Duration;

use southbound::{PayloadFormat, SubscriptionId};
use wire::Codec;

use super::Media;
use super::downlink::Downlink;
use crate::context::Context;
use crate::limits::FILLS_MAX;
use crate::timers::Timer;

/// Media that comes has so long to do so, and between two packets in its place lies as much.
const INTERVAL: Duration = Duration::from_millis(100);
/// A frame of Opus that nothing is heard of.
const SILENCE: [u8; 3] = [0xf8, 0xff, 0xfe];

impl Media {
    /// A receiver can be sent a track from now on.
    pub(super) fn begin_filling(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if self.is_to_fill(id) {
            cx.shared.timers.set_by(Timer::Fill(id), cx.now + INTERVAL);
        }
    }

    /// Nothing of a track has come for a while.
    pub(crate) fn fill(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if !self.is_to_fill(id) {
            return;
        }
        let Some(downlink) = self.downlinks.get_mut(&id) else {
            return;
        };
        let Some((entry, format)) = downlink.entry.zip(format(downlink)) else {
            return;
        };
        downlink.fills += 1;
        let payload: &[u8] = match format.codec {
            Codec::Opus => &SILENCE,
            _ => &[],
        };
        cx.fill(entry.replica, &format, payload);
        cx.shared.timers.set(Timer::Fill(id), cx.now + INTERVAL);
    }

    fn is_to_fill(&self, id: SubscriptionId) -> bool {
        self.downlinks.get(&id).is_some_and(|downlink| {
            let is_keyed = self.links.get(&downlink.subscription.transport);
            let is_keyed = is_keyed.is_some_and(|link| link.keyed);
            let is_empty = downlink.subscription.fill && !downlink.delivered && downlink.fills < FILLS_MAX;
            is_empty && is_keyed && downlink.is_sent() && downlink.entry.is_some()
        })
    }
}

/// Plain Opus where the receiver takes it, else what it calls the publisher's first format.
fn format(downlink: &Downlink) -> Option<PayloadFormat> {
    let formats = &downlink.subscription.formats;
    let opus = formats.iter().find(|(_, format)| format.codec == Codec::Opus);
    opus.or(formats.first()).map(|(_, format)| *format)
}
