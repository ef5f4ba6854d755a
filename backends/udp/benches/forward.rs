//! The cost of a replica: nanoseconds for each 1,200-byte packet and each of 100 receivers, from
//! datagram to egress run.
//!
//! `cargo bench -p backend-udp --bench forward`. The floor is one copy and one
//! sealing, which nobody can save.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![allow(unsafe_code, reason = "an option of a socket is set by a system call")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{Run, Shard, Transmit};
use backend_udp::srtp::Sealer;
use dataplane::{Counter, LegId, Path, Protection, ReplicaId, SrtpProfile, Update};
use support::layers::{Layered, layered_leg, layered_replica, layered_stream};
use support::*;
use wire::codec::Layer;

const RECEIVERS: u32 = 100;
const CROWD: u32 = 500;
const PACKET: usize = 1_200;
const PICTURES: u16 = 200;
const PACKETS_PER_PICTURE: u16 = 8;
const RUNS: usize = 7;
const PROFILE: SrtpProfile = SrtpProfile::AeadAes128Gcm;

struct Discard;

impl Transmit for Discard {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        black_box(runs.map(|run| run.bytes.len()).sum::<usize>());
        0
    }
}

fn main() {
    let floor = report("copy and seal (floor)", floor);
    let sealed = report("sealed", || forward(true));
    println!("{:<44} {:>9.2} of the floor", "", sealed / floor);
    report("in clear", || forward(false));
    report("in clear, another encoding each picture", switching);
    for (name, spatial) in [("largest", 2), ("smallest", 0)] {
        let target = Layer { spatial, temporal: 2 };
        report(&format!("in clear, the {name} of three sizes"), || layered(target));
    }
    report("sent and received", sent_and_received);
    let (median, longest) = turns();
    println!(
        "{:<44} {median:>6.0} us, the longest {longest:.0}",
        "a turn, with a key frame to 500 receivers"
    );
}

/// How long audio of another room waits while a key frame of 60 packets is sent to 500 receivers:
/// the turns, in microseconds, without the kernel's part.
fn turns() -> (f64, f64) {
    let mut call = Call::with_receivers(CROWD, |number| srtp(PROFILE, (number % 100) as u8));
    call.write(Update::SetStream(stream_key(0, 1), video()));
    call.follow(1);
    let mut turns = Vec::new();
    for number in 0..RUNS as u16 {
        for part in 0..60 {
            let packet = vp8(1, number * 60 + part, KEY_FRAME, PACKET);
            call.shard.receive(call.now, publisher_path(), &packet);
        }
        while call.shard.has_work() {
            let start = Instant::now();
            call.shard.work(call.now);
            call.shard.flush(&mut Discard);
            turns.push(start.elapsed().as_nanos() as f64 / 1e3);
        }
        while call.control.poll().is_some() {}
    }
    turns.sort_by(f64::total_cmp);
    (turns[turns.len() / 2], turns[turns.len() - 1])
}

/// The time of a case, and how many copies were sent.
type Taken = (Duration, u64);

/// Prints nanoseconds for each packet and each of its receivers, whether it gets the packet or not,
/// and how many do.
fn report(name: &str, run: impl Fn() -> Taken) -> f64 {
    let pairs = u64::from(RECEIVERS) * u64::from(PICTURES) * u64::from(PACKETS_PER_PICTURE);
    let mut copies = 0;
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (taken, sent) = run();
            copies = sent;
            taken.as_nanos() as f64 / pairs as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let median = runs[RUNS / 2];
    println!("{name:<44} {median:>6.0} ns, {:>3} % sent", 100 * copies / pairs);
    median
}

fn floor() -> Taken {
    let mut sealers: Vec<Sealer> = (1..=RECEIVERS)
        .map(|seed| Sealer::new(&key(PROFILE, seed as u8)))
        .collect();
    let packet = vp8(1, 0, KEY_FRAME, PACKET);
    let mut buffer = vec![0; PACKET + 100];
    let start = Instant::now();
    for index in 0..u64::from(PICTURES) * u64::from(PACKETS_PER_PICTURE) {
        for sealer in &mut sealers {
            buffer[..packet.len()].copy_from_slice(black_box(&packet));
            buffer[2..4].copy_from_slice(&(index as u16).to_be_bytes());
            black_box(sealer.seal_rtp(&mut buffer, packet.len(), 12, index));
        }
    }
    let copies = u64::from(RECEIVERS) * u64::from(PICTURES) * u64::from(PACKETS_PER_PICTURE);
    (start.elapsed(), copies)
}

/// The pictures of one receiver over loopback: the packets of each are sent by one call and read by
/// one, as Weir does. The kernel's delivery is included.
fn sent_and_received() -> Taken {
    let (sender, receiver) = (socket(libc::UDP_SEGMENT, PACKET), socket(libc::UDP_GRO, 1));
    let address = receiver.local_addr().expect("a bound socket has an address");
    sender.connect(address).expect("loopback has a route");
    let picture = vec![7; PACKET * usize::from(PACKETS_PER_PICTURE)];
    let mut buffer = vec![0; 1 << 16];
    let start = Instant::now();
    for _ in 0..RECEIVERS * u32::from(PICTURES) {
        sender.send(black_box(&picture)).expect("loopback takes it");
        let mut missing = picture.len();
        while missing > 0 {
            missing -= receiver.recv(&mut buffer).expect("it was sent");
        }
    }
    let copies = u64::from(RECEIVERS) * u64::from(PICTURES) * u64::from(PACKETS_PER_PICTURE);
    (start.elapsed(), copies)
}

