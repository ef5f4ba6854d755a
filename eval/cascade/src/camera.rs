//! A camera that publishes VP8 in three encodings of three temporal layers each, and stamps every
//! packet.

use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::net::{self, Inbox};
use harness::{Stamp, clock};
use southbound::DirectKeys;
use wire::rtcp::{RtcpPacket, RtcpWriter, SenderInfo};
use wire::{NtpTime, PacketKind, RtpTimestamp, Ssrc};

use crate::orders::{CAMERA_SSRC, ENCODINGS, NUMBER_EXTENSION, PAYLOAD_TYPE};
use crate::srtp::Protection;

/// Bit rate of each encoding at 30 pictures a second. Shape: bits per second.
pub(crate) const RATES: [u32; ENCODINGS] = [150_000, 500_000, 1_500_000];
/// The rate of pictures to which they belong.
pub(crate) const PICTURES_PER_SECOND: u32 = 30;
/// The temporal layers of pictures, and the size of each layer's relative to the average.
const PATTERN: [u8; 4] = [0, 2, 1, 2];
const SHARES: [f64; 3] = [1.4, 0.82, 0.89];
const KEY_FRAME: f64 = 4.0;
const PACKET_MAX: usize = 1_100;
/// Bytes of the payload descriptor. Source: RFC 7741 section 4.2.
const DESCRIPTOR: usize = 6;
/// Bytes before the stamp: the descriptor, and the byte that tells a key frame.
const BEFORE_STAMP: usize = DESCRIPTOR + 1;
const CLOCK_RATE: u32 = 90_000;
/// Time between two looks at requests.
const LOOK: Duration = Duration::from_millis(4);
const REPORT: Duration = Duration::from_secs(1);
/// Time between two key frames of an encoding, at least.
const KEY_INTERVAL: Duration = Duration::from_millis(500);

/// A picture of one encoding, as it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) encoding: usize,
    pub(crate) sent_ns: u64,
    /// The numbers of its packets.
    pub(crate) numbers: Range<u64>,
    /// Bytes of its datagrams.
    pub(crate) bytes: u64,
}

/// The work of a camera.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) pictures: Vec<Picture>,
    /// Packets that the node asked for again; there should be none.
    pub(crate) asked: u64,
}

/// A camera that sends until it is ended.
pub(crate) struct Camera {
    shared: Arc<Shared>,
    interval: Duration,
    thread: JoinHandle<io::Result<Published>>,
}

impl Camera {
    /// Starts a camera on a socket that is connected to its node.
    pub(crate) fn start(socket: UdpSocket, keys: &DirectKeys, pictures_per_second: u32) -> io::Result<Self> {
        let mut source = Source::new(socket, keys, pictures_per_second);
        let (shared, interval) = (source.shared.clone(), source.interval);
        let thread = thread::Builder::new().name("camera".into()).spawn(move || {
            while !source.shared.stop.load(Ordering::Relaxed) {
                source.turn()?;
            }
            Ok(source.published)
        })?;
        Ok(Camera {
            shared,
            interval,
            thread,
        })
    }

    /// Waits for the middle between two pictures, when none is on its way.
    pub(crate) fn await_gap(&self) {
        let count = || self.shared.pictures.load(Ordering::Acquire);
        let before = count();
        while count() == before && !self.thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(self.interval / 2);
    }

    /// Ends it, and waits for its thread.
    pub(crate) fn end(self) -> io::Result<Published> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the camera has panicked"))?
    }
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Pictures that were sent, in all encodings.
    pictures: AtomicU64,
}

/// Reads the stamp of a packet's payload.
pub(crate) fn stamp(payload: &[u8]) -> Option<Stamp> {
    Stamp::read(payload.get(BEFORE_STAMP..)?)
}

struct Source {
    shared: Arc<Shared>,
    socket: UdpSocket,
    buffers: Inbox,
    protection: Protection,
    published: Published,
    interval: Duration,
    ticks: u32,
    next: Instant,
    report_at: Instant,
    frames: u32,
    /// The last transport-wide number.
    number: u16,
    /// How many packets of each encoding were sent.
    sent: [u64; ENCODINGS],
    octets: [u64; ENCODINGS],
    /// Whether a key frame of each encoding was asked for, and when the last one was sent.
    asked: [bool; ENCODINGS],
    key_sent: [Option<Instant>; ENCODINGS],
}

