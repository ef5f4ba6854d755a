//! A track on its way over trunks, in one of its codecs.

use std::collections::{BTreeMap, BTreeSet};

use southbound::{
    Encoding, NodeId, PayloadFormat, Publication, Subscription, SubscriptionId, SubscriptionSettings, TransportId,
};
use wire::{MediaKind, PayloadType, Ssrc};

use super::need::Need;
use crate::track::PublicationMedia;

/// The nodes that a track goes to, each with the last trunk on its way.
#[derive(Default)]
pub(super) struct Route {
    pub(super) hops: BTreeMap<NodeId, Hop>,
}

/// A track's way over one trunk, as both nodes were told of it.
#[derive(Debug)]
pub(super) struct Hop {
    pub(super) from: NodeId,
    /// The track as it arrives behind the trunk. It has the same id at each node.
    pub(super) publication: Publication,
    /// Each of its encodings as the trunk's near end gets it.
    pub(super) subscriptions: Vec<Subscription>,
}

/// The names of one encoding on a trunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamNames {
    pub(super) subscription: SubscriptionId,
    pub(super) ssrc: Ssrc,
    pub(super) rtx: Ssrc,
}

/// The ends of a trunk as a hop has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// The transport of the node that sends.
    pub(super) near: TransportId,
    /// The transport of the node that receives.
    pub(super) far: TransportId,
    /// Nothing is sealed between them, and nothing is sent again, so that a device which keeps no
    /// packets may copy what goes over it.
    pub(super) is_clear: bool,
}

impl Route {
    /// The node that each node gets the track from.
    pub(super) fn parents(&self) -> BTreeMap<NodeId, NodeId> {
        self.hops.iter().map(|(to, hop)| (*to, hop.from)).collect()
    }
}

impl Hop {
    /// The hop that carries a track as it is now, with one stream for each of its encodings.
    pub(super) fn new(
        from: NodeId,
        ends: Ends,
        media: &PublicationMedia,
        need: Need,
        names: impl IntoIterator<Item = StreamNames>,
    ) -> Self {
        let formats = match ends.is_clear {
            true => clear_formats(&media.publication.formats),
            false => formats(&media.publication.formats),
        };
        let encodings = &media.publication.encodings;
        let names: Vec<_> = names.into_iter().take(encodings.len()).collect();
        let arriving = encodings.iter().zip(&names).map(|(encoding, names)| Encoding {
            rid: None,
            ssrc: Some(names.ssrc),
            rtx: (!ends.is_clear).then_some(names.rtx),
            ..encoding.clone()
        });
        let publication = Publication {
            transport: ends.far,
            mid: None,
            formats: formats.clone(),
            encodings: arriving.collect(),
            ..media.publication.clone()
        };
        let subscriptions = names.iter().enumerate().map(|(index, names)| Subscription {
            subscription: names.subscription,
            transport: ends.near,
            track: media.publication.track,
            ssrc: names.ssrc,
            rtx: (!ends.is_clear).then_some(names.rtx),
            mid: None,
            formats: formats.iter().map(|format| (format.payload_type, *format)).collect(),
            settings: settings(media, need, index),
            fill: false,
        });
        Self {
            from,
            subscriptions: subscriptions.collect(),
            publication,
        }
    }

    /// The trunk that it goes over.
    pub(super) fn ends(&self) -> Option<Ends> {
        let first = self.subscriptions.first()?;
        Some(Ends {
            near: first.transport,
            far: self.publication.transport,
            is_clear: first.rtx.is_none(),
        })
    }

    /// The names of its streams.
    pub(super) fn names(&self) -> impl Iterator<Item = StreamNames> {
        self.subscriptions.iter().map(|subscription| StreamNames {
            subscription: subscription.subscription,
            ssrc: subscription.ssrc,
            rtx: subscription.rtx.unwrap_or(subscription.ssrc),
        })
    }
}

/// The order to send one encoding over a trunk. Smaller ones come first on a trunk that does not
/// carry all of them: a receiver behind it can do without the others.
fn settings(media: &PublicationMedia, need: Need, index: usize) -> SubscriptionSettings {
    let publication = &media.publication;
    let is_last = index + 1 == need.encodings;
    SubscriptionSettings {
        enabled: index < need.encodings,
        priority: u8::try_from(publication.encodings.len() - 1 - index).unwrap_or(u8::MAX),
        encoding_max: u8::try_from(index).unwrap_or(u8::MAX),
        encoding_exact: publication.kind == MediaKind::Video,
        spatial_max: if is_last { need.spatial_max } else { u8::MAX },
        ..SubscriptionSettings::BEST
    }
}

/// The formats of a track on a trunk: its publisher's payload types, all of them with
/// retransmissions. Those that have none of their publisher's get a number that is free.
fn formats(published: &[PayloadFormat]) -> Vec<PayloadFormat> {
    let rtx = published.iter().filter_map(|format| format.rtx);
    let mut taken: BTreeSet<PayloadType> = published.iter().map(|format| format.payload_type).chain(rtx).collect();
    // The dynamic range, then what RFC 5761 section 4 leaves of the rest.
    let mut free = (96..=127).chain(35..=63).filter_map(PayloadType::new);
    let on_trunk = published.iter().map(|format| {
        let rtx = format.rtx.or_else(|| free.find(|number| taken.insert(*number)));
        PayloadFormat {
            rtx,
            nack: rtx.is_some(),
            ..*format
        }
    });
    on_trunk.collect()
}

/// The formats of a track on a trunk in clear. A loss is repaired by its publisher, who sends the
/// packet again to everybody who asks.
fn clear_formats(published: &[PayloadFormat]) -> Vec<PayloadFormat> {
    let formats = published.iter().map(|format| PayloadFormat {
        rtx: None,
        nack: true,
        ..*format
    });
    formats.collect()
}

#[cfg(test)]
mod tests {
    use wire::Codec;

    use super::*;

    fn format(payload_type: u8, codec: Codec, rtx: Option<u8>) -> PayloadFormat {
        PayloadFormat {
            payload_type: PayloadType::new(payload_type).unwrap(),
            codec,
            rtx: rtx.and_then(PayloadType::new),
            nack: false,
        }
    }

    #[test]
    fn every_format_on_a_trunk_has_retransmissions_of_its_own() {
        let published = [
            format(96, Codec::Vp8, Some(97)),
            format(98, Codec::H264, None),
            format(111, Codec::Opus, None),
        ];
        let formats = formats(&published);
        let rtx: Vec<_> = formats
            .iter()
            .filter_map(|format| format.rtx)
            .map(PayloadType::get)
            .collect();
        assert_eq!(rtx, [97, 99, 100]);
        assert!(formats.iter().all(|format| format.nack));
    }

    #[test]
    fn a_format_without_a_free_number_goes_without_retransmissions() {
        let mut published: Vec<_> = (96..=127).map(|number| format(number, Codec::H264, None)).collect();
        published.extend((35..=63).map(|number| format(number, Codec::H264, None)));
        let formats = formats(&published);
        assert!(formats.iter().all(|format| format.rtx.is_none() && !format.nack));
    }
}
