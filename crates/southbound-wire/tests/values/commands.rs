//! Commands of every kind.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use southbound::{
    Channel, Command, DataTrackRoute, DirectKeys, DistantEndpoint, DistantTrack, DtlsRole, Encoding, MessageEndpoint,
    MessageRights, NodeId, OpenDirect, OpenTransport, PayloadFormat, Publication, RemoteTransport, Subscription,
    SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{ExtensionKind, ExtensionMap, MediaKind, Ssrc};

use crate::{parts, relays};

pub(crate) fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        open().prop_map(Command::Open),
        open_direct().prop_map(|open| Command::OpenDirect(Box::new(open))),
        (transport(), remote()).prop_map(|(transport, remote)| Command::Connect { transport, remote }),
        transport().prop_map(|transport| Command::Close { transport }),
        publication().prop_map(Command::Publish),
        track().prop_map(|track| Command::Unpublish { track }),
        subscription().prop_map(Command::Subscribe),
        subscription_id().prop_map(|subscription| Command::Unsubscribe { subscription }),
        (track(), any::<bool>()).prop_map(|(track, forwarding)| Command::SetForwarding { track, forwarding }),
        (track(), any::<Option<u8>>()).prop_map(|(track, rank)| Command::SetSpeakerRank { track, rank }),
        (transport(), any::<Option<u64>>())
            .prop_map(|(transport, limit)| Command::SetDownlinkLimit { transport, limit }),
        send(),
        parts::message().prop_map(|message| Command::MessageHandled { message }),
        endpoint().prop_map(|endpoint| Command::SetEndpoint(Box::new(endpoint))),
        transport().prop_map(|transport| Command::RemoveEndpoint { transport }),
        any::<bool>().prop_map(|elsewhere| Command::SetElsewhere { elsewhere }),
        data_track().prop_map(|route| Command::SetDataTrack(Box::new(route))),
        (transport(), any::<u16>()).prop_map(|(endpoint, handle)| Command::RemoveDataTrack { endpoint, handle }),
        (transport(), vec((parts::label(), any::<u32>()), 0..4))
            .prop_map(|(transport, received)| Command::Resend { transport, received }),
        distant_endpoint().prop_map(|endpoint| Command::SetDistantEndpoint(Box::new(endpoint))),
        transport().prop_map(|transport| Command::RemoveDistantEndpoint { transport }),
        distant_track().prop_map(|track| Command::SetDistantTrack(Box::new(track))),
        any::<u16>().prop_map(|handle| Command::RemoveDistantTrack { handle }),
        (any::<u64>(), any::<u64>()).prop_map(|(node, number)| Command::SetReach {
            node: NodeId(node),
            number
        }),
        any::<(u64, u64, u64)>().prop_map(|(node, series, number)| Command::SetSource {
            node: NodeId(node),
            series,
            number
        }),
        relays::command().prop_map(Command::Relay),
    ]
}

pub(crate) fn transport() -> impl Strategy<Value = TransportId> {
    any::<u64>().prop_map(TransportId)
}

pub(crate) fn track() -> impl Strategy<Value = TrackId> {
    any::<u64>().prop_map(TrackId)
}

pub(crate) fn subscription_id() -> impl Strategy<Value = SubscriptionId> {
    any::<u64>().prop_map(SubscriptionId)
}

fn distant_endpoint() -> impl Strategy<Value = DistantEndpoint> {
    (any::<u64>(), transport(), parts::label(), parts::label(), any::<u64>()).prop_map(
        |(node, transport, identity, sid, number)| DistantEndpoint {
            node: NodeId(node),
            transport,
            identity,
            sid,
            number,
        },
    )
}

fn send() -> impl Strategy<Value = Command> {
    let message = option::of(parts::message());
    let to = vec(transport(), 0..8);
    (to, parts::label(), parts::payload(), any::<bool>(), message).prop_map(
        |(to, label, payload, reliable, message)| Command::Send {
            to,
            label,
            payload,
            reliable,
            message,
        },
    )
}

fn endpoint() -> impl Strategy<Value = MessageEndpoint> {
    let names = (transport(), option::of(transport()), parts::label(), parts::label());
    (names, any::<[bool; 3]>(), any::<(u32, u64)>()).prop_map(
        |((transport, uplink, identity, sid), [publish, agent, hidden], (last_sequence, number))| MessageEndpoint {
            transport,
            uplink,
            identity,
            sid,
            rights: MessageRights { publish, agent, hidden },
            last_sequence,
            number,
        },
    )
}

fn data_track() -> impl Strategy<Value = DataTrackRoute> {
    let elsewhere = (any::<bool>(), vec(any::<u64>(), 0..4));
    (transport(), any::<(u16, u16)>(), vec(transport(), 0..4), elsewhere).prop_map(
        |(endpoint, (handle, sent_as), receivers, (elsewhere, nodes))| DataTrackRoute {
            endpoint,
            handle,
            sent_as,
            receivers,
            elsewhere,
            nodes: nodes.into_iter().map(NodeId).collect(),
        },
    )
}

fn distant_track() -> impl Strategy<Value = DistantTrack> {
    (parts::label(), any::<u16>(), vec(transport(), 0..4)).prop_map(|(sender, handle, receivers)| DistantTrack {
        sender,
        handle,
        receivers,
    })
}

