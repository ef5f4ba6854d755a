//! The ideal server: runs in a process of its own, so that its cost is counted like a server's.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use backend_udp::srtp::{Sealer, rtp_overhead};
use nix::sys::socket::{SockaddrStorage, setsockopt, sockopt};

use super::sinks::{AUDIO, VIDEO};
use super::{Account, Orders, PROFILE};
use crate::clock;
use crate::measure::process;
use crate::media::{
    AUDIO_INTERVAL, AUDIO_PAYLOAD_LEN, AUDIO_TICKS, DESCRIPTOR_LEN, Fragment, Negotiated, Outbound, Place, VideoPlan,
    VideoSchedule, fragment_sizes, write_audio, write_video,
};
use crate::net;
use crate::peer::Plan;

/// Between the start of the process and its first frame.
pub const LEAD: Duration = Duration::from_millis(300);
/// Replicas sealed before they are handed to the kernel: what stays in the processor's cache.
const QUANTUM: usize = 256;
const SLOT: usize = 1400;

/// Sends as ordered, and says what was sent.
pub fn send(orders: &Orders) -> io::Result<Account> {
    let mut ideal = Ideal::new(orders)?;
    thread::sleep(LEAD);
    let start = clock::now();
    let mut sources: Vec<Source> = orders
        .sources
        .iter()
        .map(|source| Source::new(*source, orders, start))
        .collect();
    let before = process(std::process::id()).unwrap_or_default();
    let end = start + Duration::from_millis(orders.milliseconds);
    while let Some(source) = sources
        .iter_mut()
        .min_by_key(|source| source.due())
        .filter(|source| source.due() < end)
    {
        thread::sleep(source.due().saturating_duration_since(clock::now()));
        let receivers = &ideal.receivers_of[source.stream.source() as usize];
        source.write_due(&mut ideal.template);
        ideal.egress.replicate(&ideal.template, receivers, &mut ideal.sealers)?;
    }
    let after = process(std::process::id()).unwrap_or_default();
    let mut packets = vec![0; ideal.receivers_of.len()];
    sources
        .iter()
        .for_each(|source| packets[source.stream.source() as usize] = source.stream.next_number());
    Ok(Account {
        packets,
        octets: sources.iter().map(|source| source.stream.octets()).sum(),
        late: sources.iter().map(Source::late).sum(),
        cpu_ns: (after.cpu - before.cpu).as_nanos() as u64,
        resident_bytes: after.resident_bytes,
    })
}

struct Ideal {
    template: Template,
    egress: Egress,
    sealers: Vec<Sealer>,
    /// By source: the sinks that hear it.
    receivers_of: Vec<Vec<usize>>,
}

impl Ideal {
    fn new(orders: &Orders) -> io::Result<Self> {
        let sources = orders
            .sources
            .iter()
            .map(|(source, _)| *source as usize + 1)
            .max()
            .unwrap_or(0);
        let mut receivers_of = vec![Vec::new(); sources];
        for (sink, hears) in orders.hears.iter().enumerate() {
            for &source in hears {
                receivers_of[source as usize].push(sink);
            }
        }
        Ok(Self {
            template: Template::default(),
            egress: Egress::new(&orders.ports)?,
            sealers: (0..orders.ports.len()).map(super::sealer).collect(),
            receivers_of,
        })
    }
}

/// The packets of one frame, in clear: what an ideal server would have received.
#[derive(Default)]
struct Template {
    bytes: Vec<u8>,
    packets: Vec<Packet>,
}

#[derive(Clone, Copy)]
struct Packet {
    len: usize,
    header_len: usize,
    index: u64,
}

impl Template {
    fn write(&mut self, stream: &mut Outbound, place: Place, fill: impl FnOnce(&mut [u8], &crate::media::Stamp)) {
        let start = self.packets.len() * SLOT;
        if self.bytes.len() < start + SLOT {
            self.bytes.resize(start + SLOT, 0);
        }
        let written = stream.write(&mut self.bytes[start..start + SLOT], &mut 0, place, fill);
        self.packets.push(Packet {
            len: written.len,
            header_len: written.header_len,
            index: written.index,
        });
    }
}

/// A source of packets, due by its schedule.
struct Source {
    stream: Outbound,
    schedule: Schedule,
}

enum Schedule {
    Video { frames: VideoSchedule, frame_rate: u32 },
    Audio { due: Instant },
}

