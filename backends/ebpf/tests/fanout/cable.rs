//! Copies over a cable, between sockets.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use backend_ebpf::{Fanout, FanoutConfig};
use dataplane::{
    Counter, Leg, LegId, Path, Protection, Reason, Refused, Replica, ReplicaFormat, ReplicaId, ReplicaOffload,
    Rewriting, Stream, StreamFormat, StreamKey, Update,
};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use skip::skipped;
use veth::{Pair, pair_or_skip};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, PayloadType, Ssrc};

pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(0x11),
};

/// A speaker and listeners at the far end, and our ports.
pub(crate) struct Room<'a> {
    pub fanout: Fanout,
    pub near: SocketAddr,
    pub speaker: UdpSocket,
    pub listeners: Vec<UdpSocket>,
    pair: &'a Pair,
}

impl<'a> Room<'a> {
    pub(crate) fn new(pair: &'a Pair, like: IpAddr, goes_up: bool, listeners: u32) -> Self {
        let config = FanoutConfig {
            interfaces: vec![pair.near.interface.to_owned()],
            goes_up,
            ..FanoutConfig::default()
        };
        let fanout = pair.near.run(|| Fanout::start(&config, Instant::now()));
        Self::with(fanout.unwrap_or_else(|error| panic!("{error}")), pair, like, listeners)
    }

    /// Everybody is known when this returns.
    pub(crate) fn with(fanout: Fanout, pair: &'a Pair, like: IpAddr, listeners: u32) -> Self {
        let mut room = Room {
            fanout,
            pair,
            near: SocketAddr::new(pair.near.address(like), 7000),
            speaker: socket(pair, like),
            listeners: Vec::new(),
        };
        let speaker = room.speaker.local_addr().unwrap();
        room.offer(Update::SetLeg(LegId(0), leg(room.near, speaker, Protection::Clear)));
        room.offer(Update::SetStream(STREAM, stream()));
        for number in 1..=listeners {
            let listener = socket(pair, like);
            let leg = leg(room.near, listener.local_addr().unwrap(), Protection::Clear);
            room.listeners.push(listener);
            room.offer(Update::SetLeg(LegId(number), leg));
            room.offer(Update::SetReplica(ReplicaId(number), replica(number)));
        }
        room.meet();
        room
    }

    pub(crate) fn offer(&mut self, update: Update) {
        let (fanout, now) = (&mut self.fanout, Instant::now());
        // Interfaces are named by numbers, which are a namespace's.
        let answer = self.pair.near.run(|| fanout.offer(now, &update));
        answer.expect("the kernel can do that");
    }

    /// Whether everybody gets each of these packets as it is theirs, from a first one that is
    /// numbered so.
    pub(crate) fn hears(&self, sequences: std::ops::Range<u16>, numbered: u16) {
        for (sequence, number) in sequences.zip(numbered..) {
            self.speak(sequence, 1_200 + usize::from(sequence));
            for (id, listener) in (1..).zip(&self.listeners) {
                let mut buffer = [0; 2_000];
                let (len, from) = listener.recv_from(&mut buffer).expect("it arrives");
                let mut expected = packet(sequence, 1_200 + usize::from(sequence));
                expected[1] = 96;
                expected[2..4].copy_from_slice(&number.to_be_bytes());
                expected[8..12].copy_from_slice(&(0x1000 + id as u32).to_be_bytes());
                assert_eq!((&buffer[..len], from), (&expected[..], self.near));
            }
        }
    }

    /// Waits until the kernel knows whom it sends to.
    fn meet(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.speak(1, 12);
            std::thread::sleep(Duration::from_millis(30));
            while self.fanout.poll().is_some() {}
            self.listeners.iter().for_each(drain);
            let before = self.fanout.counters()[Counter::SendFailed];
            self.speak(2, 12);
            std::thread::sleep(Duration::from_millis(30));
            self.listeners.iter().for_each(drain);
            if self.fanout.counters()[Counter::SendFailed] == before {
                return;
            }
            assert!(Instant::now() < deadline, "nobody is known by the listeners' address");
        }
    }

    /// Forgets what listeners got so far.
    pub(crate) fn drain(&self) {
        self.listeners.iter().for_each(drain);
    }

    pub(crate) fn speak(&self, sequence: u16, len: usize) {
        self.say(&packet(sequence, len));
    }

    pub(crate) fn say(&self, packet: &[u8]) {
        self.speaker.send_to(packet, self.near).unwrap();
    }
}

pub(crate) fn drain(listener: &UdpSocket) {
    listener.set_nonblocking(true).unwrap();
    while listener.recv(&mut [0; 2_000]).is_ok() {}
    listener.set_nonblocking(false).unwrap();
}

pub(crate) fn socket(pair: &Pair, like: IpAddr) -> UdpSocket {
    let address = pair.far.address(like);
    let socket = pair.far.run(|| UdpSocket::bind((address, 0)).expect("there are ports"));
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    // A reader that waits for a processor misses no packet meanwhile.
    setsockopt(&socket, RcvBufForce, &(4 << 20)).unwrap();
    socket
}

