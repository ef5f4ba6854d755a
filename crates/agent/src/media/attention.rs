//! Who is listened to and looked at: held tracks, speakers, and the few videos a large room shows.

use allocation::{Face, Key, Source};
use southbound::{SubscriptionId, TrackId, TrackSource, TransportId};

use super::Media;
use crate::context::Context;

impl Media {
    /// A track is forwarded to nobody, or to everybody again.
    pub(crate) fn hold(&mut self, cx: &mut Context<'_>, id: TrackId, held: bool) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if std::mem::replace(&mut track.held, held) == held {
            return;
        }
        for subscription in track.subscribers.clone() {
            if let Some(downlink) = self.downlinks.get_mut(&subscription) {
                downlink.held = held;
            }
            self.write_replica(cx, subscription);
            self.wish_changed(cx, subscription);
        }
    }

    /// Somebody speaks, or does not speak any more.
    pub(crate) fn attend(&mut self, cx: &mut Context<'_>, id: TrackId, place: Option<u8>) {
        let Some(track) = self.tracks.get_mut(&id) else { return };
        if place.is_some() || track.attention.is_some() {
            track.spoke = Some(cx.now);
        }
        if std::mem::replace(&mut track.attention, place) == place {
            return;
        }
        for subscription in track.subscribers.clone() {
            self.wish_changed(cx, subscription);
        }
    }

    /// A receiver wants something else, or it matters differently: who is shown may change, and who gets how much.
    pub(super) fn wish_changed(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if let Some(transport) = self.downlinks.get(&id).map(|downlink| downlink.subscription.transport) {
            self.choose_shown(cx, transport);
            self.allocate_by(cx, transport, cx.now);
        }
    }

    /// Chooses the videos a receiver is shown at all, where the operator set a number.
    pub(super) fn choose_shown(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let last_n = cx.shared.config.last_n;
        let Some(link) = self.links.get_mut(&transport).filter(|_| last_n > 0) else {
            return;
        };
        let face = |id: &SubscriptionId| {
            let downlink = self.downlinks.get(id)?;
            let track = self.tracks.get(&downlink.subscription.track)?;
            let wanted = downlink.subscription.wanted;
            (wanted.enabled && !downlink.held && track.has_key_frames()).then_some(Face {
                key: Key(id.0),
                source: match track.publication.source {
                    TrackSource::Camera => Source::Camera,
                    TrackSource::Screen => Source::Screen,
                },
                priority: wanted.priority,
                spoke: track.attention.map(|_| cx.now).or(track.spoke),
            })
        };
        let faces: Vec<Face> = link.subscriptions.iter().filter_map(face).collect();
        let shown = link
            .shown
            .get_or_insert_with(|| allocation::LastN::new(last_n))
            .choose(&faces)
            .to_vec();
        for face in faces {
            let id = SubscriptionId(face.key.0);
            let left_out = shown.binary_search(&face.key).is_err();
            let downlink = self.downlinks.get_mut(&id).expect("it has a face");
            if std::mem::replace(&mut downlink.left_out, left_out) != left_out {
                self.tell_paused(cx, id);
                self.write_replica(cx, id);
            }
        }
    }
}
