//! The commands of a controller for a room on several nodes.

use std::net::SocketAddr;

use southbound::{
    Command, DirectKeys, Encoding, OpenDirect, PayloadFormat, Publication, Subscription, SubscriptionId,
    SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType, Ssrc};

/// How many encodings the camera has.
pub(crate) const ENCODINGS: usize = 3;

/// The header extension that has the transport-wide number.
pub(crate) const NUMBER_EXTENSION: u8 = 4;

pub(crate) const PAYLOAD_TYPE: u8 = 96;
const RTX_PAYLOAD_TYPE: u8 = 97;

/// SSRC of the camera's smallest encoding; the others follow.
pub(crate) const CAMERA_SSRC: u32 = 10;
/// SSRCs on a trunk: every second one has the retransmissions of the one before it.
const TRUNK_SSRC: u32 = 5_000;
/// SSRCs of what receivers are sent, and of its retransmissions.
pub(crate) const RECEIVER_SSRC: u32 = 6_000;
pub(crate) const RECEIVER_RTX_SSRC: u32 = 6_001;

/// The SSRC of everybody's RTCP: no two have one pair of addresses.
pub(crate) const RTCP_SSRC: Ssrc = Ssrc(1);

const CAMERA: TransportId = TransportId(1);

/// The ends of a direct transport at a node.
pub(crate) struct Ends {
    pub(crate) node: SocketAddr,
    pub(crate) peer: SocketAddr,
    /// As the node uses them.
    pub(crate) keys: DirectKeys,
}

/// Whether an SSRC on a trunk has media, or retransmissions; `None` for others.
pub(crate) fn is_media(ssrc: Ssrc) -> Option<bool> {
    let place = ssrc.0.checked_sub(TRUNK_SSRC)?;
    (place < 2 * ENCODINGS as u32).then_some(place % 2 == 0)
}

/// The camera is at a node and publishes all encodings.
pub(crate) fn camera(ends: Ends) -> [Command; 2] {
    let encodings = (0..ENCODINGS).map(|index| encoding(index, CAMERA_SSRC + index as u32, None));
    [open(CAMERA, ends, numbered()), publish(CAMERA, encodings.collect())]
}

/// A node passes all encodings on to the node with this number. Smaller ones come first where there
/// is little room.
pub(crate) fn pass_on(child: usize, ends: Ends) -> Vec<Command> {
    let trunk = TransportId(100 + child as u64);
    let subscriptions = (0..ENCODINGS).map(|index| {
        let settings = SubscriptionSettings {
            encoding_max: index as u8,
            encoding_exact: true,
            priority: (ENCODINGS - index) as u8,
            ..SubscriptionSettings::BEST
        };
        let id = SubscriptionId((10 * child + index) as u64);
        subscribe(id, trunk, TRUNK_SSRC + 2 * index as u32, settings)
    });
    [open(trunk, ends, numbered())]
        .into_iter()
        .chain(subscriptions)
        .collect()
}

/// A node gets all encodings from the one before it.
pub(crate) fn take_over(ends: Ends) -> [Command; 2] {
    let trunk = TransportId(2);
    let ssrcs = |index| TRUNK_SSRC + 2 * index as u32;
    let encodings = (0..ENCODINGS).map(|index| encoding(index, ssrcs(index), Some(ssrcs(index) + 1)));
    [open(trunk, ends, numbered()), publish(trunk, encodings.collect())]
}

/// A receiver watches an encoding, at full rate: its packets have no transport-wide numbers, so its
/// downlink is not estimated.
pub(crate) fn watch(receiver: usize, encoding: usize, ends: Ends) -> [Command; 2] {
    let transport = TransportId(1_000 + receiver as u64);
    let settings = SubscriptionSettings {
        encoding_max: encoding as u8,
        ..SubscriptionSettings::BEST
    };
    let id = SubscriptionId(1_000 + receiver as u64);
    [
        open(transport, ends, ExtensionMap::default()),
        subscribe(id, transport, RECEIVER_SSRC, settings),
    ]
}

fn numbered() -> ExtensionMap {
    let mut extensions = ExtensionMap::default();
    extensions
        .insert(ExtensionKind::TransportSequence, NUMBER_EXTENSION)
        .expect("it is the only one");
    extensions
}

fn open(transport: TransportId, ends: Ends, extensions: ExtensionMap) -> Command {
    Command::OpenDirect(Box::new(OpenDirect {
        transport,
        local: ends.node,
        remote: ends.peer,
        rtcp_ssrc_in: RTCP_SSRC,
        rtcp_ssrc_out: RTCP_SSRC,
        keys: Some(ends.keys),
        extensions_in: extensions,
        extensions_out: extensions,
    }))
}

/// The track at its node: a node has one.
const TRACK: TrackId = TrackId(1);

fn vp8() -> PayloadFormat {
    let payload_type = |value| PayloadType::new(value).expect("seven bits");
    PayloadFormat {
        payload_type: payload_type(PAYLOAD_TYPE),
        codec: Codec::Vp8,
        rtx: Some(payload_type(RTX_PAYLOAD_TYPE)),
        nack: true,
    }
}

fn encoding(index: usize, ssrc: u32, rtx: Option<u32>) -> Encoding {
    Encoding {
        rid: None,
        ssrc: Some(Ssrc(ssrc)),
        rtx: rtx.map(Ssrc),
        width: 320 << index,
        height: 180 << index,
        layers: Vec::new(),
    }
}

fn publish(transport: TransportId, encodings: Vec<Encoding>) -> Command {
    Command::Publish(Publication {
        track: TRACK,
        transport,
        kind: MediaKind::Video,
        mid: None,
        formats: vec![vp8()],
        encodings,
        muted: false,
        source: TrackSource::Camera,
    })
}

fn subscribe(id: SubscriptionId, transport: TransportId, ssrc: u32, settings: SubscriptionSettings) -> Command {
    Command::Subscribe(Subscription {
        subscription: id,
        transport,
        track: TRACK,
        ssrc: Ssrc(ssrc),
        rtx: Some(Ssrc(ssrc + 1)),
        mid: None,
        formats: vec![(vp8().payload_type, vp8())],
        settings,
        fill: false,
    })
}
