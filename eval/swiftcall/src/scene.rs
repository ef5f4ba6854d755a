//! A cable: the switch at its near end, speaker and receivers at its far end.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use dataplane::{
    Leg, LegId, Path, Protection, Replica, ReplicaFormat, ReplicaId, Stream, StreamFormat, StreamKey, Update,
};
use veth::{Pair, Side, Unavailable};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, PayloadType, Ssrc};

/// Our port, the speaker's, and the first receiver's.
const PORT: u16 = 7_000;
const SPEAKER_PORT: u16 = 6_000;
const FIRST_PORT: u16 = 20_000;

/// A common size of video packets, in bytes of UDP payload.
pub const SIZE: usize = 1_200;

const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(0x11),
};

/// The cable and the speaker.
pub struct Scene {
    /// Both ends.
    pub pair: Pair,
    speaker: UdpSocket,
    sequence: u16,
}

impl Scene {
    /// Both ends know each other's hardware address for good.
    ///
    /// Errors: no root.
    pub fn new() -> Result<Self, Unavailable> {
        let pair = Pair::new(1)?;
        for (side, own, other, theirs) in [
            (&pair.near, "02:00:00:00:00:01", &pair.far, "02:00:00:00:00:02"),
            (&pair.far, "02:00:00:00:00:02", &pair.near, "02:00:00:00:00:01"),
        ] {
            side.ip(&format!("link set {} address {own}", side.interface))?;
            know(side, other.v4, theirs)?;
        }
        // As from a network: checksums are finished when packets arrive, and what leaves is cut into packets first.
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
            sequence: 0,
        })
    }

    /// Sends the next packet. What a full queue does not take is lost, and is missed at the other end.
    pub fn speak(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = [0; SIZE];
        packet[..2].copy_from_slice(&[0x80, 111]);
        packet[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        packet[4..8].copy_from_slice(&(u32::from(self.sequence) * 960).to_be_bytes());
        packet[8..12].copy_from_slice(&STREAM.ssrc.0.to_be_bytes());
        let _ = self.speaker.send(&packet);
    }

    /// Where the switch listens.
    pub fn near(&self) -> SocketAddr {
        SocketAddr::new(self.pair.near.v4.into(), PORT)
    }

    /// A room in which so many get what one says.
    pub fn room(&self, receivers: u32) -> impl Iterator<Item = Update> {
        let (near, far) = (self.near(), self.pair.far.v4);
        let leg = move |port| leg(near, SocketAddr::new(far.into(), port));
        let opening = [
            Update::SetLeg(LegId(0), leg(SPEAKER_PORT)),
            Update::SetStream(STREAM, stream()),
        ];
        let receiver = move |number: u32| {
            [
                Update::SetLeg(LegId(number + 1), leg(FIRST_PORT + number as u16)),
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
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

fn stream() -> Stream {
    Stream {
        kind: MediaKind::Audio,
        formats: vec![StreamFormat {
            payload_type: payload_type(),
            codec: Codec::Opus,
            rtx: None,
        }],
        rtx: None,
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
        mid: None,
        playout_delay: None,
        source: Some(STREAM),
        target: Layer::HIGHEST,
        keeps: None,
        paused: false,
    }
}

fn payload_type() -> PayloadType {
    PayloadType::new(111).expect("below 128")
}
