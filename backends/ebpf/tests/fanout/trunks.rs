//! Trunks in clear between two nodes, each an agent over sockets and the kernel, at the ends of a
//! cable.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use agent::{Agent, Certificate, Config};
use backend_ebpf::{Fanout, FanoutConfig};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, Counter, Counters, DataPlane, ReplicaOffload};
use layered::ReplicaLayer;
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use southbound::{
    Command, Encoding, Notice, OpenDirect, PayloadFormat, Publication, Subscription, SubscriptionId,
    SubscriptionSettings, TrackId, TrackSource, TransportId,
};
use veth::{Side, pair_or_skip};
use wire::{Codec, ExtensionKind, ExtensionMap, MediaKind, NtpTime, PayloadType, RtpPacket, Ssrc};

use crate::cable::{PATIENCE, STREAM, drain, packet, socket};

const TRACK: TrackId = TrackId(1);
/// The track on the trunk, and at its listener.
const ON_TRUNK: Ssrc = Ssrc(0x5000);
const AT_LISTENER: Ssrc = Ssrc(0x6000);
/// Packets that are sent once all copies are the kernel's.
const PACKETS: u16 = 200;

/// Ends the nodes, also where a test has failed.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The counters of a node at its end.
struct Counted {
    sockets: Counters,
    kernel: Counters,
    faults: Vec<String>,
}

fn node(end: &Side, at: SocketAddr, commands: Vec<Command>, is_over: &AtomicBool) -> Counted {
    end.run(|| {
        let clock = Clock {
            origin: Instant::now(),
            ntp: NtpTime(1 << 40),
        };
        let config = UdpConfig {
            addresses: vec![at],
            workers: 1,
            ..UdpConfig::default()
        };
        let this = thread::current();
        let base = UdpPlane::start(config, clock, Arc::new(move || this.unpark())).expect("nobody has it");
        let config = FanoutConfig {
            interfaces: vec![end.interface.to_owned()],
            ..FanoutConfig::default()
        };
        let kernel = Fanout::start(&config, clock.origin).unwrap_or_else(|error| panic!("{error}"));
        let mut plane = ReplicaLayer::new(base, kernel);
        let config = Config {
            clear_trunks: true,
            ..Config::new(vec![at], Certificate::generate().expect("a certificate"))
        };
        let mut agent = Agent::new(config, clock, 1);
        let (mut notices, mut faults) = (Vec::new(), Vec::new());
        for command in commands {
            agent.command(Instant::now(), command, &mut plane, &mut notices);
        }
        while !is_over.load(Ordering::Relaxed) {
            while let Some(event) = plane.poll() {
                agent.event(Instant::now(), event, &mut plane, &mut notices);
            }
            agent.handle_timeout(Instant::now(), &mut plane, &mut notices);
            faults.extend(notices.drain(..).filter_map(|notice| match notice {
                Notice::Refused { why, .. } => Some(why),
                _ => None,
            }));
            thread::park_timeout(Duration::from_millis(4));
        }
        let both = plane.counters();
        Counted {
            kernel: plane.offload_mut().counters(),
            sockets: both,
            faults,
        }
    })
}

fn open(transport: u64, local: SocketAddr, remote: SocketAddr) -> Command {
    let mut extensions = ExtensionMap::default();
    extensions.insert(ExtensionKind::TransportSequence, 4).unwrap();
    Command::OpenDirect(Box::new(OpenDirect {
        transport: TransportId(transport),
        local,
        remote,
        rtcp_ssrc_in: Ssrc(1),
        rtcp_ssrc_out: Ssrc(1),
        keys: None,
        extensions_in: extensions,
        extensions_out: extensions,
    }))
}

fn opus(payload_type: u8) -> PayloadFormat {
    PayloadFormat {
        payload_type: PayloadType::new(payload_type).unwrap(),
        codec: Codec::Opus,
        rtx: None,
        nack: true,
    }
}

fn publish(transport: u64, ssrc: Ssrc) -> Command {
    Command::Publish(Publication {
        track: TRACK,
        transport: TransportId(transport),
        kind: MediaKind::Audio,
        mid: None,
        formats: vec![opus(111)],
        encodings: vec![Encoding {
            rid: None,
            ssrc: Some(ssrc),
            rtx: None,
            width: 0,
            height: 0,
            layers: Vec::new(),
        }],
        muted: false,
        source: TrackSource::Camera,
    })
}

