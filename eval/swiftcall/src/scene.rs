//! A cable: the switch at its near end, speaker and receivers at its far end.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use dataplane::{
    Leg, LegId, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting, Stream, StreamFormat, StreamKey, Update,
};
use veth::{Pair, Side, Unavailable};
use wire::codec::Layer;
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, Mid, PayloadType, Ssrc};

/// Our port, the speaker's, and the first receiver's.
const PORT: u16 = 7_000;
const SPEAKER_PORT: u16 = 6_000;
const FIRST_PORT: u16 = 20_000;

/// A common size of video packets, in bytes of UDP payload.
pub(crate) const SIZE: usize = 1_200;

/// Packets of a frame of video.
pub(crate) const FRAME: u16 = 10;

const PAYLOAD_TYPE: u8 = 111;

const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(0x11),
};

/// The media that is sent, and the header extensions that receivers want in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// Opus, unchanged.
    Plain,
    /// The same with a mid, a sending time and a transport-wide number of its own in each copy, as
    /// browsers request.
    Stamped,
    /// VP8 in three temporal layers, a frame in ten packets. All receivers want all layers.
    Layered,
}

/// The cable and the speaker.
pub(crate) struct Scene {
    /// Both ends.
    pub pair: Pair,
    /// The media that is sent from here on.
    pub media: Media,
    speaker: UdpSocket,
    sent: u32,
}

impl Scene {
    /// Both ends know each other's hardware address permanently.
    ///
    /// Errors: no root.
    pub(crate) fn new() -> Result<Self, Unavailable> {
        let pair = Pair::new(1)?;
        for (side, own, other, theirs) in [
            (&pair.near, "02:00:00:00:00:01", &pair.far, "02:00:00:00:00:02"),
            (&pair.far, "02:00:00:00:00:02", &pair.near, "02:00:00:00:00:01"),
        ] {
            side.ip(&format!("link set {} address {own}", side.interface))?;
            know(side, other.v4, theirs)?;
        }
        // As from a network: checksums are complete when packets arrive, and sent buffers are
        // segmented first.
        pair.far.command("ethtool", "-K far0 tx off")?;
        pair.near.command("ethtool", "-K near0 tx-udp-segmentation off")?;
        let (near, far) = (pair.near.v4, pair.far.v4);
        let speaker = pair.far.run(|| {
            let socket = UdpSocket::bind((far, SPEAKER_PORT))?;
            socket.connect((near, PORT))?;
            Ok::<_, std::io::Error>(socket)
        });
        Ok(Scene {
            speaker: speaker.expect("a namespace of our own has ports"),
            pair,
            media: Media::Plain,
            sent: 0,
        })
    }

    /// Sends the next packet. A packet that a full queue refuses is lost, and is missed at the
    /// other end.
    pub(crate) fn speak(&mut self) {
        self.sent = self.sent.wrapping_add(1);
        let mut packet = [0; SIZE];
        let mut time = self.sent;
        packet[..2].copy_from_slice(&[0x80, PAYLOAD_TYPE]);
        packet[2..4].copy_from_slice(&(self.sent as u16).to_be_bytes());
        if self.media == Media::Layered {
            time /= u32::from(FRAME);
            packet[12..19].copy_from_slice(&vp8(self.sent));
        }
        packet[4..8].copy_from_slice(&time.wrapping_mul(960).to_be_bytes());
        packet[8..12].copy_from_slice(&STREAM.ssrc.0.to_be_bytes());
        let _ = self.speaker.send(&packet);
    }

    /// The address of the switch.
    pub(crate) fn near(&self) -> SocketAddr {
        SocketAddr::new(self.pair.near.v4.into(), PORT)
    }

    /// A room with `receivers` receivers of one speaker.
    pub(crate) fn room(&self, receivers: u32) -> impl Iterator<Item = Update> {
        let (near, far, media) = (self.near(), self.pair.far.v4, self.media);
        let leg = move |port| leg(near, SocketAddr::new(far.into(), port));
        let opening = [
            Update::SetLeg(LegId(0), leg(SPEAKER_PORT)),
            Update::SetStream(STREAM, stream(media)),
        ];
        let receiver = move |number: u32| {
            let mut to = leg(FIRST_PORT + number as u16);
            to.extensions_out = stamps(media);
            [
                Update::SetLeg(LegId(number + 1), to),
                Update::SetReplica(ReplicaId(number), replica(number)),
            ]
        };
        opening.into_iter().chain((0..receivers).flat_map(receiver))
    }
}

fn know(side: &Side, address: Ipv4Addr, mac: &str) -> Result<(), Unavailable> {
    side.ip(&format!(
        "neighbour replace {address} lladdr {mac} dev {} nud permanent",
        side.interface
    ))
}

fn leg(local: SocketAddr, remote: SocketAddr) -> Leg {
    Leg {
        paths: vec![Path { local, remote }],
        shared: None,
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

/// The header extensions that are written into copies.
fn stamps(media: Media) -> ExtensionMap {
    let mut map = ExtensionMap::default();
    if media != Media::Plain {
        use ExtensionKind::{AbsSendTime, Mid, TransportSequence};
        for (kind, id) in [(Mid, 1), (AbsSendTime, 2), (TransportSequence, 3)] {
            map.insert(kind, id).expect("each once");
        }
    }
    map
}

/// The payload descriptor of VP8 (RFC 7741 section 4.2) and the first byte after it. Every fourth
/// frame is a key frame.
fn vp8(packet: u32) -> [u8; 7] {
    let frame = packet / u32::from(FRAME);
    let temporal = [0, 2, 1, 2][frame as usize % 4];
    let starts = u8::from(packet.is_multiple_of(FRAME.into()));
    let [high, low] = (frame as u16).to_be_bytes();
    let is_inter = u8::from(!frame.is_multiple_of(4));
    [
        0x80 | starts << 4,
        0xe0,
        0x80 | high,
        low,
        (frame / 4) as u8,
        temporal << 6,
        is_inter,
    ]
}

fn stream(media: Media) -> Stream {
    let (kind, codec) = match media {
        Media::Plain | Media::Stamped => (MediaKind::Audio, Codec::Opus),
        Media::Layered => (MediaKind::Video, Codec::Vp8),
    };
    Stream {
        kind,
        formats: vec![StreamFormat {
            payload_type: payload_type(),
            codec,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

fn replica(number: u32) -> Replica {
    Replica {
        leg: LegId(number + 1),
        ssrc: Ssrc(0x1000 + number),
        first_sequence: 100,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: payload_type(),
            payload_type: payload_type(),
            rtx: None,
            primary_only: false,
        }],
        mid: Mid::new("0"),
        playout_delay: None,
        source: Some(STREAM),
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    }
}

fn payload_type() -> PayloadType {
    PayloadType::new(PAYLOAD_TYPE).expect("below 128")
}
