//! A cable: the SFU at its near end; the sender and the viewers, each with an address, at its far
//! end.

use std::error::Error;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

use dataplane::{
    Leg, LegId, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting, Stream, StreamFormat, StreamKey, Update,
};
use harness::{Stamp, clock};
use veth::{Pair, Side};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, PayloadType, Ssrc};

use crate::plan::SIZE;

/// Our port, the sender's, and that of each viewer.
const PORT: u16 = 7_000;
const SENDER_PORT: u16 = 6_000;
const VIEWER_PORT: u16 = 5_000;

/// Headers of Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

/// The address of the first viewer; the others have those after it.
pub(crate) const FIRST_VIEWER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 10);
/// The viewers that have addresses.
pub(crate) const VIEWERS_MAX: u32 = 200;

/// Ethernet addresses of the two ends.
pub(crate) const NEAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const FAR_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

pub(crate) const PAYLOAD_TYPE: u8 = 111;
pub(crate) const SSRC: u32 = 0x11;

/// A copy of a stream has this SSRC plus the viewer's number.
pub(crate) const COPY_SSRC: u32 = 0x1000;

const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(SSRC),
};

/// The cable and the sender.
pub(crate) struct Scene {
    /// Both ends.
    pub pair: Pair,
    sender: UdpSocket,
    /// Never read: what is too much for its buffer is dropped, at little cost.
    _viewers: UdpSocket,
    packets: u16,
    bursts: u32,
}

impl Scene {
    /// For so many viewers. The near end has an address unless the SFU is a switch, which takes
    /// frames; without an address the kernel there drops them.
    ///
    /// Errors: no root.
    pub(crate) fn new(viewers: u32, is_switch: bool) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let pair = Pair::new(1).map_err(|error| error.to_string())?;
        set_up(&pair, viewers, is_switch).map_err(|error| error.to_string())?;
        let near = SocketAddr::new(pair.near.v4.into(), PORT);
        let far = pair.far.v4;
        let (sender, viewers) = pair.far.run(|| {
            let sender = UdpSocket::bind((far, SENDER_PORT))?;
            sender.connect(near)?;
            Ok::<_, io::Error>((sender, UdpSocket::bind((Ipv4Addr::UNSPECIFIED, VIEWER_PORT))?))
        })?;
        Ok(Scene {
            pair,
            sender,
            _viewers: viewers,
            packets: 0,
            bursts: 0,
        })
    }

    /// Sends a burst at a constant rate; returns the source in its stamps. A packet that a full
    /// queue refuses is lost before it reaches the SFU.
    pub(crate) fn burst(&mut self, kbps: u32, packets: u32) -> u32 {
        self.bursts += 1;
        let interval = Duration::from_secs_f64((SIZE * 8) as f64 / (f64::from(kbps) * 1e3));
        let start = clock::now();
        for number in 0..packets {
            let due = interval * number;
            let now = start.elapsed();
            if now < due {
                sleep(due - now);
            }
            self.send(number);
        }
        self.bursts
    }

    fn send(&mut self, number: u32) {
        self.packets = self.packets.wrapping_add(1);
        let mut packet = [0; SIZE - HEADERS];
        packet[..2].copy_from_slice(&[0x80, PAYLOAD_TYPE]);
        packet[2..4].copy_from_slice(&self.packets.to_be_bytes());
        packet[4..8].copy_from_slice(&(u32::from(self.packets) * 960).to_be_bytes());
        packet[8..12].copy_from_slice(&SSRC.to_be_bytes());
        let stamp = Stamp {
            source: self.bursts,
            number: number.into(),
            sent_ns: clock::wall_ns(),
        };
        stamp.write(&mut packet[12..]);
        let _ = self.sender.send(&packet);
    }

    /// Packets that have left the SFU's interface.
    pub(crate) fn left(&self) -> io::Result<u64> {
        let text = self.pair.near.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let prefix = format!("{}:", self.pair.near.interface);
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&prefix));
        // Eight columns of what arrives precede bytes and packets that leave (proc_pid_net(5)).
        let packets = line.and_then(|line| line.split_whitespace().nth(9)?.parse().ok());
        packets.ok_or_else(|| io::Error::other("the interface has no counters"))
    }

    /// The sender's address.
    pub(crate) fn sender(&self) -> SocketAddr {
        SocketAddr::new(self.pair.far.v4.into(), SENDER_PORT)
    }

    /// The address of the SFU.
    pub(crate) fn near(&self) -> SocketAddr {
        SocketAddr::new(self.pair.near.v4.into(), PORT)
    }

    /// A room with so many viewers of one sender.
    pub(crate) fn room(&self, viewers: u32) -> impl Iterator<Item = Update> {
        let (near, sender) = (self.near(), self.sender());
        let opening = [
            Update::SetLeg(LegId(0), leg(near, sender)),
            Update::SetStream(STREAM, stream()),
        ];
        let viewer = move |number: u32| {
            [
                Update::SetLeg(LegId(number + 1), leg(near, viewer(number))),
                Update::SetReplica(ReplicaId(number), replica(number)),
            ]
        };
        opening.into_iter().chain((0..viewers).flat_map(viewer))
    }
}

/// The address of a viewer, from 0.
pub(crate) fn viewer(number: u32) -> SocketAddr {
    let address = Ipv4Addr::from(u32::from(FIRST_VIEWER) + number);
    SocketAddr::new(address.into(), VIEWER_PORT)
}

fn set_up(pair: &Pair, viewers: u32, is_switch: bool) -> Result<(), veth::Unavailable> {
    let (near, far) = (&pair.near, &pair.far);
    for (side, mac) in [(near, NEAR_MAC), (far, FAR_MAC)] {
        // Neighbours and routers of the other family would be asked after during measurements.
        side.command("sysctl", "-q -w net.ipv6.conf.all.disable_ipv6=1")?;
        side.ip(&format!("link set {} address {}", side.interface, shown(mac)))?;
        // BMv2 loses longer bursts otherwise. Checksums are complete and packets whole, as from a
        // network.
        let offloads = "tx off gro off gso off tso off tx-udp-segmentation off";
        side.command("ethtool", &format!("-K {} {offloads}", side.interface))?;
    }
    know(far, near.v4, NEAR_MAC)?;
    for number in 0..viewers {
        far.ip(&format!("address add {}/24 dev {}", viewer(number).ip(), far.interface))?;
    }
    if is_switch {
        return near.ip(&format!("address flush dev {}", near.interface));
    }
    know(near, far.v4, FAR_MAC)?;
    (0..viewers).try_for_each(|number| know(near, viewer(number).ip(), FAR_MAC))
}

fn know(side: &Side, address: impl std::fmt::Display, mac: [u8; 6]) -> Result<(), veth::Unavailable> {
    side.ip(&format!(
        "neighbour replace {address} lladdr {} dev {} nud permanent",
        shown(mac),
        side.interface
    ))
}

fn shown(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
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

fn stream() -> Stream {
    Stream {
        kind: MediaKind::Audio,
        formats: vec![StreamFormat {
            payload_type: payload_type(),
            codec: Codec::Opus,
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
        ssrc: Ssrc(COPY_SSRC + number),
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
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    }
}

fn payload_type() -> PayloadType {
    PayloadType::new(PAYLOAD_TYPE).expect("below 128")
}