impl Source {
    fn new(socket: UdpSocket, keys: &DirectKeys, pictures_per_second: u32) -> Self {
        let now = clock::now();
        Source {
            shared: Arc::default(),
            socket,
            buffers: Inbox::default(),
            protection: Protection::new(keys),
            published: Published::default(),
            interval: Duration::from_secs(1) / pictures_per_second,
            ticks: CLOCK_RATE / pictures_per_second,
            next: now,
            report_at: now,
            frames: 0,
            number: 0,
            sent: [0; ENCODINGS],
            octets: [0; ENCODINGS],
            asked: [true; ENCODINGS],
            key_sent: [None; ENCODINGS],
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = clock::now();
        if self.next <= now {
            // A late picture is not made up for.
            self.next = (self.next + self.interval).max(now);
            self.frames += 1;
            (0..ENCODINGS).try_for_each(|encoding| self.send_picture(now, encoding))?;
            self.shared.pictures.fetch_add(1, Ordering::Release);
        }
        if self.report_at <= now {
            self.report_at = now + REPORT;
            (0..ENCODINGS).try_for_each(|encoding| self.report(encoding))?;
        }
        self.listen()?;
        thread::sleep(self.next.saturating_duration_since(clock::now()).min(LOOK));
        Ok(())
    }

    fn send_picture(&mut self, now: Instant, encoding: usize) -> io::Result<()> {
        let is_due = self.key_sent[encoding].is_none_or(|at| at + KEY_INTERVAL <= now);
        let is_key = is_due && std::mem::take(&mut self.asked[encoding]);
        if is_key {
            self.key_sent[encoding] = Some(now);
        }
        let temporal = match is_key {
            true => 0,
            false => PATTERN[self.frames as usize % PATTERN.len()],
        };
        let factor = match is_key {
            true => KEY_FRAME,
            false => SHARES[usize::from(temporal)],
        };
        let size = (f64::from(RATES[encoding] / PICTURES_PER_SECOND / 8) * factor) as usize;
        let count = size.div_ceil(PACKET_MAX);
        let (first, sent_ns) = (self.sent[encoding], clock::wall_ns());
        let mut datagrams = Vec::with_capacity(count);
        for place in 0..count {
            let mut payload = self.descriptor(temporal, place == 0);
            payload.push(u8::from(!is_key));
            payload.resize((size / count).max(BEFORE_STAMP + Stamp::LEN), 0);
            let stamp = Stamp {
                source: encoding as u32,
                number: self.sent[encoding],
                sent_ns,
            };
            stamp.write(&mut payload[BEFORE_STAMP..]);
            datagrams.push(self.packet(encoding, place + 1 == count, &payload));
        }
        let slices: Vec<_> = datagrams.iter().map(|bytes| [IoSlice::new(bytes)]).collect();
        net::send_each(&self.socket, &slices)?;
        self.published.pictures.push(Picture {
            encoding,
            sent_ns,
            numbers: first..self.sent[encoding],
            bytes: datagrams.iter().map(|bytes| bytes.len() as u64).sum(),
        });
        Ok(())
    }

    fn descriptor(&self, temporal: u8, starts: bool) -> Vec<u8> {
        let [high, low] = (0x8000 | (self.frames as u16 & 0x7fff)).to_be_bytes();
        let base = (self.frames / PATTERN.len() as u32) as u8;
        let first = 0x80 | u8::from(starts) << 4;
        vec![first, 0xe0, high, low, base, temporal << 6 | 0x20]
    }

    /// A protected packet with a transport-wide number.
    fn packet(&mut self, encoding: usize, marker: bool, payload: &[u8]) -> Vec<u8> {
        let index = self.sent[encoding];
        self.sent[encoding] += 1;
        self.octets[encoding] += payload.len() as u64;
        self.number = self.number.wrapping_add(1);
        let [high, low] = self.number.to_be_bytes();
        let mut packet = vec![0x90, PAYLOAD_TYPE | u8::from(marker) << 7];
        packet.extend((index as u16).to_be_bytes());
        packet.extend(self.frames.wrapping_mul(self.ticks).to_be_bytes());
        packet.extend((CAMERA_SSRC + encoding as u32).to_be_bytes());
        packet.extend([0xbe, 0xde, 0, 1, NUMBER_EXTENSION << 4 | 1, high, low, 0]);
        packet.extend(payload);
        self.protection.seal_rtp(&mut packet, index);
        packet
    }

    fn report(&mut self, encoding: usize) -> io::Result<()> {
        let info = SenderInfo {
            ntp: NtpTime::from_unix(Duration::from_nanos(clock::wall_ns())),
            rtp: RtpTimestamp(self.frames.wrapping_mul(self.ticks)),
            packets: self.sent[encoding] as u32,
            octets: self.octets[encoding] as u32,
        };
        let mut compound = Vec::new();
        let ssrc = Ssrc(CAMERA_SSRC + encoding as u32);
        RtcpWriter::sender_report(&mut compound, ssrc, "camera", &info, &[]);
        self.protection.seal_rtcp(&mut compound);
        net::send_each(&self.socket, &[[IoSlice::new(&compound)]])?;
        Ok(())
    }

    /// Takes requests for key frames.
    fn listen(&mut self) -> io::Result<()> {
        let Source {
            socket,
            buffers,
            protection,
            published,
            asked,
            ..
        } = self;
        while buffers.read(socket, |datagram| {
            if wire::classify(datagram.bytes) != PacketKind::Rtcp {
                return;
            }
            for packet in protection
                .open_rtcp(datagram.bytes)
                .into_iter()
                .flat_map(RtcpPacket::compound)
            {
                match packet {
                    Ok(RtcpPacket::Pli(pli)) => {
                        let encoding = pli.media.0.wrapping_sub(CAMERA_SSRC) as usize;
                        asked.iter_mut().skip(encoding).take(1).for_each(|asked| *asked = true);
                    }
                    Ok(RtcpPacket::Nack(nack)) => published.asked += nack.sequences().count() as u64,
                    _ => {}
                }
            }
        })? {}
        Ok(())
    }
}
