//! Dividing what a downlink carries among what its receiver wants, and doing what was decided.

use std::time::{Duration, Instant};

use allocation::{DecodeTarget, Grant, Key, Offer, Request, Source, Subscription};
use dataplane::StreamKey;
use southbound::{Notice, SubscriptionId, TrackId, TrackSource, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

use crate::Counter;
use crate::context::Context;
use crate::media::Media;
use crate::media::budget::{Budget, Path, Share};
use crate::media::downlink::down_track::{Choice, Current, DownTrack, Small};
use crate::media::uplink::up_track::Track;
use crate::timers::Timer;

/// How often all is looked at again, whatever happens: rates change.
const INTERVAL: Duration = Duration::from_millis(250);

/// The same while a receiver has all it wants and room to spare. A lower estimate or another wish is answered at once in either case.
const INTERVAL_AT_EASE: Duration = Duration::from_secs(1);

/// Encodings of a track rarely begin alone: what follows from one waits a little for the others.
pub(in crate::media) const SETTLE: Duration = Duration::from_millis(30);

impl Media {
    /// A receiver's downlink is to be divided anew at `at` or before.
    pub(in crate::media) fn allocate_by(&mut self, cx: &mut Context<'_>, transport: TransportId, at: Instant) {
        if self.peers.get(&transport).is_some_and(|peer| peer.budget.is_some()) {
            cx.timer_by(Timer::Allocate(transport), at);
        }
    }

    /// Divides a receiver's downlink.
    pub(crate) fn allocate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get(&transport) else { return };
        let Some(budget) = &peer.budget else { return };
        let subscriptions: Vec<SubscriptionId> = peer.subscriptions.iter().copied().collect();
        let estimate = budget.estimate();
        let (is_short, mut path) = (budget.is_exceeded(&estimate), budget.path(&estimate));
        let shares = match budget.is_deaf(cx.now) {
            true => subscriptions.iter().map(|id| (*id, None)).collect(),
            false => self.divide(cx.now, transport, &subscriptions),
        };
        let mut any = false;
        for (id, share) in shares {
            if self.is_picture(id) {
                any = true;
                self.set_fallback(id, share, is_short);
                if self.grant(cx, id, share.map(|share| share.grant), path) {
                    // Its key frame comes now: the others' had better not come with it.
                    path = Path::Full;
                }
            }
        }
        if any {
            cx.routine_timer(Timer::Allocate(transport), cx.now + self.next_look(transport));
        }
    }

    fn next_look(&self, transport: TransportId) -> Duration {
        let budget = self.peers.get(&transport).and_then(|peer| peer.budget.as_ref());
        match budget.is_some_and(Budget::is_at_ease) {
            true => INTERVAL_AT_EASE,
            false => INTERVAL,
        }
    }

    /// What each subscription gets.
    fn divide(
        &mut self,
        now: Instant,
        transport: TransportId,
        subscriptions: &[SubscriptionId],
    ) -> Vec<(SubscriptionId, Option<Share>)> {
        let tracks = subscriptions
            .iter()
            .filter_map(|id| Some(self.down_tracks.get(id)?.subscription.track));
        for track in tracks.collect::<Vec<TrackId>>() {
            self.refresh_offers(now, track);
        }
        let Self {
            peers,
            tracks,
            down_tracks,
            ..
        } = self;
        let Some(budget) = peers.get_mut(&transport).and_then(|peer| peer.budget.as_mut()) else {
            return Vec::new();
        };
        let may_pause = budget.is_trusted(now);
        let competing = |id: &SubscriptionId| {
            let down_track = down_tracks.get(id)?;
            let track = tracks.get(&down_track.subscription.track)?;
            Some(Subscription {
                key: Key(id.0),
                request: request(down_track, track, may_pause),
                offers: &track.offers.0,
            })
        };
        let competing: Vec<Subscription<'_>> = subscriptions.iter().filter_map(competing).collect();
        let shares = budget.allocate(now, &competing);
        let granted = competing.iter().zip(shares);
        granted
            .map(|(subscription, share)| (SubscriptionId(subscription.key.0), Some(share)))
            .collect()
    }

    /// Notes which smaller size is to go on beside what a subscription gets. One that is to get less for want of room keeps what it has until it has got there: that is what it is
    /// kept for. One that wants less waits for the key frame with the picture it has.
    fn set_fallback(&mut self, id: SubscriptionId, share: Option<Share>, is_short: bool) {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let Some(Share {
            grant: Grant::Send(target),
            keeps,
        }) = share
        else {
            down_track.keeps = None;
            return;
        };
        let is_larger = |current: Current| current.layer.spatial > target.layer.spatial;
        let was_granted = matches!(down_track.choice, Choice::Granted(layer) if layer.spatial <= target.layer.spatial);
        match down_track.current.is_some_and(is_larger) {
            false => down_track.keeps = keeps,
            true if is_short || was_granted => {}
            true => down_track.keeps = None,
        }
    }

    /// Does what was decided for one subscription. Without a decision it gets the best that is wanted. Returns whether it gets more than the smallest picture from now on.
    fn grant(&mut self, cx: &mut Context<'_>, id: SubscriptionId, grant: Option<Grant>, path: Path) -> bool {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return false;
        };
        let track = self.tracks.get(&down_track.subscription.track);
        let before = (down_track.source, down_track.choice, down_track.small);
        let mut grows = false;
        let is_kept = down_track
            .written
            .as_ref()
            .is_some_and(|written| written.keeps == down_track.keeps);
        match grant {
            None => down_track.choice = Choice::Free,
            Some(Grant::Send(target)) => {
                let encoding = |key: StreamKey| self.up_tracks.get(&key).map(|up_track| up_track.encoding);
                let is_larger = |current: Current| {
                    current.layer.spatial > target.layer.spatial
                        || encoding(current.source) > Some(usize::from(target.encoding))
                };
                grows = down_track.follow_path(cx.now, path, is_larger);
                let smallest = track.and_then(|track| track.offers.0.first());
                let encoding = match smallest.filter(|_| down_track.small != Small::No) {
                    Some(smallest) => smallest.target.encoding,
                    None => target.encoding,
                };
                let stream = track.and_then(|track| track.encodings.get(usize::from(encoding))?.stream);
                down_track.source = stream.or(down_track.source);
                down_track.choice = Choice::Granted(layer(target, track.map_or(&[], |track| &track.offers.0)));
            }
            Some(Grant::Paused) => (down_track.choice, down_track.small) = (Choice::NoRoom, Small::No),
            Some(Grant::Idle) => down_track.choice = Choice::Expecting,
        }
        if let (Choice::Granted(_), Choice::Granted(_)) = (before.1, down_track.choice)
            && (before.0, before.1) != (down_track.source, down_track.choice)
        {
            cx.count(Counter::TargetChanged);
        }
        if matches!(down_track.choice, Choice::Free | Choice::Expecting) {
            self.choose_source(id);
        }
        // Four times a second and for everything a receiver watches: mostly nothing changed.
        let after = self
            .down_tracks
            .get(&id)
            .map(|down_track| (down_track.source, down_track.choice, down_track.small));
        if after != Some(before) || !is_kept {
            self.tell_paused(cx, id);
            self.write_replica(cx, id);
        }
        grows
    }

    /// Says when a subscription is not sent for want of room, and when it is again.
    pub(in crate::media) fn tell_paused(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let Some(down_track) = self.down_tracks.get_mut(&id) else {
            return;
        };
        let paused = match down_track.choice {
            _ if !down_track.subscription.wanted.enabled || down_track.held => return,
            _ if down_track.left_out => true,
            Choice::NoRoom => true,
            Choice::Free | Choice::Granted(_) => false,
            Choice::Undecided | Choice::Expecting => return,
        };
        if std::mem::replace(&mut down_track.told_paused, paused) != paused {
            cx.count(match paused {
                true => Counter::VideoPaused,
                false => Counter::VideoResumed,
            });
            cx.notice(Notice::Paused {
                subscription: id,
                paused,
            });
        }
    }
}

/// What a receiver wants of a track.
fn request(down_track: &DownTrack, track: &Track, may_pause: bool) -> Request {
    let wanted = down_track.subscription.wanted;
    Request {
        enabled: wanted.enabled && !down_track.held && !down_track.left_out,
        kind: track.publication.kind,
        source: match track.publication.source {
            TrackSource::Camera => Source::Camera,
            TrackSource::Screen => Source::Screen,
        },
        size: wanted.size,
        fps: wanted.fps,
        encoding_max: wanted.encoding_max,
        spatial_max: wanted.spatial_max,
        priority: wanted.priority,
        speaker: track.speaker_rank,
        // Before anything is known nobody is refused on a guess.
        may_pause: may_pause && track.publication.kind == MediaKind::Video,
    }
}

/// The layer to write for a target: without a limit where it is the highest frame rate there is of its picture size, so that one that
/// begins a moment later is not held back.
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
