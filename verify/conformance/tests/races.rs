//! Writes of entries while packets flow, on real threads.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

use backend_udp::{UdpConfig, UdpPlane};
use conformance::device::STARTED_AT;
use conformance::rtp::RtpFields;
use dataplane::{
    Clock, DataPlane, Leg, LegId, Path, Protection, Replica, ReplicaFormat, ReplicaId, Rewriting, Stream, StreamFormat,
    StreamKey, Update,
};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, PayloadType, Ssrc};

const OPUS: PayloadType = PayloadType::new(111).unwrap();
const STREAM: StreamKey = StreamKey {
    leg: LegId(2),
    ssrc: Ssrc(0x11),
};

#[allow(clippy::disallowed_methods, reason = "threads and sockets live in real time")]
fn now() -> Instant {
    Instant::now()
}

fn peer(plane: &UdpPlane) -> (UdpSocket, Path) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has ports");
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .expect("a socket can");
    let path = Path {
        local: plane.local_addr(),
        remote: socket.local_addr().expect("it is bound"),
    };
    (socket, path)
}

fn leg(path: Path) -> Leg {
    Leg {
        paths: vec![path],
        shared: None,
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

fn replica(ssrc: u32, source: Option<StreamKey>) -> Replica {
    Replica {
        leg: LegId(3),
        ssrc: Ssrc(ssrc),
        first_sequence: 0,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: OPUS,
            payload_type: OPUS,
            rtx: None,
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source,
        target: Layer::HIGHEST,
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused: false,
    }
}

/// Sends an audio packet every few microseconds until stopped.
fn talk(socket: &UdpSocket, path: Path, sequence: &AtomicU16, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let fields = RtpFields {
            ssrc: Some(STREAM.ssrc.0),
            payload_type: Some(OPUS.get()),
            sequence: Some(sequence.fetch_add(1, Ordering::Relaxed)),
            payload: Some(vec![0x78; 20]),
            ..RtpFields::default()
        };
        socket.send_to(&fields.encode(), path.local).expect("loopback takes it");
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// The receiver's shard has many writes just when its replica begins to follow a stream of the
/// other shard, whose packets arrive all the time: none of them may end the forwarding.
#[test]
fn a_replica_that_follows_while_packets_flow_is_not_forgotten() {
    let config = UdpConfig {
        addresses: vec!["127.0.0.1:0".parse().expect("an address")],
        workers: 2,
        ..UdpConfig::default()
    };
    let start = now();
    let clock = Clock {
        origin: start,
        ntp: STARTED_AT,
    };
    let mut plane = UdpPlane::start(config, clock, Arc::new(|| {})).expect("loopback works");
    let (talker, talker_path) = peer(&plane);
    let (listener, listener_path) = peer(&plane);
    let stream = Stream {
        kind: MediaKind::Audio,
        formats: vec![StreamFormat {
            payload_type: OPUS,
            codec: Codec::Opus,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    };
    // Legs live on shards by their number: two on one, three on the other.
    let entries = [
        Update::SetLeg(LegId(2), leg(talker_path)),
        Update::SetLeg(LegId(3), leg(listener_path)),
        Update::SetStream(STREAM, stream),
        Update::SetReplica(ReplicaId(1), replica(1, None)),
    ];
    entries
        .into_iter()
        .for_each(|entry| plane.write(start, entry).expect("it is in order"));

    let (sequence, stop) = (AtomicU16::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| talk(&talker, talker_path, &sequence, &stop));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..60_u32 {
                let id = ReplicaId(100 + round);
                for _ in 0..1_500 {
                    plane
                        .write(start, Update::SetReplica(ReplicaId(1), replica(1, None)))
                        .expect("it is in order");
                }
                let follows = replica(1_000 + round, Some(STREAM));
                plane
                    .write(start, Update::SetReplica(id, follows))
                    .expect("it is in order");
                assert!(
                    hears(&listener, 1_000 + round),
                    "round {round}: the replica was forgotten"
                );
                plane.write(start, Update::RemoveReplica(id)).expect("it is there");
                while plane.poll().is_some() {}
            }
        }));
        stop.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Whether a packet with this SSRC arrives within ten seconds.
fn hears(listener: &UdpSocket, ssrc: u32) -> bool {
    let deadline = now() + Duration::from_secs(10);
    let mut buffer = [0; 2_048];
    while now() < deadline {
        if let Ok(len) = listener.recv(&mut buffer)
            && RtpFields::of(&buffer[..len]).is_some_and(|fields| fields.ssrc == Some(ssrc))
        {
            return true;
        }
    }
    false
}
