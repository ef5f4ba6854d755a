//! Requests of a receiver for its tracks, and carrying out the allocator's decision.

use std::time::Instant;

use allocation::{DecodeTarget, Grant, Key, Offer, Request, Source, VideoSlot};
use southbound::{Notice, SubscriptionId, TrackSource, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

use super::down_track::{Choice, Current, Small};
use super::{Downlink, Env};
use crate::context::Context;
use crate::counters::Counter;
use crate::media::budget::{Path, Share};
use crate::media::uplink::Uplink;

impl Downlink {
    /// A receiver's request for a track, with the offers that arrive of it. `may_pause` says
    /// whether the track may be paused.
    pub(in crate::media) fn request<'a>(
        &self,
        uplink: &'a Uplink,
        id: SubscriptionId,
        may_pause: bool,
        now: Instant,
    ) -> Option<allocation::Subscription<'a>> {
        let known = self.tracks.get(&id)?;
        let track = uplink.track(known.subscription.track)?;
        let (wanted, publication) = (known.subscription.settings, track.publication());
        Some(allocation::Subscription {
            key: Key(id.0),
            request: Request {
                enabled: wanted.enabled && !known.held && !known.left_out,
                kind: publication.kind,
                source: source(publication.source),
                size: wanted.size,
                fps: wanted.fps,
                encoding_max: wanted.encoding_max,
                encoding_exact: wanted.encoding_exact,
                spatial_max: wanted.spatial_max,
                priority: wanted.priority,
                speaker: track.speaker_rank(),
                // Before anything is known nobody is refused on a guess.
                may_pause: may_pause && publication.kind == MediaKind::Video && track.is_settled(now),
            },
            offers: track.offers(),
        })
    }

    /// Updates the offers of a receiver's tracks.
    pub(in crate::media) fn refresh_offers(&self, cx: &Context<'_>, uplink: &mut Uplink, transport: TransportId) {
        for id in self
            .receivers
            .get(&transport)
            .into_iter()
            .flat_map(|known| &known.subscriptions)
        {
            if let Some(known) = self.tracks.get(id) {
                uplink.refresh_offers(cx.now, known.subscription.track);
            }
        }
    }

    /// The videos of which a receiver is shown a few.
    pub(in crate::media) fn video_slots(
        &self,
        cx: &Context<'_>,
        uplink: &Uplink,
        transport: TransportId,
    ) -> Vec<VideoSlot> {
        let slot = |id: &SubscriptionId| {
            let known = self.tracks.get(id)?;
            let track = uplink.track(known.subscription.track)?;
            let wanted = known.subscription.settings;
            (wanted.enabled && !known.held && track.has_key_frames()).then(|| VideoSlot {
                key: Key(id.0),
                source: source(track.publication().source),
                priority: wanted.priority,
                spoke: track.spoke(cx.now),
            })
        };
        let subscriptions = self.receivers.get(&transport).into_iter();
        subscriptions
            .flat_map(|known| &known.subscriptions)
            .filter_map(slot)
            .collect()
    }

    /// Others are among the few videos that are shown, or not any more.
    pub(in crate::media) fn set_left_out(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        id: SubscriptionId,
        left_out: bool,
    ) {
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        if std::mem::replace(&mut known.left_out, left_out) != left_out {
            self.write_replica(cx, env, id);
            self.tell_paused(cx, env, id);
        }
    }

    /// Records the smaller size to keep beside the granted one. A subscription that is lowered for
    /// lack of room keeps its fallback until it has been lowered: that is the purpose of the
    /// fallback. A subscription that asked for less waits for the key frame at its present size.
    pub(in crate::media) fn set_fallback(&mut self, id: SubscriptionId, share: Option<Share>, is_short: bool) {
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let Some(Share {
            grant: Grant::Send(target),
            fallback_spatial,
        }) = share
        else {
            known.fallback_spatial = None;
            return;
        };
        let is_larger = |current: Current| current.layer.spatial > target.layer.spatial;
        let was_granted = matches!(known.choice, Choice::Granted(layer) if layer.spatial <= target.layer.spatial);
        match known.current.is_some_and(is_larger) {
            false => known.fallback_spatial = fallback_spatial,
            true if is_short || was_granted => {}
            true => known.fallback_spatial = None,
        }
    }

    /// Applies the decision for one subscription. Without a decision it gets the best layer that is
    /// wanted. Returns whether it gets more than the smallest size from now on.
    pub(in crate::media) fn grant(
        &mut self,
        cx: &mut Context<'_>,
        env: &mut Env<'_>,
        id: SubscriptionId,
        grant: Option<Grant>,
        path: Path,
    ) -> bool {
        let Some(known) = self.tracks.get_mut(&id) else {
            return false;
        };
        let track = env.uplink.track(known.subscription.track);
        let before = (known.source, known.choice, known.small);
        let mut grows = false;
        let is_kept = known
            .written
            .as_ref()
            .is_some_and(|written| written.fallback_spatial == known.fallback_spatial);
        match grant {
            None => known.choice = Choice::Free,
            Some(Grant::Send(target)) => {
                let is_larger = |current: Current| {
                    current.layer.spatial > target.layer.spatial
                        || env.uplink.encoding_of(current.source) > Some(usize::from(target.encoding))
                };
                grows = known.follow_path(cx.now, path, is_larger);
                let smallest = track.and_then(|track| track.offers().first());
                let may_be_smaller = known.small != Small::No && !known.subscription.settings.encoding_exact;
                let encoding = match smallest.filter(|_| may_be_smaller) {
                    Some(smallest) => smallest.target.encoding,
                    None => target.encoding,
                };
                let stream = track.and_then(|track| track.encodings().get(usize::from(encoding))?.stream);
                known.source = stream.or(known.source);
                known.choice = Choice::Granted(layer(target, track.map_or(&[], |track| track.offers())));
            }
            Some(Grant::Paused) => (known.choice, known.small) = (Choice::NoRoom, Small::No),
            Some(Grant::Idle) => known.choice = Choice::Expecting,
        }
        if let (Choice::Granted(_), Choice::Granted(_)) = (before.1, known.choice)
            && (before.0, before.1) != (known.source, known.choice)
        {
            cx.count(Counter::TargetChanged);
        }
        if matches!(known.choice, Choice::Free | Choice::Expecting) {
            self.choose_source(env, id);
        }
        // This runs four times a second for every subscription of a receiver, mostly without a
        // change.
        let after = self
            .tracks
            .get(&id)
            .map(|known| (known.source, known.choice, known.small));
        if after != Some(before) || !is_kept {
            self.write_replica(cx, env, id);
            self.tell_paused(cx, env, id);
        }
        grows
    }

    /// Tells the controller when a subscription is paused for lack of room, and when it is resumed.
    /// Another node is told by a BYE that a stream pauses: it gives its receivers another one at
    /// once, where it would notice silence much later (RFC 3550 section 6.6).
    fn tell_paused(&mut self, cx: &mut Context<'_>, env: &Env<'_>, id: SubscriptionId) {
        let Some(known) = self.tracks.get_mut(&id) else {
            return;
        };
        let paused = match known.choice {
            _ if !known.subscription.settings.enabled || known.held => return,
            _ if known.left_out => true,
            Choice::NoRoom => true,
            Choice::Free | Choice::Granted(_) => false,
            Choice::Undecided | Choice::Expecting => return,
        };
        if std::mem::replace(&mut known.told_paused, paused) != paused {
            cx.count(match paused {
                true => Counter::VideoPaused,
                false => Counter::VideoResumed,
            });
            cx.notice(Notice::Paused {
                subscription: id,
                paused,
            });
            let (transport, ssrc) = (known.subscription.transport, known.subscription.ssrc);
            let direct = env
                .transports
                .get(transport)
                .filter(|known| paused && known.is_direct());
            if let Some(transport) = direct
                && let Some(leg) = transport.leg()
            {
                let mut compound = Vec::new();
                transport.compound(&mut compound, &[]).bye(&[ssrc]);
                cx.send_rtcp(leg, &compound);
            }
        }
    }
}

fn source(source: TrackSource) -> Source {
    match source {
        TrackSource::Camera => Source::Camera,
        TrackSource::Screen => Source::Screen,
    }
}

/// The layer to write for a target. The highest frame rate of a size is written without a limit, so
/// that a temporal layer that begins later is not held back.
fn layer(target: DecodeTarget, offers: &[Offer]) -> Layer {
    let same_size =
        |offer: &&Offer| offer.target.encoding == target.encoding && offer.target.layer.spatial == target.layer.spatial;
    let highest = offers
        .iter()
        .filter(same_size)
        .map(|offer| offer.target.layer.temporal)
        .max();
    match highest {
        Some(highest) if target.layer.temporal < highest => target.layer,
        _ => Layer {
            temporal: u8::MAX,
            ..target.layer
        },
    }
}