fn subscribe(transport: u64, ssrc: Ssrc) -> Command {
    Command::Subscribe(Subscription {
        subscription: SubscriptionId(u64::from(ssrc.0)),
        transport: TransportId(transport),
        track: TRACK,
        ssrc,
        rtx: None,
        mid: None,
        formats: vec![(PayloadType::new(111).unwrap(), opus(111))],
        settings: SubscriptionSettings::BEST,
        fill: false,
    })
}

fn start<'s>(
    scope: &'s Scope<'s, '_>,
    (end, at): (&'s Side, SocketAddr),
    commands: Vec<Command>,
    is_over: &'s AtomicBool,
) -> ScopedJoinHandle<'s, Counted> {
    scope.spawn(move || node(end, at, commands, is_over))
}

/// The next packet of media: its SSRC, and the length of what is in it.
fn hear(listener: &UdpSocket) -> Option<(Ssrc, usize)> {
    let mut buffer = [0; 2_000];
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let len = listener.recv(&mut buffer).ok()?;
        // Reports come from packet type 192 on (RFC 5761 section 4).
        if !(192..224).contains(&buffer[1]) {
            let packet = RtpPacket::parse(&buffer[..len]).ok()?;
            return Some((packet.ssrc(), packet.payload().len()));
        }
    }
    None
}

/// Speaks until the listener hears a packet of its own.
fn meet(speaker: &UdpSocket, near: SocketAddr, listener: &UdpSocket) -> u16 {
    let (begun, mut said) = (Instant::now(), 0);
    listener.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    loop {
        said += 1;
        speaker.send_to(&packet(said, 200), near).unwrap();
        sleep(Duration::from_millis(5));
        // Some seconds more: replicas come to the kernel, which learns its neighbours.
        if hear(listener).is_some() && begun.elapsed() > PATIENCE {
            return said;
        }
        if begun.elapsed() > 4 * PATIENCE {
            return said;
        }
    }
}

#[test]
fn the_kernels_of_two_nodes_copy_what_goes_over_a_trunk_in_clear() {
    let Some(pair) = pair_or_skip(1) else { return };
    let (near, far) = (
        SocketAddr::from((pair.near.v4, 7000)),
        SocketAddr::from((pair.far.v4, 7000)),
    );
    let speaker = socket(&pair, pair.far.v4.into());
    let stranger = socket(&pair, pair.far.v4.into());
    let listener = pair
        .near
        .run(|| UdpSocket::bind((pair.near.v4, 0)).expect("there are ports"));
    // A reader that waits for a processor misses no packet meanwhile.
    setsockopt(&listener, RcvBufForce, &(4 << 20)).unwrap();
    let at_near = vec![
        open(1, near, speaker.local_addr().unwrap()),
        publish(1, STREAM.ssrc),
        open(2, near, far),
        subscribe(2, ON_TRUNK),
    ];
    let at_far = vec![
        open(1, far, near),
        publish(1, ON_TRUNK),
        open(2, far, listener.local_addr().unwrap()),
        subscribe(2, AT_LISTENER),
    ];
    let is_over = AtomicBool::new(false);
    let (near_counted, far_counted, heard) = thread::scope(|scope| {
        let nodes = [
            start(scope, (&pair.near, near), at_near, &is_over),
            start(scope, (&pair.far, far), at_far, &is_over),
        ];
        let end = End(&is_over);
        let said = meet(&speaker, near, &listener);
        drain(&listener);
        listener.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut heard = Vec::new();
        for number in said + 1..=said + PACKETS {
            // Somebody else knows the SSRC, and not the address.
            stranger.send_to(&packet(number, 300), near).unwrap();
            speaker.send_to(&packet(number, 200), near).unwrap();
            sleep(Duration::from_millis(1));
        }
        while heard.len() < usize::from(PACKETS)
            && let Some(one) = hear(&listener)
        {
            heard.push(one);
        }
        drop(end);
        let [near, far] = nodes.map(|node| node.join().unwrap());
        (near, far, heard)
    });
    for counted in [&near_counted, &far_counted] {
        assert_eq!(counted.faults, Vec::<String>::new());
        let copied = counted.kernel[Counter::Forwarded];
        assert!(
            copied >= u64::from(PACKETS),
            "{copied} copies of {PACKETS} are the kernel's"
        );
    }
    assert_eq!(heard.len(), usize::from(PACKETS), "each packet once");
    assert!(heard.iter().all(|one| *one == (AT_LISTENER, 188)), "{heard:?}");
    assert!(
        near_counted.sockets[Counter::UnknownSource] >= u64::from(PACKETS),
        "strangers are counted"
    );
}