/// A socket on loopback with this option of UDP.
fn socket(option: libc::c_int, value: usize) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has ports");
    let value = value as libc::c_int;
    // SAFETY: the pointer is to an integer of this length, which the call only reads.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    assert_eq!(outcome, 0, "the kernel has segments of UDP");
    socket
}

fn forward(sealed: bool) -> Taken {
    let mut call = Call::new(|number| match sealed {
        true => srtp(PROFILE, number as u8),
        false => Protection::Clear,
    });
    call.write(Update::SetStream(stream_key(0, 1), video()));
    call.follow(1);
    call.measure(|call, number| {
        let packets: Vec<Vec<u8>> = (0..PACKETS_PER_PICTURE)
            .map(|part| vp8(1, number * PACKETS_PER_PICTURE + part, KEY_FRAME, PACKET))
            .collect();
        call.receive(&packets)
    })
}

/// Everybody changes over between two encodings with every picture, which is half of each.
fn switching() -> Taken {
    let mut call = Call::new(|_| Protection::Clear);
    for ssrc in [1, 2] {
        call.write(Update::SetStream(stream_key(0, ssrc), video()));
    }
    let half = PACKETS_PER_PICTURE / 2;
    call.measure(|call, number| {
        call.follow(1 + u32::from(number % 2));
        let mut packets = Vec::new();
        for ssrc in [1, 2] {
            packets.extend((0..half).map(|part| vp8(ssrc, number * half + part, KEY_FRAME, PACKET)));
        }
        call.receive(&packets)
    })
}

/// Sizes that build on one another in key frames only: of eight packets one is of the smallest, two
/// of the middle one.
fn layered(target: Layer) -> Taken {
    let mut call = Call::new(|_| Protection::Clear);
    call.write(Update::SetStream(stream_key(0, 1), layered_stream()));
    for number in 1..=RECEIVERS {
        let replica = layered_replica(number, 10, stream_key(0, 1), target);
        call.write(Update::SetReplica(ReplicaId(number), replica));
    }
    let mut camera = Layered::new(1);
    let sizes = [1, 2, PACKETS_PER_PICTURE - 3];
    call.measure(|call, number| call.receive(&camera.picture(number == 0, sizes, PACKET)))
}

/// One publisher, whose packets come in clear, and [`RECEIVERS`].
struct Call {
    control: Control,
    shard: Shard,
    receivers: u32,
    now: Instant,
}

impl Call {
    fn new(protection: impl Fn(u32) -> Protection) -> Self {
        Self::with_receivers(RECEIVERS, protection)
    }

    fn with_receivers(receivers: u32, protection: impl Fn(u32) -> Protection) -> Self {
        let (control, mut shards) = Control::new(clock(), &[Arc::new(Wakeup::silent())], Arc::new(Wakeup::silent()));
        let shard = shards.pop().expect("there is one for each wake-up");
        let mut call = Call {
            control,
            shard,
            receivers,
            now: Instant::now(),
        };
        call.write(Update::SetLeg(
            LegId(0),
            layered_leg(publisher_path(), Protection::Clear),
        ));
        for number in 1..=receivers {
            let path = path("10.0.0.1:7882", &format!("10.1.{}.{}:2", number >> 8, number & 0xff));
            call.write(Update::SetLeg(LegId(number), layered_leg(path, protection(number))));
        }
        call
    }

    fn write(&mut self, update: Update) {
        self.control.write(update).expect("the entries are good");
        self.shard.take_commands(self.now);
    }

    /// Everybody is to get the stream with this SSRC.
    fn follow(&mut self, ssrc: u32) {
        for number in 1..=self.receivers {
            let replica = replica(number, 10, stream_key(0, ssrc));
            self.write(Update::SetReplica(ReplicaId(number), replica));
        }
    }

    /// The time of frames once caches are full.
    fn measure(&mut self, mut picture: impl FnMut(&mut Self, u16) -> Duration) -> Taken {
        (0..100).for_each(|number| _ = picture(self, number));
        let before = self.control.counters()[Counter::Forwarded];
        let taken = (100..100 + PICTURES).map(|number| picture(self, number)).sum();
        (taken, self.control.counters()[Counter::Forwarded] - before)
    }

    /// The time of these packets and of everything that follows from them.
    fn receive(&mut self, packets: &[Vec<u8>]) -> Duration {
        let (shard, now) = (&mut self.shard, self.now);
        let start = Instant::now();
        packets
            .iter()
            .for_each(|packet| shard.receive(now, publisher_path(), packet));
        while shard.has_work() {
            shard.work(now);
            shard.flush(&mut Discard);
        }
        let taken = start.elapsed();
        while self.control.poll().is_some() {}
        taken
    }
}

fn publisher_path() -> Path {
    path("10.0.0.1:7882", "10.0.1.1:1")
}
