//! Who is listened to and looked at: held tracks, speakers, and the few videos a large room shows.

use allocation::{Key, Source, VideoSlot};
use southbound::{SubscriptionId, TrackId, TrackSource, TransportId};

use crate::context::Context;
use crate::media::Media;

impl Media {
    /// A track is forwarded to nobody, or to everybody again.
    pub(crate) fn hold(&mut self, cx: &mut Context<'_>, id: TrackId, held: bool) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if std::mem::replace(&mut track.held, held) == held {
            return;
        }
        for subscription in track.subscribers.clone() {
            if let Some(down_track) = self.down_tracks.get_mut(&subscription) {
                down_track.held = held;
            }
            self.write_replica(cx, subscription);
            self.request_changed(cx, subscription);
        }
    }

    /// Somebody speaks, or does not speak any more.
    pub(crate) fn set_speaker_rank(&mut self, cx: &mut Context<'_>, id: TrackId, rank: Option<u8>) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if rank.is_some() || track.speaker_rank.is_some() {
            track.spoke = Some(cx.now);
        }
        if std::mem::replace(&mut track.speaker_rank, rank) == rank {
            return;
        }
        for subscription in track.subscribers.clone() {
            self.request_changed(cx, subscription);
        }
    }

    /// A receiver wants something else, or it matters differently: who is shown may change, and who gets how much.
    pub(in crate::media) fn request_changed(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if let Some(transport) = self
            .down_tracks
            .get(&id)
            .map(|down_track| down_track.subscription.transport)
        {
            self.choose_shown(cx, transport);
            self.allocate_by(cx, transport, cx.now);
        }
    }

    /// Chooses the videos a receiver is shown at all, where the operator set a number.
    pub(in crate::media) fn choose_shown(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let last_n = cx.shared.config.last_n;
        let Some(peer) = self.peers.get_mut(&transport).filter(|_| last_n > 0) else {
            return;
        };
        let slot = |id: &SubscriptionId| {
            let down_track = self.down_tracks.get(id)?;
            let track = self.tracks.get(&down_track.subscription.track)?;
            let wanted = down_track.subscription.wanted;
            (wanted.enabled && !down_track.held && track.has_key_frames()).then_some(VideoSlot {
                key: Key(id.0),
                source: match track.publication.source {
                    TrackSource::Camera => Source::Camera,
                    TrackSource::Screen => Source::Screen,
                },
                priority: wanted.priority,
                spoke: track.speaker_rank.map(|_| cx.now).or(track.spoke),
            })
        };
        let slots: Vec<VideoSlot> = peer.subscriptions.iter().filter_map(slot).collect();
        let shown = peer
            .shown
            .get_or_insert_with(|| allocation::LastN::new(last_n))
            .choose(&slots)
            .to_vec();
        for slot in slots {
            let id = SubscriptionId(slot.key.0);
            let left_out = shown.binary_search(&slot.key).is_err();
            let down_track = self.down_tracks.get_mut(&id).expect("it has a face");
            if std::mem::replace(&mut down_track.left_out, left_out) != left_out {
                self.tell_paused(cx, id);
                self.write_replica(cx, id);
            }
        }
    }
}