fn open_direct() -> impl Strategy<Value = OpenDirect> {
    let keys = (parts::master_key(), parts::master_key());
    let keys = option::of(keys.prop_map(|(ingress, egress)| DirectKeys { ingress, egress }));
    let addresses = (parts::address(), parts::address());
    let ssrcs = any::<(u32, u32)>();
    (transport(), addresses, ssrcs, keys, extensions(), extensions()).prop_map(
        |(transport, (local, remote), (ssrc_in, ssrc_out), keys, extensions_in, extensions_out)| OpenDirect {
            transport,
            local,
            remote,
            rtcp_ssrc_in: Ssrc(ssrc_in),
            rtcp_ssrc_out: Ssrc(ssrc_out),
            keys,
            extensions_in,
            extensions_out,
        },
    )
}

fn open() -> impl Strategy<Value = OpenTransport> {
    let channel = (parts::label(), any::<(bool, Option<u16>, Option<u16>)>());
    let channel = channel.prop_map(|(label, (ordered, retransmits_max, stream))| Channel {
        label,
        ordered,
        retransmits_max,
        stream,
    });
    (transport(), parts::credentials(), vec(channel, 0..3)).prop_map(|(transport, local, channels)| OpenTransport {
        transport,
        local,
        channels,
    })
}

fn remote() -> impl Strategy<Value = RemoteTransport> {
    let fingerprints = vec(parts::fingerprint(), 0..3);
    let dtls = select(&[DtlsRole::Server, DtlsRole::Client][..]);
    let port = any::<Option<u16>>();
    (
        parts::credentials(),
        fingerprints,
        dtls,
        extensions(),
        extensions(),
        port,
    )
        .prop_map(
            |(credentials, fingerprints, dtls, extensions_in, extensions_out, sctp_port)| RemoteTransport {
                credentials,
                fingerprints,
                dtls,
                extensions_in,
                extensions_out,
                sctp_port,
            },
        )
}

/// Any kinds, each with an id of its own.
fn extensions() -> impl Strategy<Value = ExtensionMap> {
    (any::<u16>(), 1..=240_u8).prop_map(|(kinds, first)| {
        let mut map = ExtensionMap::default();
        for (kind, id) in ExtensionKind::ALL.into_iter().zip(first..=u8::MAX) {
            if kinds & (1 << kind as u16) != 0 {
                map.insert(kind, id).expect("no id comes twice");
            }
        }
        map
    })
}

fn format() -> impl Strategy<Value = PayloadFormat> {
    let rtx = option::of(parts::payload_type());
    (parts::payload_type(), parts::codec(), rtx, any::<bool>()).prop_map(|(payload_type, codec, rtx, nack)| {
        PayloadFormat {
            payload_type,
            codec,
            rtx,
            nack,
        }
    })
}

fn encoding() -> impl Strategy<Value = Encoding> {
    let layers = vec(any::<(u32, u32)>(), 0..4);
    let ssrcs = any::<[Option<u32>; 2]>();
    (option::of(parts::rid()), ssrcs, any::<(u32, u32)>(), layers).prop_map(
        |(rid, [ssrc, rtx], (width, height), layers)| Encoding {
            rid,
            ssrc: ssrc.map(Ssrc),
            rtx: rtx.map(Ssrc),
            width,
            height,
            layers,
        },
    )
}

fn publication() -> impl Strategy<Value = Publication> {
    let kind = select(&[MediaKind::Audio, MediaKind::Video][..]);
    let source = select(&[TrackSource::Camera, TrackSource::Screen][..]);
    let lists = (vec(format(), 0..4), vec(encoding(), 0..4));
    let names = (track(), transport(), option::of(parts::mid()));
    (names, kind, lists, any::<bool>(), source).prop_map(
        |((track, transport, mid), kind, (formats, encodings), muted, source)| Publication {
            track,
            transport,
            kind,
            mid,
            formats,
            encodings,
            muted,
            source,
        },
    )
}

fn settings() -> impl Strategy<Value = SubscriptionSettings> {
    let flags = any::<[bool; 2]>();
    (flags, any::<((u16, u16), u16, [u8; 3])>()).prop_map(|([enabled, encoding_exact], (size, fps, numbers))| {
        let [priority, encoding_max, spatial_max] = numbers;
        SubscriptionSettings {
            enabled,
            size,
            fps,
            priority,
            encoding_max,
            encoding_exact,
            spatial_max,
        }
    })
}

fn subscription() -> impl Strategy<Value = Subscription> {
    let names = (subscription_id(), transport(), track(), option::of(parts::mid()));
    let formats = vec((parts::payload_type(), format()), 0..4);
    let numbers = any::<(u32, Option<u32>, bool)>();
    (names, numbers, formats, settings()).prop_map(
        |((subscription, transport, track, mid), (ssrc, rtx, fill), formats, settings)| Subscription {
            subscription,
            transport,
            track,
            ssrc: Ssrc(ssrc),
            rtx: rtx.map(Ssrc),
            mid,
            formats,
            settings,
            fill,
        },
    )
}
