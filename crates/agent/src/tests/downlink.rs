//! A camera in three sizes, and a receiver behind a narrow link: the packets sent, arrived and
//! reported.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use virtual_device::Link;
use wire::RtpPacket;

use super::world::*;

const STEP: u64 = 5;
const PACKET_MAX: usize = 1_100;

/// One simulcast camera: encodings of 150, 500 and 1,500 kbit/s, 30 frames a second.
pub(super) struct Camera {
    pub(super) peer: usize,
    ssrc: u32,
    next: Option<Instant>,
    frames: u64,
    sequences: [u16; 3],
    asked: usize,
    /// Every second frame is in a layer that can be left out.
    pub(super) layered: bool,
    /// Its sizes are layers of one VP9 stream, built on one another in key frames only.
    pub(super) in_one_stream: bool,
    /// Which encodings it sends.
    pub(super) sends: [bool; 3],
}

pub(super) const RIDS: [&str; 3] = ["q", "h", "f"];
pub(super) const RATES: [u64; 3] = [150_000, 500_000, 1_500_000];

impl Camera {
    pub(super) fn new(peer: usize, ssrc: u32) -> Self {
        Camera {
            peer,
            ssrc,
            next: None,
            frames: 0,
            sequences: [0; 3],
            asked: 0,
            layered: false,
            in_one_stream: false,
            sends: [true; 3],
        }
    }

    /// Sends the next frame of each encoding, a key frame where one was asked for.
    fn frame(&mut self, world: &mut World) {
        let mut key = [self.frames == 0; 3];
        let heard = &world.peers[self.peer].rtcp;
        let asked = &heard[self.asked.min(heard.len())..];
        self.asked = heard.len();
        for (_, compound) in asked {
            for packet in wire::rtcp::RtcpPacket::compound(compound).flatten() {
                if let wire::rtcp::RtcpPacket::Pli(pli) = packet {
                    key[(pli.media.0 - self.ssrc) as usize] = true;
                }
            }
        }
        self.frames += 1;
        if self.in_one_stream {
            key = [key[0]; 3];
        }
        let sends = self.sends;
        for encoding in (0..3).filter(|encoding| sends[*encoding]) {
            let factor = if key[encoding] { 4 } else { 1 };
            let size = factor * RATES[encoding] as usize / 8 / 30;
            self.packets(world, encoding, size, key[encoding]);
        }
    }

    /// How a packet's payload begins.
    fn descriptor(&self, encoding: usize, key: bool, starts: bool, ends: bool) -> Vec<u8> {
        if self.in_one_stream {
            return size_descriptor(encoding as u8, key, starts, ends);
        }
        if !self.layered {
            let mut payload = if key { KEY.to_vec() } else { DELTA.to_vec() };
            payload[0] = if starts { payload[0] } else { 0 };
            return payload;
        }
        let layer = if self.frames % 2 == 1 || key { 0 } else { 1 };
        // Extended, with a layer of which every frame may be the first.
        vec![
            0x80 | u8::from(starts) << 4,
            0x20,
            layer << 6 | 0x20,
            u8::from(!key),
            0,
            0,
        ]
    }

    fn packets(&mut self, world: &mut World, encoding: usize, size: usize, key: bool) {
        let packets = size.div_ceil(PACKET_MAX);
        let (stream, payload_type) = match self.in_one_stream {
            true => (0, VP9),
            false => (encoding, VP8),
        };
        for packet in 0..packets {
            let ends = packet + 1 == packets;
            let mut payload = self.descriptor(encoding, key, packet == 0, ends);
            payload.resize(size / packets, 0);
            self.sequences[stream] += 1;
            let template = video(self.ssrc + stream as u32, self.sequences[stream], &payload);
            let mut bytes = Packet {
                payload_type,
                rid: RIDS[stream],
                timestamp: self.frames as u32 * 3_000,
                ..template
            }
            .bytes();
            let ends_picture = ends && (encoding == 2 || !self.in_one_stream);
            bytes[1] |= if ends_picture { 0x80 } else { 0 };
            world.deliver(world.peers[self.peer].path, bytes);
        }
    }
}

/// How a packet of one of three sizes begins (RFC 9628 section 4.2).
fn size_descriptor(size: u8, key: bool, starts: bool, ends: bool) -> Vec<u8> {
    let unneeded_above = !key || size == 2;
    let first = 0x20 | u8::from(!key) << 6 | u8::from(starts) << 3 | u8::from(ends) << 2 | u8::from(unneeded_above);
    vec![first, size << 1 | u8::from(key && size > 0), 0]
}

/// The link to one receiver.
pub(super) struct Downlink {
    pub(super) peer: usize,
    pub(super) link: Link,
    /// Whether it reports at all.
    pub(super) reports: bool,
    /// Bytes sent to it with each SSRC since the last call. Shape: bytes.
    pub(super) sent: BTreeMap<u32, u64>,
    /// The numbers of the packets with each SSRC, in the order they were sent in.
    pub(super) numbers: BTreeMap<u32, Vec<u16>>,
}

impl Downlink {
    pub(super) fn new(world: &World, peer: usize, rate: u64) -> Self {
        Downlink {
            peer,
            link: Link::new(rate, 4, world.now),
            reports: true,
            sent: BTreeMap::new(),
            numbers: BTreeMap::new(),
        }
    }

    fn step(&mut self, world: &mut World) {
        let peer = &mut world.peers[self.peer];
        let times = std::mem::take(&mut peer.rtp_at);
        for (bytes, left) in std::mem::take(&mut peer.rtp).into_iter().zip(times) {
            let packet = RtpPacket::parse(&bytes).expect("we send correct RTP");
            *self.sent.entry(packet.ssrc().0).or_default() += bytes.len() as u64;
            self.numbers
                .entry(packet.ssrc().0)
                .or_default()
                .push(packet.sequence().0);
            self.link.take(left, packet, bytes.len());
        }
        let mut reports = Vec::new();
        if self.reports {
            self.link.report(world.now, &mut reports);
        }
        for report in reports {
            world.deliver(world.peers[self.peer].path, report);
        }
    }

    /// Bit rate sent since the last call. Shape: bits per second.
    pub(super) fn take_rate(&mut self, over: Duration) -> u64 {
        let bytes: u64 = std::mem::take(&mut self.sent).values().sum();
        (bytes as f64 * 8.0 / over.as_secs_f64()) as u64
    }
}

/// Lets time pass with everybody sending and reporting.
pub(super) fn play(world: &mut World, cameras: &mut [Camera], downlinks: &mut [Downlink], millis: u64) {
    let mut downlinks: Vec<&mut Downlink> = downlinks.iter_mut().collect();
    play_each(world, cameras, &mut downlinks, millis);
}

/// The same.
pub(super) fn play_each(world: &mut World, cameras: &mut [Camera], downlinks: &mut [&mut Downlink], millis: u64) {
    let end = world.now + Duration::from_millis(millis);
    while world.now < end {
        for camera in cameras.iter_mut() {
            let next = *camera.next.get_or_insert(world.now);
            if next <= world.now {
                camera.next = Some(next + Duration::from_micros(33_333));
                camera.frame(world);
            }
        }
        for downlink in downlinks.iter_mut() {
            downlink.step(world);
        }
        if (world.now - world.start).as_millis() as u64 % 2_000 < STEP {
            for peer in 0..world.peers.len() {
                world.check(peer, false);
            }
        }
        world.advance(STEP);
    }
}