impl Source {
    fn new((source, phase): (u32, u64), orders: &Orders, start: Instant) -> Self {
        let due = start + Duration::from_micros(phase);
        let (payload_type, schedule) = match orders.video.filter(|_| !Plan::is_audio(source)) {
            Some((bitrate, frame_rate, key_seconds)) => {
                let plan = VideoPlan {
                    bitrate,
                    frame_rate,
                    key_interval: Duration::from_secs(key_seconds),
                };
                (
                    VIDEO,
                    Schedule::Video {
                        frames: VideoSchedule::new(plan, due),
                        frame_rate,
                    },
                )
            }
            None => (AUDIO, Schedule::Audio { due }),
        };
        let negotiated = Negotiated {
            payload_type,
            ..Negotiated::default()
        };
        Self {
            stream: Outbound::new(source, "", negotiated),
            schedule,
        }
    }

    fn due(&self) -> Instant {
        match &self.schedule {
            Schedule::Video { frames, .. } => frames.due(),
            Schedule::Audio { due } => *due,
        }
    }

    fn late(&self) -> u64 {
        match &self.schedule {
            Schedule::Video { frames, .. } => frames.late(),
            Schedule::Audio { .. } => 0,
        }
    }

    fn write_due(&mut self, template: &mut Template) {
        template.packets.clear();
        match &mut self.schedule {
            Schedule::Audio { due } => {
                *due += AUDIO_INTERVAL;
                let timestamp = (self.stream.next_number() as u32).wrapping_mul(AUDIO_TICKS);
                let place = Place {
                    timestamp,
                    marker: false,
                    payload_len: AUDIO_PAYLOAD_LEN,
                    audio_level: Place::SPEECH,
                    ..Place::default()
                };
                template.write(&mut self.stream, place, write_audio);
            }
            Schedule::Video { frames, frame_rate } => {
                let Some(frame) = frames.poll(clock::now()) else {
                    return;
                };
                let sizes = fragment_sizes(frame.len);
                let last = sizes.len() - 1;
                for (index, size) in sizes.enumerate() {
                    let timestamp = (frame.number * 90_000 / u64::from(*frame_rate)) as u32;
                    let place = Place {
                        timestamp,
                        marker: index == last,
                        payload_len: DESCRIPTOR_LEN + size,
                        ..Place::default()
                    };
                    let fragment = Fragment {
                        key_frame: frame.key,
                        first: index == 0,
                        picture_id: frame.number as u16 & 0x7fff,
                        layered: None,
                    };
                    template.write(&mut self.stream, place, |payload, stamp| {
                        write_video(payload, fragment, stamp)
                    });
                }
            }
        }
    }
}

/// Where sealed packets wait for the kernel.
struct Egress {
    socket: UdpSocket,
    addresses: Vec<Option<SockaddrStorage>>,
    bytes: Vec<u8>,
}

impl Egress {
    fn new(ports: &[u16]) -> io::Result<Self> {
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        setsockopt(&socket, sockopt::SndBuf, &(4 << 20))?;
        let address = |&port| Some(SockaddrStorage::from(SocketAddr::from(([127, 0, 0, 1], port))));
        Ok(Self {
            socket,
            addresses: ports.iter().map(address).collect(),
            bytes: Vec::new(),
        })
    }

    /// Copies, seals and sends a frame to its receivers, a quantum at a time.
    fn replicate(&mut self, template: &Template, receivers: &[usize], sealers: &mut [Sealer]) -> io::Result<()> {
        // Packets of one size lie together: they are one run.
        let mut first = 0;
        for packets in template.packets.chunk_by(|a, b| a.len == b.len) {
            let sealed_len = packets[0].len + rtp_overhead(PROFILE);
            let run_len = packets.len() * sealed_len;
            for some in receivers.chunks((QUANTUM / packets.len()).max(1)) {
                self.bytes.resize((some.len() * run_len).max(self.bytes.len()), 0);
                for (run, &sink) in self.bytes.chunks_exact_mut(run_len).zip(some) {
                    for (offset, (slot, packet)) in run.chunks_exact_mut(sealed_len).zip(packets).enumerate() {
                        let start = (first + offset) * SLOT;
                        slot[..packet.len].copy_from_slice(&template.bytes[start..start + packet.len]);
                        sealers[sink].seal_rtp(slot, packet.len, packet.header_len, packet.index);
                    }
                }
                let runs: Vec<[IoSlice<'_>; 1]> = self
                    .bytes
                    .chunks_exact(run_len)
                    .take(some.len())
                    .map(|run| [IoSlice::new(run)])
                    .collect();
                let to: Vec<Option<SockaddrStorage>> = some.iter().map(|&sink| self.addresses[sink]).collect();
                net::send_runs(&self.socket, &runs, &to, sealed_len as u16)?;
            }
            first += packets.len();
        }
        Ok(())
    }
}
