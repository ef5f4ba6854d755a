//! The commands of a controller for a room on two nodes.

use std::net::SocketAddr;

use dataplane::{MasterKey, SrtpProfile};
use southbound::{
    Command, DirectKeys, DtlsRole, Encoding, IceCredentials, OpenDirect, OpenTransport, PayloadFormat, Publication,
    RemoteTransport, Subscription, SubscriptionId, SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, PayloadType, Ssrc};

use crate::{camera, viewer};

/// The header extension that has the transport-wide number.
pub(crate) const NUMBER_EXTENSION: u8 = 4;

/// The addresses of the nodes.
pub(crate) fn node_address(node: usize) -> SocketAddr {
    ([192, 0, 2, 1 + node as u8], 7882).into()
}

/// The transport of a person at its node.
pub(crate) fn transport(person: usize) -> TransportId {
    TransportId(1 + person as u64)
}

/// The trunk at each of its nodes.
pub(crate) fn trunk(node: usize) -> TransportId {
    FIRST.transport(node)
}

/// One of the trunks that the nodes may have, all between the same addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trunk(pub(crate) u8);

/// The only trunk of most tests.
pub(crate) const FIRST: Trunk = Trunk(0);

/// The camera's track at the near node, and the same at the far one.
pub(crate) const TRACKS: [TrackId; 2] = [TrackId(100), TrackId(200)];

/// SSRCs on the trunk: of each encoding, and of its retransmissions.
pub(crate) const TRUNK_SSRCS: [u32; 3] = [5_000, 5_002, 5_004];

pub(crate) fn credentials(side: &str, person: usize) -> IceCredentials {
    IceCredentials {
        ufrag: format!("{side}{person}"),
        password: format!("{side}{person}-password-of-22-characters"),
    }
}

/// Opens and describes the transport of a person without encryption.
pub(crate) fn person(person: usize) -> [Command; 2] {
    let transport = transport(person);
    let mut extensions_out = ExtensionMap::default();
    extensions_out
        .insert(ExtensionKind::TransportSequence, NUMBER_EXTENSION)
        .expect("it is the only one");
    let remote = RemoteTransport {
        credentials: credentials("peer", person),
        fingerprints: Vec::new(),
        dtls: DtlsRole::Server,
        extensions_in: ExtensionMap::default(),
        extensions_out,
        sctp_port: None,
    };
    let open = OpenTransport {
        transport,
        local: credentials("node", person),
        channels: Vec::new(),
    };
    [Command::Open(open), Command::Connect { transport, remote }]
}

impl Trunk {
    /// Its end at a node.
    pub(crate) fn transport(self, node: usize) -> TransportId {
        TransportId(900 + 10 * u64::from(self.0) + node as u64)
    }

    /// The SSRC of an encoding on it; that of its retransmissions follows.
    pub(crate) fn ssrc(self, encoding: usize) -> u32 {
        TRUNK_SSRCS[encoding] + 100 * u32::from(self.0)
    }

    /// The SSRC of a node's RTCP.
    pub(crate) fn rtcp_ssrc(self, node: usize) -> Ssrc {
        Ssrc(7_000 + 100 * u32::from(self.0) + node as u32)
    }

    /// The key of what a node seals.
    fn key(self, node: usize) -> MasterKey {
        let seed = 1 + 10 * self.0 + node as u8;
        MasterKey::new(SrtpProfile::AeadAes256Gcm, &[seed; 32], &[seed; 12]).expect("lengths are the profile's")
    }

    /// Opens its end at a node.
    pub(crate) fn open(self, node: usize) -> Command {
        Command::OpenDirect(Box::new(self.order(node)))
    }

    fn order(self, node: usize) -> OpenDirect {
        let mut extensions = ExtensionMap::default();
        extensions
            .insert(ExtensionKind::TransportSequence, NUMBER_EXTENSION)
            .expect("it is the only one");
        OpenDirect {
            transport: self.transport(node),
            local: node_address(node),
            remote: node_address(1 - node),
            rtcp_ssrc_in: self.rtcp_ssrc(1 - node),
            rtcp_ssrc_out: self.rtcp_ssrc(node),
            keys: Some(DirectKeys {
                ingress: self.key(1 - node),
                egress: self.key(node),
            }),
            extensions_in: extensions,
            extensions_out: extensions,
        }
    }

    /// Publishes a track at the far node, as the camera's encodings come over it.
    pub(crate) fn publish(self, track: TrackId) -> Command {
        let encodings = (0..3).map(|index| encoding(index, self.ssrc(index), Some(self.ssrc(index) + 1)));
        publish(track, self.transport(1), encodings.collect())
    }

    /// One encoding of the camera goes over it. The smaller ones come first where there is little
    /// room.
    pub(crate) fn subscribe(self, index: usize) -> Command {
        let settings = SubscriptionSettings {
            encoding_max: index as u8,
            encoding_exact: true,
            priority: 2 - index as u8,
            ..SubscriptionSettings::BEST
        };
        let id = 500 + 10 * u64::from(self.0) + index as u64;
        subscribe(TRACKS[0], id, self.transport(0), self.ssrc(index), settings)
    }
}

/// The end of the trunk at a node.
pub(crate) fn open_trunk(node: usize) -> OpenDirect {
    FIRST.order(node)
}

fn vp8() -> PayloadFormat {
    let payload_type = |value| PayloadType::new(value).expect("seven bits");
    PayloadFormat {
        payload_type: payload_type(96),
        codec: Codec::Vp8,
        rtx: Some(payload_type(97)),
        nack: true,
    }
}

fn publish(track: TrackId, transport: TransportId, encodings: Vec<Encoding>) -> Command {
    Command::Publish(Publication {
        track,
        transport,
        kind: MediaKind::Video,
        mid: None,
        formats: vec![vp8()],
        encodings,
        muted: false,
        source: TrackSource::Camera,
    })
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

/// Publishes a track of a person, as its camera sends it.
pub(crate) fn publish_camera(track: TrackId, person: usize) -> Command {
    let encodings = (0..3).map(|index| encoding(index, camera::SSRC + index as u32, None));
    publish(track, transport(person), encodings.collect())
}

/// A person at the far node watches a track.
pub(crate) fn watch(person: usize, track: TrackId) -> Command {
    let (id, settings) = (600 + person as u64, SubscriptionSettings::BEST);
    subscribe(track, id, transport(person), viewer::SSRC, settings)
}

fn subscribe(track: TrackId, id: u64, transport: TransportId, ssrc: u32, settings: SubscriptionSettings) -> Command {
    Command::Subscribe(Subscription {
        subscription: SubscriptionId(id),
        transport,
        track,
        ssrc: Ssrc(ssrc),
        rtx: Some(Ssrc(ssrc + 1)),
        mid: None,
        formats: vec![(vp8().payload_type, vp8())],
        settings,
        fill: false,
    })
}
