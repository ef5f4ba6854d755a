//! The ideal server: runs in a process of its own, so that its cost is counted like a server's.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use backend_udp::srtp::{Sealer, rtp_overhead};
use nix::sys::socket::{SockaddrStorage, setsockopt, sockopt};

use super::source::{Source, Template};
use super::{Account, DISCARD_PORT, Orders, PROFILE};
use crate::clock;
use crate::measure::{Machine, MachineSample, ProcessSample, Processes, process};
use crate::net;

/// Between the start of the process and its first frame.
pub(crate) const LEAD: Duration = Duration::from_millis(300);
/// Replicas sealed before they are handed to the kernel, limited to the size of the processor's
/// cache.
const QUANTUM: usize = 256;

/// The machine at one end of the sending.
struct Sample {
    own: ProcessSample,
    generator: ProcessSample,
    machine: MachineSample,
    others: Processes,
}

impl Sample {
    fn take(generator: u32) -> Self {
        let others = Processes::sample();
        Self {
            own: process(std::process::id()).unwrap_or_default(),
            generator: process(generator).unwrap_or_default(),
            machine: Machine::sample(),
            others,
        }
    }
}

/// Sends as ordered, and returns counts of it.
pub fn send(orders: &Orders) -> io::Result<Account> {
    let mut ideal = Ideal::new(orders)?;
    // Nobody reads this socket: the clients' packets reach it, as a server's, and are dropped
    // there.
    let _discard = orders
        .clients_send
        .then(|| UdpSocket::bind((orders.local, DISCARD_PORT)))
        .transpose()?;
    let generator = std::os::unix::process::parent_id();
    thread::sleep(LEAD);
    let start = clock::now();
    let mut sources: Vec<Source> = orders
        .sources
        .iter()
        .map(|source| Source::new(*source, orders, start))
        .collect();
    let before = Sample::take(generator);
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
    thread::sleep(end.saturating_duration_since(clock::now()));
    let after = Sample::take(generator);
    let seconds = orders.milliseconds as f64 / 1e3;
    let mut packets = vec![0; ideal.receivers_of.len()];
    sources
        .iter()
        .for_each(|source| packets[source.stream.source() as usize] = source.stream.next_number());
    Ok(Account {
        packets,
        octets: sources.iter().map(|source| source.stream.octets()).sum(),
        late: sources.iter().map(Source::late).sum(),
        cpu_ns: after.own.cpu.saturating_sub(before.own.cpu).as_nanos() as u64,
        generator_cpu_ns: after.generator.cpu.saturating_sub(before.generator.cpu).as_nanos() as u64,
        idle_share: after.machine.idle_share_since(&before.machine),
        stolen_share: after.machine.stolen_share_since(&before.machine),
        busiest_other: after
            .others
            .busiest_since(&before.others, seconds, &[generator, std::process::id()]),
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
            egress: Egress::new(orders)?,
            sealers: (0..orders.sinks.len()).map(super::sealer).collect(),
            receivers_of,
        })
    }
}

/// Sealed packets that wait for the kernel.
struct Egress {
    socket: UdpSocket,
    addresses: Vec<Option<SockaddrStorage>>,
    bytes: Vec<u8>,
}

impl Egress {
    fn new(orders: &Orders) -> io::Result<Self> {
        let socket = UdpSocket::bind((orders.local, 0))?;
        setsockopt(&socket, sockopt::SndBuf, &(4 << 20))?;
        let address = |&sink: &SocketAddr| Some(SockaddrStorage::from(sink));
        Ok(Self {
            socket,
            addresses: orders.sinks.iter().map(address).collect(),
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
                        slot[..packet.len].copy_from_slice(template.packet(first + offset));
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