pub(crate) fn leg(local: SocketAddr, remote: SocketAddr, protection: Protection) -> Leg {
    Leg {
        paths: vec![Path { local, remote }],
        shared: None,
        protection,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

pub(crate) fn stream() -> Stream {
    Stream {
        kind: MediaKind::Audio,
        formats: vec![StreamFormat {
            payload_type: PayloadType::new(111).unwrap(),
            codec: Codec::Opus,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

pub(crate) fn replica(number: u32) -> Replica {
    Replica {
        leg: LegId(number),
        ssrc: Ssrc(0x1000 + number),
        first_sequence: 100,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: PayloadType::new(111).unwrap(),
            payload_type: PayloadType::new(96).unwrap(),
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

pub(crate) fn packet(sequence: u16, len: usize) -> Vec<u8> {
    let mut packet = vec![0x80, 111];
    packet.extend(sequence.to_be_bytes());
    packet.extend((u32::from(sequence) * 960).to_be_bytes());
    packet.extend(STREAM.ssrc.0.to_be_bytes());
    packet.resize(len.max(13), sequence as u8);
    packet
}

pub(crate) fn with_families(what: impl Fn(&Pair, IpAddr)) {
    let Some(pair) = pair_or_skip(1) else { return };
    for like in [pair.far.v4.into(), pair.far.v6.into()] {
        what(&pair, like);
    }
}

#[test]
fn each_receiver_gets_each_packet_in_its_own_form() {
    with_families(|pair, like| {
        let room = Room::new(pair, like, false, 100);
        room.hears(3..13, 102);
    });
}

/// Copies are clones, all but the last one: that is the packet itself.
#[test]
fn all_copies_have_right_checksums_whoever_completes_them() {
    with_families(|pair, like| {
        // The sender, so that all copies are verified where they arrive; the device they leave by;
        // nobody, on a cable that does not need them.
        for (far, near) in [("off", "on"), ("on", "off"), ("on", "on")] {
            for (side, name, tx) in [(&pair.far, "far0", far), (&pair.near, "near0", near)] {
                if let Err(reason) = side.command("ethtool", &format!("-K {name} tx {tx}")) {
                    skipped("nothing was tested", reason);
                    return;
                }
            }
            for listeners in 1..4 {
                Room::new(pair, like, false, listeners).hears(3..13, 102);
            }
        }
    });
}

#[test]
fn copied_packets_also_go_to_the_base_where_configured() {
    with_families(|pair, like| {
        for goes_up in [false, true] {
            let near = SocketAddr::new(pair.near.address(like), 7000);
            let base = pair.near.run(|| UdpSocket::bind(near).expect("nobody has it"));
            let room = Room::new(pair, like, goes_up, 3);
            drain(&base);
            room.speak(3, 500);
            let mut buffer = [0; 2_000];
            room.listeners
                .iter()
                .for_each(|listener| assert_eq!(listener.recv(&mut buffer).unwrap(), 500));
            base.set_read_timeout(Some(if goes_up { PATIENCE } else { Duration::from_millis(50) }))
                .unwrap();
            match base.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    assert!(goes_up);
                    assert_eq!(from, room.speaker.local_addr().unwrap());
                    assert_eq!(buffer[..len], packet(3, 500));
                }
                Err(_) => assert!(!goes_up),
            }
        }
    });
}

/// The base serves a receiver with encryption, and the others stay in the kernel.
#[test]
fn a_receiver_that_needs_the_base_leaves_others_in_the_kernel() {
    with_families(|pair, like| {
        let near = SocketAddr::new(pair.near.address(like), 7000);
        let base = pair.near.run(|| UdpSocket::bind(near).expect("nobody has it"));
        base.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut room = Room::new(pair, like, false, 2);
        let key = |fill| dataplane::MasterKey::new(dataplane::SrtpProfile::AeadAes128Gcm, &[fill; 16], &[fill; 12]);
        let keys = Protection::Srtp {
            ingress: key(1).unwrap(),
            egress: key(2).unwrap(),
        };
        let other = socket(pair, like).local_addr().unwrap();
        let refused = Err(Refused::Unsupported(Reason::Srtp));
        let now = Instant::now();
        assert_eq!(
            room.fanout
                .offer(now, &Update::SetLeg(LegId(9), leg(near, other, keys))),
            refused
        );
        assert_eq!(
            room.fanout.offer(now, &Update::SetReplica(ReplicaId(9), replica(9))),
            refused
        );
        assert_eq!(
            [1, 2, 9].map(|id| room.fanout.sends(ReplicaId(id))),
            [true, true, false]
        );
        room.speak(3, 500);
        let mut buffer = [0; 2_000];
        room.listeners
            .iter()
            .for_each(|listener| assert_eq!(listener.recv(&mut buffer).unwrap(), 500));
        assert_eq!(base.recv(&mut buffer).expect("it is for the base, too"), 500);
        room.offer(Update::RemoveReplica(ReplicaId(9)));
        room.speak(4, 400);
        room.listeners
            .iter()
            .for_each(|listener| assert_eq!(listener.recv(&mut buffer).unwrap(), 400));
        base.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(base.recv(&mut buffer).is_err(), "nobody there needs it any more");
    });
}

/// Packets that the interface merges cannot be copied, so the offload refuses such an interface.
#[test]
fn an_interface_that_merges_packets_is_refused() {
    let Some(pair) = pair_or_skip(1) else { return };
    let config = FanoutConfig {
        interfaces: vec![pair.near.interface.to_owned()],
        ..FanoutConfig::default()
    };
    for (gro, expected) in [("on", false), ("off", true)] {
        let set = pair.near.command("ethtool", &format!("-K near0 gro {gro}"));
        if let Err(reason) = set {
            skipped("nothing was tested", reason);
            return;
        }
        let started = pair.near.run(|| Fanout::start(&config, Instant::now()).map(drop));
        assert_eq!(started.is_ok(), expected, "gro {gro}: {:?}", started.err());
    }
}

#[test]
fn the_verifier_has_room() {
    with_families(|pair, like| {
        let mut room = Room::new(pair, like, false, 1);
        let complexity = room.fanout.complexity().unwrap();
        println!("{complexity:?}");
        assert!(complexity.verified < 200_000);
    });
}
