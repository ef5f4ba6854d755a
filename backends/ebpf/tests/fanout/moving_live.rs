//! Replicas that go from sockets on threads to the kernel and back while packets arrive over a
//! cable.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use backend_ebpf::{Fanout, FanoutConfig};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane, LegId, Protection, Replica, ReplicaId, Update};
use layered::ReplicaLayer;
use wire::extension::{PlayoutDelay, parse_transport_sequence};
use wire::{ExtensionKind, ExtensionMap, NtpTime, RtpPacket};

use crate::cable::{PATIENCE, STREAM, leg, packet, replica, socket, stream, with_families};

const LISTENERS: u32 = 3;
/// How long somebody speaks, and how often.
const LASTS: Duration = Duration::from_secs(4);
const EVERY: Duration = Duration::from_millis(2);
/// How often somebody moves.
const MOVES: Duration = Duration::from_millis(40);

const DELAY: u8 = 3;
const NUMBER: u8 = 5;

/// Says what it is to say until it is over, and how much that was.
fn speak(speaker: &UdpSocket, to: SocketAddr) -> u32 {
    let (mut said, begun) = (0, Instant::now());
    while begun.elapsed() < LASTS {
        speaker.send_to(&packet(said as u16, 200), to).unwrap();
        said += 1;
        std::thread::sleep((EVERY * said).saturating_sub(begun.elapsed()));
    }
    said
}

/// The packets that one listener received.
#[derive(Default)]
struct Heard {
    packets: u32,
    numbers: BTreeSet<u16>,
    /// Packets that came behind a later one: two processors' frames to one receiver.
    late: u32,
    transport: Vec<u16>,
}

/// Listens until it is silent.
///
/// Panics where a number comes twice, or is not the one that packet should have.
fn listen(listener: &UdpSocket) -> Heard {
    let (mut heard, mut buffer) = (Heard::default(), [0; 2_000]);
    while let Ok(len) = listener.recv(&mut buffer) {
        let packet = RtpPacket::parse(&buffer[..len]).expect("it can be read");
        let (number, timestamp) = (packet.sequence().0, packet.timestamp().0);
        heard.late += u32::from(heard.numbers.last().is_some_and(|last| *last > number));
        assert!(heard.numbers.insert(number), "{number} comes twice");
        // From the first number on: one for each packet, and timestamps as they come.
        assert_eq!(timestamp / 960, u32::from(number - 100), "number {number}");
        heard
            .transport
            .extend(packet.extension(NUMBER).and_then(parse_transport_sequence));
        heard.packets += 1;
    }
    heard
}

impl Heard {
    /// How many numbers nothing came under, between others.
    fn missing(&self) -> u32 {
        let span = self
            .numbers
            .last()
            .zip(self.numbers.first())
            .map_or(0, |(last, first)| last - first + 1);
        u32::from(span) - self.packets
    }
}

fn entry(number: u32, is_out: bool) -> Update {
    let delay = PlayoutDelay::at_least(Duration::from_millis(100));
    let playout_delay = is_out.then_some(delay);
    Update::SetReplica(
        ReplicaId(number),
        Replica {
            playout_delay,
            ..replica(number)
        },
    )
}

#[test]
fn a_listener_whose_replica_moves_hears_one_stream() {
    with_families(|pair, like| {
        let near = SocketAddr::new(pair.near.address(like), 7000);
        let speaker = socket(pair, like);
        let listeners: Vec<UdpSocket> = (0..LISTENERS).map(|_| socket(pair, like)).collect();
        listeners
            .iter()
            .for_each(|listener| listener.set_read_timeout(Some(PATIENCE / 3)).unwrap());
        let (said, heard, came) = pair.near.run(|| {
            let (rang, ringing) = mpsc::channel();
            let waker = Arc::new(move || {
                let _ = rang.send(());
            });
            let start = Instant::now();
            let clock = Clock {
                origin: start,
                ntp: NtpTime(1 << 40),
            };
            let config = UdpConfig {
                addresses: vec![near],
                workers: 1,
                ..UdpConfig::default()
            };
            let base = UdpPlane::start(config, clock, waker).expect("nobody has it");
            let config = FanoutConfig {
                interfaces: vec![pair.near.interface.to_owned()],
                ..FanoutConfig::default()
            };
            let fanout = Fanout::start(&config, start).unwrap_or_else(|error| panic!("{error}"));
            let mut plane = ReplicaLayer::new(base, fanout);
            let write = |plane: &mut ReplicaLayer<_, _>, update| {
                plane.write(Instant::now(), update).expect("it can be written")
            };
            write(
                &mut plane,
                Update::SetLeg(LegId(0), leg(near, speaker.local_addr().unwrap(), Protection::Clear)),
            );
            write(&mut plane, Update::SetStream(STREAM, stream()));
            for (number, listener) in (1..).zip(&listeners) {
                let mut to = leg(near, listener.local_addr().unwrap(), Protection::Clear);
                let mut extensions = ExtensionMap::default();
                extensions.insert(ExtensionKind::PlayoutDelay, DELAY).unwrap();
                extensions.insert(ExtensionKind::TransportSequence, NUMBER).unwrap();
                to.extensions_out = extensions;
                write(&mut plane, Update::SetLeg(LegId(number), to));
                // The base has them first, so that it counts for their legs.
                write(&mut plane, entry(number, true));
            }
            std::thread::scope(|scope| {
                let speaking = scope.spawn(|| speak(&speaker, near));
                let listening: Vec<_> = listeners
                    .iter()
                    .map(|listener| scope.spawn(|| listen(listener)))
                    .collect();
                let (mut out, mut moves_at) = (true, start + Duration::from_millis(200));
                while !speaking.is_finished() {
                    let _ = ringing.recv_timeout(Duration::from_millis(5));
                    while plane.poll().is_some() {}
                    if Instant::now() > moves_at {
                        moves_at += MOVES;
                        out = !out;
                        (1..=LISTENERS).for_each(|number| write(&mut plane, entry(number, out)));
                    }
                }
                let said = speaking.join().unwrap();
                let heard: Vec<Heard> = listening.into_iter().map(|one| one.join().unwrap()).collect();
                (said, heard, plane.offload().taken_over())
            })
        });
        for heard in &heard {
            let numbers: BTreeSet<u16> = heard.transport.iter().copied().collect();
            println!(
                "{like}: of {said} packets {} were heard, {} are missing, {} came late; {} with transport-wide numbers; {came} replicas came to the kernel",
                heard.packets,
                heard.missing(),
                heard.late,
                heard.transport.len()
            );
            assert_eq!(numbers.len(), heard.transport.len(), "a transport-wide number twice");
            assert!(heard.missing() * 50 < said, "{} of {said} are missing", heard.missing());
            assert!(!heard.transport.is_empty());
        }
        assert!(came > 60, "{came}");
    });
}
